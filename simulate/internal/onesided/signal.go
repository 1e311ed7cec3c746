package onesided

import (
	"slices"

	"mscclc/ir"
	"mscclc/simulate/internal/events"
)

// A flag has when the last of its signals arrived, by their number modulo how many are kept: those of as many passes as
// who signals may be ahead.
type flag struct {
	count   int64
	arrived []float64
}

// newFlags makes the flags of all ranks.
func (o *Blocks) newFlags(count int) []flag {
	flags, all := make([]flag, count), 0
	kept := func(f int) int { return max(8, len(o.links.Signals.Of(f))*int(o.depth+1)) }
	for f := range flags {
		all += kept(f)
	}
	arrived := make([]float64, all)
	for f := range flags {
		n := kept(f)
		flags[f].arrived, arrived = arrived[:n:n], arrived[n:]
	}
	return flags
}

// signal raises flags after all that the block stored, or at once where it is relaxed. Flags of other nodes are raised
// by messages.
func (o *Blocks) signal(b *block, s *ir.Step, now float64) (events.Verdict, bool) {
	at := now
	if s.Flags&ir.Relaxed == 0 {
		at = max(at, b.stored) + o.Costs.OneSided.Signal
	}
	if o.leaves(s) {
		at += o.Costs.Network.Signal
	}
	o.post(b, true, at)
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		x := &o.program.Operands[k]
		if !o.Net.Leaves(o.ways[k]) {
			o.raise(o.flag(x), at+o.Net.Latency(o.ways[k])+o.late)
		}
	}
	return events.GoOn(at), true
}

// leaves reports whether a signal raises flags of other nodes.
func (o *Blocks) leaves(s *ir.Step) bool {
	return slices.ContainsFunc(o.ways[s.Dst:s.Dst+int32(s.NDst)], o.Net.Leaves)
}

// raise raises a flag at a time.
func (o *Blocks) raise(f int32, at float64) {
	g := &o.flags[f]
	g.count++
	g.arrived[g.count%int64(len(g.arrived))] = at
	o.e.Wake(o.flagThing(f), at)
}

// await goes on when all signals have come that it waits for.
func (o *Blocks) await(b *block, s *ir.Step, now float64) (events.Verdict, bool) {
	at := now
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		x := &o.program.Operands[k]
		f := o.flag(x)
		n := int64(len(o.links.Signals.Of(int(f))))
		of := int64(x.Nth)
		if s.Flags&(ir.Enter|ir.Leave) == 0 {
			of += b.pass * n
		} else {
			of += b.pass / o.Simulated * n
		}
		if of <= 0 {
			continue
		}
		g := &o.flags[f]
		if g.count < of {
			return events.Wait(o.flagThing(f), now), false
		}
		if g.count-of < int64(len(g.arrived)) {
			at = max(at, g.arrived[of%int64(len(g.arrived))])
		}
	}
	if at > now {
		return events.GoOn(at), false
	}
	return events.GoOn(now + o.Costs.OneSided.Await), true
}
