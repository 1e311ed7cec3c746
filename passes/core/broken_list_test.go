package core

import (
	"math/rand"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file breaks the passes that rewrite the list of runs and of Moves.

// any1 calls f with the numbers below n, from a random one on, until it says that it has found what it needs.
func any1(n int, rnd *rand.Rand, f func(i int) bool) {
	if n == 0 {
		return
	}
	first := rnd.Intn(n)
	for k := range n {
		if f((first + k) % n) {
			return
		}
	}
}

var brokenRuns = []fault{
	{pass: "runs", what: "a source is one chunk further", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			any1(len(s.runs), rnd, func(i int) bool {
				x := &s.runs[i].srcs[0]
				fits := x.user() && x.rank >= 0 && x.index+s.runs[i].count < chunksOf(s, x.rank, x.buf)
				if fits {
					x.index++
				}
				return fits
			})
		}},
	{pass: "runs", what: "a fold forgets its last source", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			any1(len(s.runs), rnd, func(i int) bool {
				r := &s.runs[i]
				folds := len(r.srcs) > 1
				if folds {
					r.srcs = r.srcs[:len(r.srcs)-1]
				}
				return folds
			})
		}},
	{pass: "runs", what: "two values of scratch have one place", by: "single", spoil: func(s *State, rnd *rand.Rand) {
		any1(len(s.runs), rnd, func(i int) bool {
			a := s.runs[i].dst
			for j := i + 1; j < len(s.runs); j++ {
				b := s.runs[j].dst
				if !a.user() && !b.user() && a.rank == b.rank && s.runs[i].count == s.runs[j].count {
					s.replace(b.index, s.runs[j].count, a.index)
					return true
				}
			}
			return false
		})
	}},
	{pass: "runs", what: "the last chunk of a run is left out", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			any1(len(s.runs), rnd, func(i int) bool {
				long := s.runs[i].count > 1
				if long {
					s.runs[i].count--
				}
				return long
			})
		}},
}

// replace puts what runs have in count places of scratch from at on into those from to on.
func (l *State) replace(at, count, to int32) {
	move := func(x *spot) {
		if !x.user() && x.index >= at && x.index < at+count {
			x.index += to - at
		}
	}
	for i := range l.runs {
		for k := range l.runs[i].srcs {
			move(&l.runs[i].srcs[k])
		}
		move(&l.runs[i].dst)
	}
}

// early puts an item of the list before one that it conflicts with in some way.
func early[T any](s *State, list []T, kind depKind, rnd *rand.Rand) {
	deps := conflictsOf(s)
	any1(len(list), rnd, func(i int) bool {
		for d := range deps[i] {
			if d.kind == kind {
				x := list[i]
				copy(list[d.on+1:i+1], list[d.on:i])
				list[d.on] = x
				return true
			}
		}
		return false
	})
}

var brokenMerge = []fault{
	{pass: "merge", what: "what was read may be overwritten before", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			early(s, s.runs, depOver, rnd)
		}},
	{pass: "merge", what: "a read comes before the write", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			early(s, s.runs, depSees, rnd)
		}},
	{pass: "merge", what: "sources need not be neighbours", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			any1(len(s.runs)-1, rnd, func(i int) bool {
				a, b := &s.runs[i], &s.runs[i+1]
				after := a.dst
				after.index += a.count
				fits := after == b.dst && !slices.Equal(a.srcs, b.srcs)
				if fits {
					a.count += b.count
					s.runs = slices.Delete(s.runs, i+1, i+2)
				}
				return fits
			})
		}},
	{pass: "merge", what: "what was merged is lost", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			if len(s.runs) > 1 {
				i := rnd.Intn(len(s.runs))
				s.runs = slices.Delete(s.runs, i, i+1)
			}
		}},
}

// anyMove calls f with the Moves, from a random one on, until it says that it has found one.
func (l *State) anyMove(rnd *rand.Rand, f func(i int, m *oneMove) bool) {
	any1(len(l.moves), rnd, func(i int) bool { return f(i, &l.moves[i]) })
}

// lose removes the first Move, from a random one on, that f says.
func (l *State) lose(rnd *rand.Rand, f func(m *oneMove) bool) {
	l.anyMove(rnd, func(i int, m *oneMove) bool {
		found := f(m)
		if found {
			l.moves = slices.Delete(l.moves, i, i+1)
		}
		return found
	})
}

// sends reports whether m writes scratch or packets of another rank.
func (m *oneMove) sends() bool {
	return slices.ContainsFunc(m.dsts, func(x spot) bool { return !x.user() && x.rank != m.rank })
}

