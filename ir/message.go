package ir

import "math/bits"

// A messagePool lends the memory of messages between their send and their
// receive, so that a run holds what is on its way and not all it ever sent.
type messagePool struct {
	slab []Value
	free [32][]int32 // where unused pieces of 1 << i values begin
}

// get returns where in the slab a message of n values may lie.
func (p *messagePool) get(n int32) int32 {
	class := sizeClass(n)
	if list := p.free[class]; len(list) > 0 {
		p.free[class] = list[:len(list)-1]
		return list[len(list)-1]
	}
	at := len(p.slab)
	p.slab = append(p.slab, make([]Value, 1<<class)...)
	return int32(at)
}

// put gives back the message of n values at.
func (p *messagePool) put(at, n int32) {
	class := sizeClass(n)
	p.free[class] = append(p.free[class], at)
}

func (p *messagePool) values(at, n int32) []Value { return p.slab[at : at+n] }

func sizeClass(n int32) int { return bits.Len32(uint32(max(n, 1) - 1)) }
