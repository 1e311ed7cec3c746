package bitwise

import (
	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
)

// moves runs the Moves of a one-sided program, in an order in which they may end.
func (r *orderRun) moves() {
	links := eval.Link(r.p.OneSided)
	order, _ := links.Schedule(r.p.OneSided).Run()
	for _, i := range order {
		if r.p.Steps[i].Op.Moves() {
			r.move(i)
		}
	}
}

// move runs step i. Of f16, bf16 and fp8 it rounds the sum of all its sources once.
func (r *orderRun) move(i int32) {
	s := &r.p.Steps[i]
	sources := r.p.OneSided.Sources(s)
	results := make([]held, s.Count)
	for k := range results {
		x := r.operand(i, &sources[0], k)
		for n := range sources[1:] {
			y := r.operand(i, &sources[1+n], k)
			x = held{r.exprs.sum(x.expr, y.expr, n < len(sources)-2), i}
		}
		results[k] = x
	}
	for _, d := range r.p.OneSided.Dests(s) {
		first, end := r.ranksOf(&d)
		for rank := first; rank < end; rank++ {
			copy(r.cell[r.mem.Cell(rank, d.Buf, int(d.Index)):], results)
		}
	}
}

// operand is chunk k of a source of step i. What the switch sums for one step
// may be grouped as for no other.
func (r *orderRun) operand(i int32, x *onesided.Operand, k int) held {
	first, end := r.ranksOf(x)
	at := func(rank int) held { return r.cell[r.mem.Cell(rank, x.Buf, int(x.Index)+k)] }
	sum := at(first)
	for rank := first + 1; rank < end; rank++ {
		e := exprSum{a: sum.expr, b: at(rank).expr, open: rank < end-1}
		if !e.open {
			e.switched = i + 1
		}
		sum = held{r.exprs.add(e), i}
	}
	return sum
}

// ranksOf gives the ranks whose memory an operand is.
func (r *orderRun) ranksOf(x *onesided.Operand) (first, end int) {
	if x.Rank == ir.AllRanks {
		return 0, r.p.Coll.Ranks
	}
	return int(x.Rank), int(x.Rank) + 1
}