var brokenMoves = []fault{
	{pass: "moves", what: "who has the destination reads it from afar", by: "acted",
		spoil: func(s *State, rnd *rand.Rand) {
			s.anyMove(rnd, func(_ int, m *oneMove) bool {
				other := m.dsts[0].rank >= 0 && m.dsts[0].rank != m.rank && m.dsts[0].buf != ir.Packets
				if other {
					m.rank = m.dsts[0].rank
				}
				return other
			})
		}},
	{pass: "moves", what: "one of those that send is forgotten", by: "single", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			s.lose(rnd, (*oneMove).sends)
		}},
	{pass: "moves", what: "a staged copy goes straight to its destination", by: "acted",
		spoil: func(s *State, rnd *rand.Rand) {
			s.anyMove(rnd, func(i int, m *oneMove) bool {
				unpacks := s.opt.Staged && len(m.srcs) == 1 && m.srcs[0].buf == ir.Scratch && m.dsts[0].user()
				for j := 0; unpacks && j < i; j++ {
					if from := &s.moves[j]; from.rank != m.rank && from.count == m.count && from.dsts[0] == m.srcs[0] {
						from.dsts[0] = m.dsts[0]
						s.moves = slices.Delete(s.moves, i, i+1)
						return true
					}
				}
				return false
			})
		}},
	{pass: "moves", what: "packets have one chunk less", by: "single", spoil: func(s *State, rnd *rand.Rand) {
		s.anyMove(rnd, func(_ int, m *oneMove) bool {
			long := m.sends() && m.count > 1
			if long {
				m.count--
			}
			return long
		})
	}},
	{pass: "moves", what: "the packets of one are unpacked by another", by: "single",
		spoil: func(s *State, rnd *rand.Rand) {
			s.anyMove(rnd, func(_ int, m *oneMove) bool {
				packed := m.srcs[0].buf == ir.Packets && s.n > 1
				if packed {
					m.rank = (m.rank + 1) % s.n
				}
				return packed
			})
		}},
}

var brokenDrop = []fault{
	{pass: "drop", what: "outputs are not kept", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			s.lose(rnd, func(m *oneMove) bool { return m.dsts[0].user() })
		}},
	{pass: "drop", what: "what a fold reads is not read", by: "single", spoil: func(s *State, rnd *rand.Rand) {
		s.lose(rnd, func(m *oneMove) bool { return !m.dsts[0].user() })
	}},
	{pass: "drop", what: "a chunk is copied onto itself by any rank", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			s.lose(rnd, func(m *oneMove) bool {
				return m.srcs[0].index == m.dsts[0].index && m.srcs[0].user() && m.dsts[0].user()
			})
		}},
}

// made returns the first Move before i that writes what source k of it reads, or -1.
func (l *State) made(i, k int) int {
	x := l.moves[i].srcs[k]
	for j := i - 1; j >= 0; j-- {
		wrote := func(d spot) bool { return d.rank == x.rank && d.buf == x.buf && d.index == x.index }
		if slices.ContainsFunc(l.moves[j].dsts, wrote) {
			return j
		}
	}
	return -1
}

var brokenFuse = []fault{
	{pass: "fuse", what: "a value goes though it has two readers", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			s.anyMove(rnd, func(i int, m *oneMove) bool {
				j := s.made(i, 0)
				fits := j >= 0 && s.moves[j].rank == m.rank && s.moves[j].count == m.count
				if fits {
					m.srcs = slices.Concat(s.moves[j].srcs, m.srcs[1:])
					s.moves = slices.Delete(s.moves, j, j+1)
				}
				return fits
			})
		}},
	{pass: "fuse", what: "a write is hoisted over a read", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			early(s, s.moves, depOver, rnd)
		}},
	{pass: "fuse", what: "destinations of other sources are joined", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			s.anyMove(rnd, func(i int, m *oneMove) bool {
				for j := range i {
					if o := &s.moves[j]; o.rank == m.rank && o.count == m.count && !slices.Equal(o.srcs, m.srcs) {
						o.dsts = append(o.dsts, m.dsts...)
						s.moves = slices.Delete(s.moves, i, i+1)
						return true
					}
				}
				return false
			})
		}},
	{pass: "fuse", what: "a destination of several is lost", by: "meaning", code: diag.WrongResult,
		spoil: func(s *State, rnd *rand.Rand) {
			s.anyMove(rnd, func(_ int, m *oneMove) bool {
				several := len(m.dsts) > 1
				if several {
					m.dsts = m.dsts[1:]
				}
				return several
			})
		}},
}
