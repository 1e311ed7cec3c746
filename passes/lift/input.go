package lift

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// This file has ranks that write their input out of place write a copy of it.

// apart returns p, with the input of each rank that writes it out of place in scratch after the rank's own, and these
// ranks. The copy has to be made before the first step. P stays as it is.
func apart(p *fifo.Program) (q *fifo.Program, ranks []int32) {
	if p.Coll.Inplace || !p.ModifiesInput() {
		return p, nil
	}
	q = new(*p)
	q.Scratch, q.Steps = make([]int32, p.Coll.Ranks), slices.Clone(p.Steps)
	for r := range p.Rank {
		own := int32(p.ScratchOf(r))
		q.Scratch[r] = own
		if !slices.ContainsFunc(p.TBsOf(r), func(b ir.TB) bool { return writesInput(p.StepsOf(&b)) }) {
			continue
		}
		ranks = append(ranks, int32(r))
		q.Scratch[r] += int32(p.Coll.InChunks(r))
		for _, b := range p.TBsOf(r) {
			for i := range q.StepsOf(&b) {
				s := &q.StepsOf(&b)[i]
				s.SrcBuf, s.Src = moved(s.SrcBuf, s.Src, own)
				s.DstBuf, s.Dst = moved(s.DstBuf, s.Dst, own)
			}
		}
	}
	return q, ranks
}

func writesInput(steps []ir.Step) bool {
	return slices.ContainsFunc(steps, func(s ir.Step) bool { return s.Op.Info().Writes && s.DstBuf == ir.Input })
}

// moved returns where a chunk lies whose input lies in scratch from chunk first on.
func moved(b ir.Buf, index, first int32) (ir.Buf, int32) {
	if b == ir.Input {
		return ir.Scratch, first + index
	}
	return b, index
}

// copyInput copies the input of rank to the end of its scratch.
func (x *lifter) copyInput(rank int32) {
	n := int32(x.p.Coll.InChunks(int(rank)))
	at := ref(rank, ir.Scratch, x.p.Scratch[rank]-n)
	x.add(&ir.Step{Count: n, Pos: -1}, at, []ir.Ref{ref(rank, ir.Input, 0)})
}
