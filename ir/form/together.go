package form

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// This file checks what operands of one step, and steps at one flag, have in common.

// overlaps checks the operands of each step of a one-sided program.
func (f *checker) overlaps() {
	p, mem := f.p, f.p.Memory()
	for r := range p.Rank {
		tbs := p.TBsOf(r)
		for b := range tbs {
			steps := p.StepsOf(&tbs[b])
			for i := range steps {
				if s := &steps[i]; int(s.NSrc)+int(s.NDst) > 1 {
					f.overlap(&place{r, b, i, s}, mem)
				}
			}
		}
	}
}

// A span is where an operand lies: the first of its cells, or its flag.
type span struct {
	rank, at int
	dest     bool
}

// overlap reports operands of a step that overlap and may not: destinations with each other, or with a source in part;
// and flags that come twice.
func (f *checker) overlap(at *place, mem *ir.Memory) {
	spans, s := f.spans[:0], at.Step
	for k, x := range f.p.OneSided.OperandsOf(s) {
		if !s.Op.Moves() {
			spans = append(spans, span{int(x.Rank), int(x.Index), true})
			continue
		}
		first, end := f.ranksOf(&x)
		for r := first; r < end; r++ {
			spans = append(spans, span{r, mem.Cell(r, x.Buf, int(x.Index)), k >= int(s.NSrc)})
		}
	}
	f.spans = spans
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.rank-b.rank, a.at-b.at) })
	var last [2]*span // the last source and the last destination that begin before this span
	for begin := 0; begin < len(spans); {
		x, end, dests := &spans[begin], begin, 0
		for ; end < len(spans) && spans[end].rank == x.rank && spans[end].at == x.at; end++ {
			if spans[end].dest {
				dests++
			}
		}
		near := func(y *span) bool { return y != nil && y.rank == x.rank && y.at+int(max(s.Count, 1)) > x.at }
		switch {
		case dests > 1 || near(last[1]) && dests > 0:
			f.step(at, diag.Overlap, "has two destinations, or flags, that overlap")
			return
		case near(last[1]) || dests > 0 && near(last[0]):
			f.step(at, diag.Overlap, "has a source and a destination that overlap in part")
			return
		}
		for k := begin; k < end; k++ {
			last[b2i(spans[k].dest)] = &spans[k]
		}
		begin = end
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// users are the first step that signals a flag and the first that awaits it, counted from 1; 0 is none.
type users struct{ signal, await int32 }

// flags checks that one block signals each flag and one awaits it, and that its steps all count passes, or all
// launches.
func (f *checker) flags() {
	p := f.p
	first := make([]int, len(p.Rank)+1) // flag of each rank, among those of all ranks
	for r := range p.Rank {
		first[r+1] = first[r] + p.OneSided.FlagsOf(r)
	}
	of := keep(first[len(p.Rank)], len(p.OneSided.Operands))
	for _, op := range []ir.Op{ir.Signal, ir.Await} {
		for b := range p.Blocks {
			t := &p.Blocks[b].Steps
			for i := t.First; i < t.End; i++ {
				if s := &p.Steps[i]; s.Op == op {
					for _, x := range p.OneSided.OperandsOf(s) {
						f.flag(i, *t, &x, of(first[x.Rank]+int(x.Index)))
					}
				}
			}
		}
	}
}

// keep returns where the users of each of n flags are kept. Memory grows with the operands, however many flags p asks
// for.
func keep(n, operands int) func(flag int) *users {
	if n <= 4*operands+1<<16 {
		list := make([]users, n)
		return func(flag int) *users { return &list[flag] }
	}
	used := map[int]*users{}
	return func(flag int) *users {
		if used[flag] == nil {
			used[flag] = new(users)
		}
		return used[flag]
	}
}

// flag checks a flag of step i, one of the steps of a block. It sees signals before awaits.
func (f *checker) flag(i int32, steps ir.Range, x *onesided.Operand, u *users) {
	const marks = ir.Enter | ir.Leave
	s := &f.p.Steps[i]
	own, verb := &u.signal, "signals"
	if s.Op == ir.Await {
		own, verb = &u.await, "awaits"
	}
	if *own == 0 {
		*own = i + 1
	}
	any := cmp.Or(u.signal, u.await) - 1
	switch {
	case *own-1 < steps.First:
		f.shared(i, *own-1, "%s flags[%d] of rank %d, as another block does", verb, x.Index, x.Rank)
	case (f.p.Steps[any].Flags&marks == 0) != (s.Flags&marks == 0):
		f.shared(i, any, "%s flags[%d] of rank %d in each pass or in each launch, and other steps do not", verb,
			x.Index, x.Rank)
	}
}

// shared reports a fault of step i that step other has to do with.
func (f *checker) shared(i, other int32, format string, args ...any) {
	at := &place{Step: &f.p.Steps[i]}
	at.rank, at.block, at.step = f.p.Place(i)
	if f.step(at, diag.Malformed, format, args...); f.Lost == 0 {
		d := &f.List[len(f.List)-1]
		*d = d.WithNote(f.p.Span(f.p.Steps[other].Pos), "%s", f.p.StepName(other))
	}
}
