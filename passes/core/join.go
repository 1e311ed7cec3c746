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

// A joiner finds which groups may join the one before them. Packets are written once and read once (property Single).
// So the slot at which they begin names both Moves.
type joiner struct {
	*oneSync
	sender, reader []int32 // by slot: the Move whose packets begin there, or that reads packets from there on, or -1
	makes          []int32 // by Move: 1 + the last Move found that reads packets in the order in which this one sends them
}

func (s *oneSync) newJoiner() *joiner {
	j := &joiner{oneSync: s, sender: make([]int32, s.slots), reader: make([]int32, s.slots),
		makes: make([]int32, len(s.moves))}
	for k := range j.sender {
		j.sender[k], j.reader[k] = -1, -1
	}
	mark := func(by []int32, list []spot, i int) {
		for _, x := range list {
			if x.buf == ir.Packets {
				by[x.index] = int32(i)
			}
		}
	}
	for i := range s.moves {
		mark(j.sender, s.moves[i].dsts, i)
		mark(j.reader, s.moves[i].srcs, i)
	}
	return j
}

// join returns the groups of s, in which groups that may join the one before them do so, or nil if none may.
func (s *oneSync) join() []oneGroup {
	signals := make([]bool, len(s.groups)) // by group: a signal comes after it
	for _, k := range s.signals {
		signals[k.group] = true
	}
	j := s.newJoiner()
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
		if len(s.awaits[g])+len(s.begins[g]) == 0 && !signals[before] && j.goesOn(groups, this, groups[before].at) {
			this.at--
			this.joint, groups[before].open, joined = true, true, true
		}
	}
	if !joined {
		return nil
	}
	return groups
}

// goesOn reports whether no Move of group g needs a block barrier after group at of its block.
func (j *joiner) goesOn(groups []oneGroup, g *oneGroup, at int32) bool {
	for _, i := range g.moves {
		marked := false
		for _, d := range j.deps.of(i) {
			if o := &groups[j.of[d.on]]; o.block != g.block || o.at != at {
				continue
			}
			if !j.overwrites(d, i) {
				return false
			}
			if !marked {
				j.markMakers(i)
				marked = true
			}
			if !j.comesRound(d.on, i) {
				return false
			}
		}
	}
	return true
}

// overwrites reports whether Move i overwrites what Move d.on has read, each chunk with the one in its position.
func (j *joiner) overwrites(d oneDep, i int32) bool {
	x, y := &j.moves[d.on], &j.moves[i]
	if d.kind != depOver || x.count != y.count {
		return false
	}
	for _, src := range x.srcs {
		for _, dst := range y.dsts {
			if src.rank == ir.AllRanks || dst.rank == ir.AllRanks || j.merged().crosses(src, dst, x.count) {
				return false
			}
		}
	}
	return true
}

// markMakers sets makes of the Moves whose packets Move i reads in the order in which they are sent.
func (j *joiner) markMakers(i int32) {
	for _, src := range j.moves[i].srcs {
		if src.buf == ir.Packets && j.sender[src.index] >= 0 {
			j.makes[j.sender[src.index]] = i + 1
		}
	}
}

// comesRound reports whether each chunk that Move i writes comes only when Move x has read it: some Move makes packets
// that i reads of packets that x sent. markMakers has marked these Moves.
func (j *joiner) comesRound(x, i int32) bool {
	for _, dst := range j.moves[x].dsts {
		if dst.buf != ir.Packets {
			continue
		}
		if z := j.reader[dst.index]; z >= 0 && j.makes[z] == i+1 && j.moves[z].count == j.moves[x].count {
			return true
		}
	}
	return false
}
