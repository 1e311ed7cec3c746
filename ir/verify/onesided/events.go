package onesided

import (
	"slices"
	"sort"

	"mscclc/ir"
	"mscclc/ir/verify/checker"
)

// An event is some chunks of a Move, from k on, that take their packets from
// one event each of the sources that are packets; or a Signal or an Await. The
// events of a step do not overlap, and nothing orders them.
type event struct {
	step, k, n int32
	from       ir.Range // in takes: the events whose packets it reads
	sends      bool
}

// cut makes the events, in an order in which they may happen.
func (o *prover) cut(order []int32) bool {
	o.eventsOf = make([]ir.Range, len(o.P.Steps))
	o.events = make([]event, 0, len(o.P.Steps))
	o.groups()
	by := make([]int32, len(o.sender)) // of a chunk of packets: the event that sends it
	for _, i := range order {
		s := &o.P.Steps[i]
		first := int32(len(o.events))
		o.cutStep(i, s, by)
		o.eventsOf[i] = ir.Range{First: first, End: int32(len(o.events))}
		if int64(len(o.events))*checker.VisitWork > o.Opt.Work {
			why := "there are so many steps"
			if o.P.Protocol != ir.Simple {
				why += ", and packets of several senders moved together,"
			}
			o.Undecided(checker.OfRaces, "%s", why)
			return false
		}
		for e := first; e < int32(len(o.events)); e++ {
			o.send(e, s, by)
		}
	}
	return true
}

// send notes that event e of s sends what it does.
func (o *prover) send(e int32, s *ir.Step, by []int32) {
	ev := &o.events[e]
	for _, x := range o.P.Dests(s) {
		if x.Buf == ir.Packets {
			ev.sends = true
			at := o.links.Packet(x.Rank, x.Index)
			for k := ev.k; k < ev.k+ev.n; k++ {
				by[at+k] = e
			}
		}
	}
}

// cutStep appends the events of step i, which is s.
func (o *prover) cutStep(i int32, s *ir.Step, by []int32) {
	packets, cuts := o.packets[:0], append(o.cuts[:0], 0) // the first chunks of its sources that are packets
	for _, x := range o.P.Sources(s) {
		if x.Buf == ir.Packets {
			packets = append(packets, o.links.Packet(x.Rank, x.Index))
		}
	}
	for _, at := range packets {
		for k := int32(1); k < s.Count; k++ {
			if by[at+k] != by[at+k-1] {
				cuts = append(cuts, k)
			}
		}
	}
	slices.Sort(cuts)
	cuts = append(slices.Compact(cuts), max(s.Count, 1))
	for c, k := range cuts[:len(cuts)-1] {
		ev := event{step: i, k: k, n: cuts[c+1] - k, from: ir.Range{First: int32(len(o.takes))}}
		for _, at := range packets {
			o.takes = append(o.takes, by[at+k])
		}
		ev.from.End = int32(len(o.takes))
		o.events = append(o.events, ev)
	}
	o.packets, o.cuts = packets, cuts
}

// eachRank calls f for the ranks of an operand.
func (o *prover) eachRank(rank int32, f func(rank int)) {
	if rank != ir.AllRanks {
		f(int(rank))
		return
	}
	for r := range o.P.Coll.Ranks {
		f(r)
	}
}

// eventAt returns the event of a part.
func (o *prover) eventAt(x part) int32 {
	of := o.eventsOf[x.step]
	return of.First + int32(sort.Search(int(of.End-of.First), func(k int) bool {
		e := &o.events[of.First+int32(k)]
		return e.k+e.n > x.k
	}))
}
