package core

import (
	"slices"

	"mscclc/ir"
)

// A trial says which groups sync, leave and credit are run on. More than one trial may be needed: what must be
// signalled depends on which groups are joined, and the other way round.
type trial uint8

const (
	trialNone     trial = iota // join has not run, or is off
	trialHopeful               // groups joined as if nothing had to be signalled, where packets bring what is read
	trialApart                 // the groups as they were
	trialInformed              // groups joined where trialApart inserted nothing
	trialSettled               // the groups as they were, since joining took more signals
)

// join lets groups of a block that need no meeting of its threads between
// be one: where packets bring all that the later one reads, and what it
// overwrites has gone round, threads may go ahead of each other.
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

// again says whether join is to try other groups: because these need what joint groups cannot have, or, when all
// passes on them are complete, because others may be better.
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

// cost is how much synchronisation s has inserted.
func (s *oneSync) cost() int {
	n := len(s.signals) + len(s.leaves)
	for g := range s.groups {
		n += len(s.awaits[g]) + len(s.begins[g])
	}
	return n
}

// join returns the groups of s with those made parts of the one before that may
// be, or nil where there are none.
func (s *oneSync) join() []oneGroup {
	signals := make([]bool, len(s.groups)) // behind a group
	for _, k := range s.signals {
		signals[k.group] = true
	}
	groups := slices.Clone(s.groups)
	last := make([]int32, s.blocks()) // of a block: 1 + its group before
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

// goesOn says whether no Move of g needs to meet those of its block's group at.
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

// comesRound says whether Move i overwrites what d.on has read chunk by chunk as
// packets come to it that a third Move made of those that d.on sent.
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

// passes says whether y reads packets just as x sends them.
func passes(x, y *oneMove) bool {
	return slices.ContainsFunc(x.dsts, func(d spot) bool {
		return d.buf == ir.Packets && slices.ContainsFunc(y.srcs, func(s spot) bool {
			return s.buf == ir.Packets && s.index == d.index
		})
	})
}
