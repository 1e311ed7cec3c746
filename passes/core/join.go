package core

import (
	"slices"

	"mscclc/ir"
)

// A trial says on which groups sync, leave and credit run. Which signals are needed depends on which groups are joined,
// and the other way round. So more than one trial may be needed.
type trial uint8

const (
	trialNone     trial = iota // join has not run, or is off
	trialHopeful               // groups joined wherever packets bring what is read, as if no signals were needed
	trialApart                 // the groups as they were
	trialInformed              // groups joined where trialApart inserted neither signals nor waits
	trialSettled               // the groups as they were, since joining needed more signals
)

// join makes neighbouring groups of a block one if they need no block barrier between: packets bring all that the later
// group reads, and what it overwrites has gone round the ranks. Threads may then run ahead of each other.
func join(l *State) (int, error) {
	groups := l.apart()
	switch l.trial {
	case trialNone:
		l.trial = trialApart
		if l.sync = l.newSync(groups); !l.sync.packets {
			return 0, nil
		}
		if l.joint = l.sync.join(); l.joint == nil {
			return 0, nil
		}
		l.trial = trialHopeful
		fallthrough
	case trialInformed:
		groups, l.joint = l.joint, nil
	}
	l.sync = l.newSync(groups)
	joined := 0
	for g := range groups {
		if groups[g].joint {
			joined++
		}
	}
	return joined, nil
}

// again reports whether join is to try other groups. That is so if the joint groups need a signal or a wait, which they
// cannot have. It may also be so when all passes have run on the groups, if others may need less synchronisation.
func (l *State) again(complete bool) bool {
	switch {
	case l.trial == trialHopeful && (l.sync.failed || complete && l.sync.cost() > 0):
		l.trial = trialApart
	case l.trial == trialApart && complete:
		if l.joint = l.sync.join(); l.joint == nil {
			return false
		}
		l.trial, l.cost = trialInformed, l.sync.cost()
	case l.trial == trialInformed && (l.sync.failed || complete && l.sync.cost() > l.cost):
		l.trial = trialSettled
	default:
		return false
	}
	return true
}

// cost returns how much synchronisation s has inserted.
func (s *oneSync) cost() int {
	n := len(s.signals) + len(s.leaves)
	for g := range s.groups {
		n += len(s.awaits[g]) + len(s.begins[g])
	}
	return n
}

// join returns the groups of s, in which groups that may join the one before them do so, or nil if none may.
func (s *oneSync) join() []oneGroup {
	signals := make([]bool, len(s.groups)) // by group: a signal is behind it
	for _, k := range s.signals {
		signals[k.group] = true
	}
	groups := slices.Clone(s.groups)
	last := make([]int32, s.blocks()) // by block: 1 + its latest group
	joined := false
	for g := range groups {
		this := &groups[g]
		before := last[this.block] - 1
		last[this.block] = int32(g) + 1
		if before < 0 {
			continue
		}
		this.at = groups[before].at + 1
		if len(s.awaits[g])+len(s.begins[g]) == 0 && !signals[before] && s.goesOn(groups, this, groups[before].at) {
			this.at--
			this.joint, groups[before].open, joined = true, true, true
		}
	}
	if !joined {
		return nil
	}
	return groups
}

// goesOn reports whether no Move of group g needs a block barrier behind group at of its block.
func (s *oneSync) goesOn(groups []oneGroup, g *oneGroup, at int32) bool {
	for _, i := range g.moves {
		for _, d := range s.deps.of(i) {
			if o := &groups[s.of[d.on]]; o.block == g.block && o.at == at && !s.comesRound(d, i) {
				return false
			}
		}
	}
	return true
}

// comesRound reports whether Move i overwrites what Move d.on has read, each chunk only when its packet comes, and a
// third Move made these packets of those that d.on sent.
func (s *oneSync) comesRound(d oneDep, i int32) bool {
	x, y := &s.moves[d.on], &s.moves[i]
	if d.kind != depOver || x.count != y.count {
		return false
	}
	for _, src := range x.srcs {
		for _, dst := range y.dsts {
			if src.rank == ir.AllRanks || dst.rank == ir.AllRanks || s.merged().crosses(src, dst, x.count) {
				return false
			}
		}
	}
	for _, z := range s.readers.to[s.readers.start[d.on]:s.readers.start[d.on+1]] {
		if m := &s.moves[z.on]; m.count == x.count && passes(x, m) && passes(m, y) {
			return true
		}
	}
	return false
}

// passes reports whether y reads packets in the order in which x sends them.
func passes(x, y *oneMove) bool {
	return slices.ContainsFunc(x.dsts, func(d spot) bool {
		return d.buf == ir.Packets && slices.ContainsFunc(y.srcs, func(s spot) bool {
			return s.buf == ir.Packets && s.index == d.index
		})
	})
}
