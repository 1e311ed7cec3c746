// Package fifo holds the type of two-sided programs, which send and receive through the slots of connections.
package fifo

import "mscclc/ir"

// A Program is a two-sided program, with the semantics of MSCCL-IR: all blocks of all ranks run at once, each its steps
// in order; a send waits while its connection (Channel, rank, peer) holds as many messages as it has slots, a receive
// until there is one, and a step with Dep until that block of its rank has passed that step.
type Program struct {
	ir.Program
	Channels int
}

// Memory lays out the cells of p.
func (p *Program) Memory() *ir.Memory { return ir.NewMemory(p.Coll, p.Scratch) }

// Called returns p, which it shares all else with, as calls in place, or out of place, see it.
func (p *Program) Called(inplace bool) *Program {
	q := *p
	q.Coll = p.Coll.Called(inplace)
	return &q
}

// ModifiesInput reports whether some step writes a chunk of input that is not output too. What lang makes never does;
// files from elsewhere may.
func (p *Program) ModifiesInput() bool {
	for r := range p.Rank {
		for _, tb := range p.TBsOf(r) {
			for _, s := range p.StepsOf(&tb) {
				if s.DstBuf == ir.Input && s.Op.Info().Writes && p.Coll.InputOnly(r, s.Dst, s.Count) {
					return true
				}
			}
		}
	}
	return false
}

// Chained reports whether a runtime of MSCCL-IR takes next, which follows s in a
// block, as one more source of the same reduction: both are reductions from
// one buffer to one place, next waits for nothing, and s publishes nothing.
func Chained(s, next *ir.Step) bool {
	return s.Op == ir.Reduce && next.Op == ir.Reduce && next.DepBlock < 0 && s.Flags&ir.HasDep == 0 &&
		s.SrcBuf == next.SrcBuf && s.DstBuf == next.DstBuf && s.Dst == next.Dst
}
