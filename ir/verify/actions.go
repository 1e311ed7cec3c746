package verify

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/fifo"
	"mscclc/ir/verify/checker"
)

// actions returns a run of p's actions: of p itself where each step is one,
// else of a copy whose steps are cut.
func (c *twoSided) actions(r *checker.Run) *checker.Run {
	m := int32(c.Racing())
	n := 0
	for i := range c.P.Steps {
		n += int(checker.Messages(&c.P.Steps[i], m))
	}
	if int64(n)*checker.VisitWork > c.Opt.Work {
		c.Undecided(checker.OfRaces,
			"messages between ranks, and not flags, order some accesses, and there are so many messages (%d)", n)
		return nil
	}
	if n > len(c.P.Steps) {
		p, from := cut(c.P, m, n)
		r = &checker.Run{P: either.OfFifo(p), W: eval.Wire(p), From: from}
	}
	order, _ := r.W.Schedule(r.P.Fifo, ir.Unbounded, int(m)).Run()
	return &checker.Run{P: r.P, W: r.W, Order: order, From: r.From}
}

// cut returns p with each step cut into its n actions in all, as steps that wait
// for the same and of which the last ends the same waits; and the step of p that
// each is of.
func cut(p *fifo.Program, m int32, n int) (*fifo.Program, []int32) {
	q := *p
	q.Steps = make([]ir.Step, 0, n)
	q.Blocks = append([]ir.TB(nil), p.Blocks...)
	from := make([]int32, 0, n)
	last := make([]int32, len(p.Steps)) // by step: its last action, within its block
	for b := range q.Blocks {
		own := p.Blocks[b].Steps
		first := int32(len(q.Steps))
		for i := own.First; i < own.End; i++ {
			q.Steps, from = cutStep(q.Steps, from, p, i, m)
			last[i] = int32(len(q.Steps)) - first - 1
		}
		q.Blocks[b].Steps = ir.Range{First: first, End: int32(len(q.Steps))}
	}
	for b := range q.Blocks {
		tbs := p.TBsOf(int(q.Blocks[b].Rank))
		for i := q.Blocks[b].Steps.First; i < q.Blocks[b].Steps.End; i++ {
			if s := &q.Steps[i]; s.DepBlock >= 0 {
				s.DepStep = last[tbs[s.DepBlock].Steps.First+s.DepStep]
			}
		}
	}
	return &q, from
}

func cutStep(to []ir.Step, from []int32, p *fifo.Program, i, m int32) ([]ir.Step, []int32) {
	s := p.Steps[i]
	n := checker.Messages(&s, m)
	for k := range n {
		t := s
		if n > 1 {
			t.Count = min(m, s.Count-k*m)
			t.Src, t.Dst, t.Class = s.Src+k*m, s.Dst+k*m, int32(p.Coll.Class(int(s.Class+k*m)))
		}
		if k > 0 {
			t.DepBlock, t.DepStep = -1, -1
		}
		if k+1 < n {
			t.Flags &^= ir.HasDep
		}
		to, from = append(to, t), append(from, i)
	}
	return to, from
}
