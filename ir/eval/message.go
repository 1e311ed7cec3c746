package eval

import "math/bits"

// A messagePool lends the memory of messages between their send and their
// receive, so that a run holds what is on its way and not all it ever sent.
type messagePool struct {
	slab []Run
	free [32][]int32 // where unused pieces of 1 << i runs begin
}

// A message says where its runs lie in the slab; count is 0 where it is not on its way.
type message struct{ at, count int32 }

// put keeps what is sent.
func (p *messagePool) put(runs []Run) message {
	m := message{count: int32(len(runs))}
	class := sizeClass(m.count)
	if list := p.free[class]; len(list) > 0 {
		p.free[class], m.at = list[:len(list)-1], list[len(list)-1]
	} else {
		m.at = int32(len(p.slab))
		p.slab = append(p.slab, make([]Run, 1<<class)...)
	}
	copy(p.slab[m.at:], runs)
	return m
}

// take gives up the room of a message and returns what was sent, which is valid until the next put.
func (p *messagePool) take(m message) []Run {
	class := sizeClass(m.count)
	p.free[class] = append(p.free[class], m.at)
	return p.slab[m.at : m.at+m.count]
}

func sizeClass(n int32) int { return bits.Len32(uint32(max(n, 1) - 1)) }
