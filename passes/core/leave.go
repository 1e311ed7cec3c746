package core

import (
	"cmp"
	"slices"

	"mscclc/ir"
)

// This file finds which rank must know that the launch of another has begun, before it accesses input or output of that
// rank. At the end of a launch, a rank must know that all others' accesses to its own input and output are over.

// owners lists the other ranks whose input or output group g accesses.
func (s *oneSync) owners(g int32) []int32 {
	list := s.accessed[:0]
	for _, i := range s.groups[g].moves {
		s.accesses(i, func(owner int32, _ bool) { list = append(list, owner) })
	}
	s.accessed = list
	own := s.rankOf(s.groups[g].block)
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Compare(s.distance(a, own), s.distance(b, own))
	})
	return slices.Compact(list)
}

// accesses calls f with the other ranks whose input or output Move i reads or writes. If launches have one pass,
// scratch counts too.
func (s *oneSync) accesses(i int32, f func(owner int32, writes bool)) {
	m := &s.moves[i]
	for k, list := range [2][]spot{m.srcs, m.dsts} {
		for _, x := range list {
			switch {
			case !s.lasts(x) || x.rank == m.rank:
			case x.rank >= 0:
				f(x.rank, k == 1)
			default:
				for r := range s.n {
					if r != m.rank {
						f(r, k == 1)
					}
				}
			}
		}
	}
}

// hasBegun reports whether block b knows that the launch of a rank has begun. It does if it knows of any block of it.
func (s *oneSync) hasBegun(b, rank int32) bool {
	for other := range s.blocksOf(rank) {
		if s.seen[b].of(s.chain[other]) > s.base[other] {
			return true
		}
	}
	return false
}

// shows reports whether what group g itself does shows that the launch of a rank has begun, before it needs that: each
// Move that accesses memory of the rank only writes there, in place of packets of that rank.
func (s *oneSync) shows(g, rank int32) bool {
	for _, i := range s.groups[g].moves {
		took := slices.ContainsFunc(s.deps.of(i), func(d oneDep) bool {
			return d.kind == depPacket && s.moves[d.on].rank == rank
		})
		shown := true
		s.accesses(i, func(owner int32, writes bool) { shown = shown && (owner != rank || writes && took) })
		if !shown {
			return false
		}
	}
	return true
}

// An accessor is a block that has accessed input or output of another rank, the owner. reads and writes are the entries
// of its last read and its last write that the owner does not know to be over, or 0.
type accessor struct{ block, reads, writes int32 }

// leave has blocks signal the owners, at the end of a launch, that accesses are over which the owners do not know to be
// over. A block releases what it knows at the end. The first block of a rank waits for all of them. A rank knows what
// any of its blocks knows, since its launch ends when all of its blocks have ended.
func leave(l *State) (int, error) {
	s := l.sync
	of := make([][]accessor, s.n) // by owner, in the order of blocks
	byBlock := make([][]int32, s.blocks())
	for i := range int32(len(s.moves)) {
		byBlock[s.blockOf(i)] = append(byBlock[s.blockOf(i)], i)
	}
	for r := range s.n {
		for b := range s.blocksOf(r) {
			s.addAccessors(b, byBlock[b], of)
		}
	}
	for owner, list := range of {
		for _, t := range s.enough(list) {
			s.leaves = append(s.leaves, [2]int32{t.block, s.firstOf(int32(owner))})
		}
	}
	slices.SortFunc(s.leaves, func(x, y [2]int32) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), s.further(x[1], y[1], x[0]))
	})
	return len(s.leaves), nil
}

// addAccessors adds block b, which has these Moves, to the accessors of each owner that does not know b's accesses to
// be over.
func (s *oneSync) addAccessors(b int32, moves []int32, of [][]accessor) {
	for _, i := range moves {
		ends := s.ends(s.of[i], 0)
		s.accesses(i, func(owner int32, writes bool) {
			if s.knownTo(owner, b, ends, writes) || !writes && s.sends(i, owner) {
				return
			}
			list := of[owner]
			if len(list) == 0 || list[len(list)-1].block != b {
				list = append(list, accessor{block: b})
			}
			last := &list[len(list)-1]
			if writes {
				last.writes = max(last.writes, ends)
			} else {
				last.reads = max(last.reads, ends)
			}
			of[owner] = list
		})
	}
}

// knownTo reports whether some block of a rank knows at the end of the pass that the group of block b with entry ends
// is over. If the group writes, the block must see what it wrote.
func (s *oneSync) knownTo(rank, b, ends int32, writes bool) bool {
	for o := range s.blocksOf(rank) {
		if s.size[o] > 0 && (s.seen[o].of(s.chain[b]) >= ends || !writes && s.done[o].of(s.chain[b]) >= ends) {
			return true
		}
	}
	return false
}

// further compares two blocks by the distance of their ranks from the rank of block own, counted round the ranks.
func (l *State) further(x, y, own int32) int {
	own = l.rankOf(own)
	return cmp.Or(cmp.Compare(l.distance(l.rankOf(x), own), l.distance(l.rankOf(y), own)), cmp.Compare(x, y))
}

// sends reports whether Move i sends packets to a rank. The rank has them all before its launch ends, and knows by them
// that i has read.
func (s *oneSync) sends(i, rank int32) bool {
	return slices.ContainsFunc(s.moves[i].dsts, func(d spot) bool { return d.buf == ir.Packets && d.rank == rank })
}

// mostCompared bounds how many accessors enough compares each accessor with.
const mostCompared = 64

// enough returns accessors of list that together release all. One is left out if another knows at the end what it would
// release.
func (s *oneSync) enough(list []accessor) []accessor {
	needed, left := make([]bool, len(list)), make([]bool, len(list))
	for i, t := range list {
		for j, by := range list[:min(len(list), mostCompared)] {
			seen, done := s.seen[by.block].of(s.chain[t.block]), s.done[by.block].of(s.chain[t.block])
			knows := seen >= t.writes && max(seen, done) >= t.reads
			if i != j && !left[j] && !needed[i] && knows {
				left[i], needed[j] = true, true
				break
			}
		}
	}
	var kept []accessor
	for i, t := range list {
		if !left[i] {
			kept = append(kept, t)
		}
	}
	return kept
}
