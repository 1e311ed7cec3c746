package core

import (
	"cmp"
	"slices"

	"mscclc/ir/vclock"
)

// newChains puts the blocks into chains, and returns how many chains there are. A block follows another in a chain if
// its first group reads what the other's last group wrote. A clock that knows that a group is over, or that a block has
// begun, then knows that all earlier blocks of the chain are over. So clocks have one entry for each chain. The first
// block of a rank always begins a chain, since other ranks may know only that it has begun.
func (s *oneSync) newChains() int32 {
	n := s.blocks()
	s.chain, s.base = make([]int32, n), make([]int32, n)
	giver, taker := make([]int32, n), make([]int32, n) // by block: the one before it and the one after it, or -1
	for b := range n {
		giver[b], taker[b] = -1, -1
	}
	started := make([]bool, n) // a block follows only one that started before it, so that no chain is a circle
	for g := range s.groups {
		b := s.groups[g].block
		if started[b] {
			continue
		}
		started[b] = true
		if s.firstOf(s.rankOf(b)) == b {
			continue
		}
		if a := s.giver(int32(g), taker); a >= 0 && started[a] {
			giver[b], taker[a] = a, b
		}
	}
	chains := int32(0)
	for _, first := range s.inOrder() {
		if giver[first] >= 0 {
			continue
		}
		base := int32(0)
		for b := first; b >= 0; b = taker[b] {
			s.chain[b], s.base[b] = chains, base
			base += s.size[b] + 1
		}
		chains++
	}
	return chains
}

// giver returns a block whose last group wrote what group g reads, and that no block follows yet, or -1. g is the first
// group of its block.
func (s *oneSync) giver(g int32, taker []int32) int32 {
	for _, i := range s.groups[g].moves {
		for _, d := range s.deps.of(i) {
			a, last := s.blockOf(d.on), s.groups[s.of[d.on]].at+1
			if d.kind == depSees && a != s.groups[g].block && last == s.size[a] && taker[a] < 0 {
				return a
			}
		}
	}
	return -1
}

// inOrder lists all blocks, sorted by lane, and within a lane by rank. With several lanes and nodes, the first ranks of
// all nodes come first, then the second ranks, and so on; vclock.Within says why.
func (s *oneSync) inOrder() []int32 {
	list, within := make([]int32, s.blocks()), vclock.Within(s.opt.Nodes, s.n)
	for b := range list {
		list[b] = int32(b)
	}
	if s.lanes > 1 {
		slices.SortStableFunc(list, func(a, b int32) int {
			return cmp.Or(cmp.Compare(s.laneOf(a), s.laneOf(b)), cmp.Compare(within[s.rankOf(a)], within[s.rankOf(b)]))
		})
	}
	return list
}
