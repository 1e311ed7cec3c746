package onesided

import (
	"slices"

	"mscclc/ir"
)

// Relayed returns which operands are relayed without a block barrier: one thread does the k-th source of an Await and
// the k-th destination of a Signal after it in their group, so that the Signal releases what the Await acquired (see
// Program). It is true, by the number of the operand, for such sources and such destinations. It is nil where there are
// none. It takes time linear in the program.
func (p *Program) Relayed() []bool {
	var on []bool
	for b := range p.Blocks {
		steps := p.Blocks[b].Steps
		for first := steps.First; first < steps.End; {
			end, awaits, both := first, false, false
			for ; end < steps.End && (end == first || p.Steps[end].Flags&ir.Joint != 0); end++ {
				both = both || awaits && p.Steps[end].Op == ir.Signal
				awaits = awaits || p.Steps[end].Op == ir.Await
			}
			if both {
				if on == nil {
					on = make([]bool, len(p.Operands))
				}
				p.relay(on, first, end)
			}
			first = end
		}
	}
	return on
}

// relay adds to on what Relayed returns for one group, which is steps first to end.
func (p *Program) relay(on []bool, first, end int32) {
	awaits, signals := p.flagPlaces(first, end, ir.Await), p.flagPlaces(first, end, ir.Signal)
	waiting := map[int][]int32{} // by place: the sources that no Signal has relayed yet
	waited := map[int]bool{}     // by place: an Await was there
	for i := first; i < end; i++ {
		s := &p.Steps[i]
		switch s.Op {
		case ir.Await:
			for k, x := range p.Sources(s) {
				if awaits[flagKey{x.Rank, x.Index}] == k {
					waiting[k], waited[k] = append(waiting[k], s.Src+int32(k)), true
				}
			}
		case ir.Signal:
			for k, x := range p.Dests(s) {
				if !waited[k] || signals[flagKey{x.Rank, x.Index}] != k {
					continue
				}
				on[s.Dst+int32(k)] = true
				for _, at := range waiting[k] {
					on[at] = true
				}
				waiting[k] = nil
			}
		}
	}
}

type flagKey struct{ rank, index int32 }

// flagPlaces says, of the flags of an operation's operands in steps first to end, at which place of their steps they
// stand; -1 is several.
func (p *Program) flagPlaces(first, end int32, op ir.Op) map[flagKey]int {
	at := map[flagKey]int{}
	for i := first; i < end; i++ {
		s := &p.Steps[i]
		if s.Op != op {
			continue
		}
		for k, x := range slices.Concat(p.Sources(s), p.Dests(s)) {
			key := flagKey{x.Rank, x.Index}
			if before, known := at[key]; known && before != k {
				k = -1
			}
			at[key] = k
		}
	}
	return at
}
