package explore

import "math/bits"

// maxEvents and maxBlocks bound the actions and blocks of programs whose
// schedules are explored.
const (
	maxEvents = 64 * words
	maxBlocks = 32
	words     = 5
)

// A set is a set of actions.
type set [words]uint64

func (s *set) add(e int32)      { s[e>>6] |= 1 << (e & 63) }
func (s *set) remove(e int32)   { s[e>>6] &^= 1 << (e & 63) }
func (s *set) has(e int32) bool { return s[e>>6]>>(e&63)&1 != 0 }

func (s *set) union(t *set) {
	for i := range s {
		s[i] |= t[i]
	}
}

func (s *set) meets(t *set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// A blockSet is a set of blocks.
type blockSet uint32

func (s blockSet) has(b int32) bool { return s>>b&1 != 0 }
func (s blockSet) first() int32     { return int32(bits.TrailingZeros32(uint32(s))) }
