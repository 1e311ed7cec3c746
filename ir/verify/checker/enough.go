package checker

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file says how much work is enough for a program, where the work allowed was not: bounds from the program's size,
// which hold for all parts of its proof, so that the value that a message names decides.

// Undecided reports that the work allowed is not enough to decide something, and how much is.
func (c *Checker) Undecided(whether, format string, args ...any) {
	d := c.at(place{-1, -1, -1}, diag.Undecided, -1, "%s that it is not decided within the work allowed (%d) whether %s",
		fmt.Sprintf(format, args...), c.Opt.Work, whether)
	need := c.resultWork()
	if c.P.OneSided != nil {
		need = max(need, c.oneSidedWork())
	} else {
		need = max(need, c.flagWork(), c.messageWork())
	}
	d.Hint = diag.LimitHint("work", need)
}

// Decided leaves out, of what was found, that something is undecided, where something else is certain.
func Decided(list diag.List) diag.List {
	certain := diag.List{}
	for _, d := range list {
		if d.Code != diag.Undecided {
			certain = append(certain, d)
		}
	}
	if len(certain) == 0 {
		return list
	}
	return certain
}

// resultWork bounds what result costs: each output is a sum of its own at most.
func (c *Checker) resultWork() (work int64) {
	if !c.P.Coll.Reduces() || c.P.Coll.Kind == ir.Opaque || c.P.Coll.Kind == ir.Custom {
		return 1
	}
	for r := range c.P.Coll.Ranks {
		work += int64(c.P.Coll.OutChunks(r))
	}
	return diag.AtMost(work, int64(c.P.Coll.Ranks)*leafWork)
}

// flagWork bounds what byFlags costs: a wait joins two trees of a rank's blocks.
func (c *Checker) flagWork() (work int64) {
	for rank, own := range c.P.Rank {
		nodes := int64(1)
		for n := int64(own.End-own.First) / 8; n > 0; n /= 8 {
			nodes += n + 2
		}
		for b := own.First; b < own.End; b++ {
			for i := c.P.Blocks[b].Steps.First; i < c.P.Blocks[b].Steps.End; i++ {
				if c.W.Awaited(c.P.Fifo, int32(rank), i) >= 0 {
					work += 2 * nodes
				}
			}
		}
	}
	return work
}

// messageWork bounds what exact costs: a look at each action in each pass, and, where messages do not release, the hops
// of the message that each access is looked for in.
func (c *Checker) messageWork() int64 {
	m, actions, chunks := int32(c.Racing()), int64(0), int64(0)
	for i := range c.P.Steps {
		actions += int64(Messages(&c.P.Steps[i], m))
		chunks += int64(c.P.Steps[i].Count)
	}
	passes := int64(len(c.P.Blocks)/Width + 1)
	work := diag.AtMost(actions*VisitWork, passes)
	if c.P.Protocol.Releases() {
		return work
	}
	return work + min(diag.AtMost(3*chunks, actions), math.MaxInt64-work)
}

// oneSidedWork bounds what the passes of a one-sided program cost: of each event, which is of a chunk at least, what it
// learns, and what is looked at where it conflicts with others.
func (c *Checker) oneSidedWork() int64 {
	events, acquired, accesses, packets := int64(0), int64(0), int64(0), int64(0)
	for i := range c.P.Steps {
		s := &c.P.Steps[i]
		n := int64(max(s.Count, 1))
		events += n
		for _, x := range c.P.OneSided.Sources(s) {
			acquired += n
			if x.Buf == ir.Packets {
				packets += n
			}
		}
		accesses += n * int64(s.NSrc+s.NDst) * int64(s.NSrc+1)
	}
	row := int64(len(c.P.Blocks)/8 + 2)
	passes := int64(c.P.OneSided.Depth) + 3
	learned := diag.AtMost(diag.AtMost(4*(acquired+2*int64(len(c.P.Blocks))), row), passes)
	looked := diag.AtMost(diag.AtMost(2*accesses, min(packets, 64)+2), passes)
	return events*VisitWork + min(learned, math.MaxInt64/4) + min(looked, math.MaxInt64/4)
}

// Racing returns the number of chunks a message with which races are looked for: the
// one that orders the least. A message that releases orders more the longer it
// is; packets come one by one, and what is ordered from message to message is
// not from packet to packet.
func (c *Checker) Racing() int {
	if c.P.Protocol.Releases() {
		return c.Opt.MessageChunks
	}
	return c.Opt.MostChunks
}

// Messages returns the number of actions of s, with m chunks a message.
func Messages(s *ir.Step, m int32) int32 {
	if info := s.Op.Info(); s.Count < 1 || !info.Sends && !info.Receives {
		return 1
	}
	return (s.Count + m - 1) / m
}

// Width is the number of blocks that one pass of columns asks for.
const Width = 64

// VisitWork is what a look at one action costs, in nodes of clocks.
const VisitWork = 8

// RacesListed bounds the races that are looked for.
const RacesListed = 50

// OfRaces is what undecided says of races.
const OfRaces = "accesses race"
