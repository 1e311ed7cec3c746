package simulate

import (
	"slices"

	"mscclc/ir"
)

// signal raises flags behind all that the block stored, or at once where it is relaxed. Flags of other nodes are raised
// by messages.
func (o *oneSided) signal(b *oneBlock, s *ir.Step, now float64) (verdict, bool) {
	at := now
	if s.Flags&ir.Relaxed == 0 {
		at = max(at, b.stored) + o.costs.OneSided.Signal
	}
	if o.leaves(s) {
		at += o.costs.Network.Signal
	}
	o.post(b, true, at)
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		x := &o.program.Operands[k]
		if !o.net.leaves(o.ways[k]) {
			o.raise(o.flag(x), at+o.net.latency(o.ways[k]))
		}
	}
	return verdict{kind: goesOn, at: at}, true
}

// leaves reports whether a signal raises flags of other nodes.
func (o *oneSided) leaves(s *ir.Step) bool {
	return slices.ContainsFunc(o.ways[s.Dst:s.Dst+int32(s.NDst)], o.net.leaves)
}

// raise raises a flag at a time.
func (o *oneSided) raise(f int32, at float64) {
	g := &o.flags[f]
	g.count++
	g.arrived[g.count%int64(len(g.arrived))] = at
	o.e.wake(o.flagThing(f), at)
}

func (o *oneSided) await(b *oneBlock, s *ir.Step, now float64) (verdict, bool) {
	at := now
	for k := s.Src; k < s.Src+int32(s.NSrc); k++ {
		x := &o.program.Operands[k]
		f := o.flag(x)
		n := int64(len(o.links.Signals.Of(int(f))))
		of := int64(x.Nth)
		if s.Flags&(ir.Enter|ir.Leave) == 0 {
			of += b.pass * n
		} else {
			of += b.pass / o.simulated * n
		}
		if of <= 0 {
			continue
		}
		g := &o.flags[f]
		if g.count < of {
			return verdict{kind: waits, on: o.flagThing(f), at: now}, false
		}
		if g.count-of < int64(len(g.arrived)) {
			at = max(at, g.arrived[of%int64(len(g.arrived))])
		}
	}
	if at > now {
		return verdict{kind: goesOn, at: at}, false
	}
	return verdict{kind: goesOn, at: now + o.costs.OneSided.Await}, true
}
