package core

import (
	"math/rand"
	"slices"

	"mscclc/ir/diag"
)

// This file breaks the passes that order the Moves of all ranks, and have them wait for each other.

// without removes dependences that gone says.
func (d *depList) without(gone func(i int32, on *oneDep) bool) {
	kept := depList{start: []int32{0}}
	for i := range int32(len(d.start) - 1) {
		for _, on := range d.of(i) {
			if !gone(i, &on) {
				kept.to = append(kept.to, on)
			}
		}
		kept.start = append(kept.start, int32(len(kept.to)))
	}
	*d = kept
}

var brokenDepend = []fault{
	{pass: "depend", what: "what was read may be overwritten at once", by: "depends", code: diag.Race,
		spoil: func(s *State, _ *rand.Rand) {
			s.deps.without(func(_ int32, on *oneDep) bool { return on.kind == depOver })
		}},
	{pass: "depend", what: "a read of plain data waits for nothing", by: "depends", code: diag.Race,
		spoil: func(s *State, _ *rand.Rand) {
			s.deps.without(func(_ int32, on *oneDep) bool { return on.kind == depSees })
		}},
	{pass: "depend", what: "what must be seen need only be over", by: "depends", code: diag.Race,
		spoil: func(s *State, _ *rand.Rand) {
			for k := range s.deps.to {
				if s.deps.to[k].kind == depSees {
					s.deps.to[k].kind = depOver
				}
			}
		}},
	{pass: "depend", what: "the last dependence of a Move is left out", by: "depends", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			s.anyMove(rnd, func(i int, _ *oneMove) bool {
				deps := s.deps.of(int32(i))
				plain := len(deps) > 0 && deps[len(deps)-1].kind != depPacket
				if plain {
					last := deps[len(deps)-1]
					s.deps.without(func(j int32, on *oneDep) bool { return j == int32(i) && *on == last })
				}
				return plain
			})
		}},
}

var brokenOrder = []fault{
	{pass: "order", what: "a Move comes before one that it reads from", by: "ordered", code: diag.Deadlock,
		spoil: func(s *State, rnd *rand.Rand) {
			s.anyMove(rnd, func(i int, _ *oneMove) bool {
				for _, d := range s.deps.of(int32(i)) {
					a, b := slices.Index(s.order, d.on), slices.Index(s.order, int32(i))
					s.order[a], s.order[b] = s.order[b], s.order[a]
					return true
				}
				return false
			})
		}},
	{pass: "order", what: "the list goes backwards", by: "ordered", code: diag.Deadlock,
		spoil: func(s *State, _ *rand.Rand) {
			slices.Reverse(s.order)
		}},
	{pass: "order", what: "a Move is left out", by: "ordered", spoil: func(s *State, rnd *rand.Rand) {
		if len(s.order) > 1 {
			i := rnd.Intn(len(s.order))
			s.order = slices.Delete(s.order, i, i+1)
		}
	}},
	{pass: "order", what: "a Move is listed twice", by: "ordered", spoil: func(s *State, rnd *rand.Rand) {
		if len(s.order) > 1 {
			s.order[rnd.Intn(len(s.order))] = s.order[0]
		}
	}},
}

var brokenGroup = []fault{
	{pass: "group", what: "Moves of two depths run together", by: "ordered", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			slices.SortStableFunc(s.order, func(i, j int32) int {
				if d := s.deep[i]/2 - s.deep[j]/2; d != 0 {
					return int(d)
				}
				return int(s.blockOf(i) - s.blockOf(j))
			})
			s.groups = s.grouped(func(i, before int32) bool {
				return s.blockOf(i) == s.blockOf(before) && s.deep[i]/2 == s.deep[before]/2
			})
		}},
	{pass: "group", what: "a group has Moves of two ranks", by: "ordered", spoil: func(s *State, _ *rand.Rand) {
		s.groups = s.grouped(func(i, before int32) bool { return s.deep[i] == s.deep[before] })
	}},
	{pass: "group", what: "groups of a rank have one number", by: "ordered", code: diag.Race,
		spoil: func(s *State, _ *rand.Rand) {
			for g := range s.groups {
				s.groups[g].at = 0
			}
		}},
}

var brokenPlace = []fault{
	{pass: "place", what: "all values lie at 0", by: "placed", spoil: func(s *State, _ *rand.Rand) {
		clear(s.places.of)
	}},
	{pass: "place", what: "a rank has one chunk of packets less", by: "placed", spoil: func(s *State, _ *rand.Rand) {
		for r := range s.places.packets {
			s.places.packets[r] = max(s.places.packets[r]-1, 0)
		}
	}},
	{pass: "place", what: "a rank has one chunk of scratch less", by: "placed", spoil: func(s *State, _ *rand.Rand) {
		for r := range s.places.scratch {
			s.places.scratch[r] = max(s.places.scratch[r]-1, 0)
		}
	}},
	{pass: "place", what: "ranks are numbered on", by: "placed", spoil: func(s *State, _ *rand.Rand) {
		for k := range s.places.of {
			s.places.of[k] = int32(k)
		}
	}},
}

// joined makes each group a part of the one before it of its block if fits says so.
func (s *oneSync) joined(fits func(before, g *oneGroup) bool) {
	last := make([]*oneGroup, s.blocks())
	s.groups = slices.Clone(s.groups)
	for g := range s.groups {
		this := &s.groups[g]
		if before := last[this.block]; before != nil {
			if this.at = before.at + 1; fits(before, this) {
				this.at, this.joint, before.open = before.at, true, true
			}
		}
		last[this.block] = this
	}
	*s = *s.newSync(s.groups)
}

