package core

import (
	"cmp"
	"slices"

	"mscclc/ir/vclock"
)

// newChains makes chains of blocks, and returns how many: where the first group of a block needs what the last of
// another wrote, that other is before it in a chain. So who knows of a group of a chain that it is over, or of a block
// that it has begun, knows that all of the chain before it is over, and clocks have one entry for a chain. The first
// block of a rank begins a chain: others note that it has begun where they know nothing else.
func (s *oneSync) newChains() int32 {
	n := s.blocks()
	s.chain, s.base = make([]int32, n), make([]int32, n)
	giver, taker := make([]int32, n), make([]int32, n) // of a block: the one before and behind it, or -1
	for b := range n {
		giver[b], taker[b] = -1, -1
	}
	started := make([]bool, n) // a block takes over from one that started before it, so that no chain goes round
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

// giver is a block whose last group wrote what group g, the first of its block, needs, and which nobody has taken over
// from; or -1.
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

// inOrder lists all blocks, by lane, and those of a lane by rank. Where ranks have several lanes and nodes, the first
// ranks of all nodes come first, then the second, and so on; see vclock.Within.
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