// unlooked joins groups of a block without a look at dependences of one kind.
func unlooked(kind depKind) func(s *State, _ *rand.Rand) {
	return func(s *State, _ *rand.Rand) {
		s.sync.joined(func(_, g *oneGroup) bool {
			for _, i := range g.moves {
				for _, d := range s.deps.of(i) {
					if d.kind != depPacket && d.kind != kind && s.blockOf(d.on) == g.block {
						return false
					}
				}
			}
			return true
		})
	}
}

var brokenJoin = []fault{
	{pass: "join", what: "all groups of a rank are one", by: "synced", code: diag.Race,
		spoil: func(s *State, _ *rand.Rand) {
			s.sync.joined(func(_, _ *oneGroup) bool { return true })
		}},
	{pass: "join", what: "what is read plainly is not looked at", by: "synced", code: diag.Race, spoil: unlooked(depSees)},
	{pass: "join", what: "what goes round is not looked at", by: "synced", code: diag.Race, spoil: unlooked(depOver)},
	{pass: "join", what: "numbers of groups have gaps", by: "ordered", spoil: func(s *State, _ *rand.Rand) {
		s.sync.joined(func(before, g *oneGroup) bool {
			g.at++
			return false
		})
	}},
}

// anyAwait calls f with a group, and with one that it waits for, until it says that it has found one.
func (s *oneSync) anyAwait(rnd *rand.Rand, f func(g, k int) bool) {
	any1(len(s.groups), rnd, func(g int) bool {
		return slices.ContainsFunc(s.awaits[g], func(a oneAwait) bool { return f(g, slices.Index(s.awaits[g], a)) })
	})
}

// loseAwait removes a wait for a signal of this pass, or of others.
func loseAwait(credit bool) func(s *State, rnd *rand.Rand) {
	return func(s *State, rnd *rand.Rand) {
		s.sync.anyAwait(rnd, func(g, k int) bool {
			found := s.sync.awaits[g][k].ago > 0 == credit
			if found {
				s.sync.awaits[g] = slices.Delete(s.sync.awaits[g], k, k+1)
			}
			return found
		})
	}
}

var brokenSync = []fault{
	{pass: "sync", what: "a group does not wait", by: "synced", code: diag.Race, spoil: loseAwait(false)},
	{pass: "sync", what: "a lane does not wait for another of its rank", by: "synced", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			s.sync.anyAwait(rnd, func(g, k int) bool {
				a := s.sync.awaits[g][k]
				found := a.ago == 0 && s.rankOf(s.sync.signals[a.signal].from) == s.rankOf(s.sync.groups[g].block)
				if found {
					s.sync.awaits[g] = slices.Delete(s.sync.awaits[g], k, k+1)
				}
				return found
			})
		}},
	{pass: "sync", what: "a signal is raised a group too early", by: "synced", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			any1(len(s.sync.signals), rnd, func(k int) bool {
				sig := &s.sync.signals[k]
				for g := sig.group - 1; g >= 0; g-- {
					if s.sync.groups[g].block == sig.from {
						sig.group = g
						return true
					}
				}
				return false
			})
		}},
	{pass: "sync", what: "a group waits one group too late", by: "synced", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			s.sync.anyAwait(rnd, func(g, k int) bool {
				for h := g + 1; h < len(s.sync.groups); h++ {
					if s.sync.groups[h].block == s.sync.groups[g].block {
						s.sync.awaits[h] = append(s.sync.awaits[h], s.sync.awaits[g][k])
						s.sync.awaits[g] = slices.Delete(s.sync.awaits[g], k, k+1)
						return true
					}
				}
				return false
			})
		}},
	{pass: "sync", what: "a launch need not have begun", by: "synced", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			any1(len(s.sync.groups), rnd, func(g int) bool {
				found := len(s.sync.begins[g]) > 0
				if found {
					s.sync.begins[g] = s.sync.begins[g][1:]
				}
				return found
			})
		}},
}

var brokenLeave = []fault{
	{pass: "leave", what: "one does not tell at the end", by: "left", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			if n := len(s.sync.leaves); n > 0 {
				k := rnd.Intn(n)
				s.sync.leaves = slices.Delete(s.sync.leaves, k, k+1)
			}
		}},
	{pass: "leave", what: "one tells itself", by: "left", code: diag.Race, spoil: func(s *State, rnd *rand.Rand) {
		if n := len(s.sync.leaves); n > 0 {
			pair := &s.sync.leaves[rnd.Intn(n)]
			pair[1] = pair[0]
		}
	}},
	{pass: "leave", what: "nobody tells", by: "left", code: diag.Race, spoil: func(s *State, _ *rand.Rand) {
		s.sync.leaves = nil
	}},
}

var brokenCredit = []fault{
	{pass: "credit", what: "one writes scratch again at once", by: "proven", code: diag.Race, spoil: loseAwait(true)},
	{pass: "credit", what: "a lane writes again what another of its rank reads", by: "proven", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			s.sync.anyAwait(rnd, func(g, k int) bool {
				a := s.sync.awaits[g][k]
				found := a.ago > 0 && s.rankOf(s.sync.signals[a.signal].from) == s.rankOf(s.sync.groups[g].block)
				if found {
					s.sync.awaits[g] = slices.Delete(s.sync.awaits[g], k, k+1)
				}
				return found
			})
		}},
	{pass: "credit", what: "a credit is of a pass too many ago", by: "proven", code: diag.Race,
		spoil: func(s *State, rnd *rand.Rand) {
			s.sync.anyAwait(rnd, func(g, k int) bool {
				a := &s.sync.awaits[g][k]
				if a.ago > 0 {
					a.ago++
				}
				return a.ago > 0
			})
		}},
	{pass: "credit", what: "there is one copy of scratch and packets", by: "proven", code: diag.Race,
		spoil: func(s *State, _ *rand.Rand) {
			s.sync.copies = 1
		}},
}
