package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
)

// This file judges that each then finishes rows, and that the output gets finished rows only. What then returns is good
// for copies to the output alone, so that no then is without effect.

// finishing is what a run saw of c.then.
type finishing struct {
	list  epilogue.List
	span  diag.Span // the first then
	thens []madeThen
	ops   []int32 // the operations, counted from 1, that copy what then returned to the output
}

// A madeThen is one call of then: number k of these is 1 + its place in finishing.thens.
type madeThen struct {
	of   ref
	span diag.Span
	used bool // by a copy to the output
}

// finish returns what c.then(list) is, where v is c.
func (m *machine) finish(s *site, v ref, list epilogue.List) ref {
	f := &m.prog.finishing
	if !m.mayFinish(s, v, list) {
		return ref{}
	}
	f.thens = append(f.thens, madeThen{of: v, span: s.span})
	v.then = int32(len(f.thens))
	return v
}

// mayFinish notes the stages of the first then. It returns false after an error.
func (m *machine) mayFinish(s *site, v ref, list epilogue.List) bool {
	f := &m.prog.finishing
	coll := m.prog.coll
	if f.list == nil {
		f.list, f.span = list, s.span
	}
	switch {
	case !coll.HasRows():
		m.fault(diag.Unsupported, s.span, "%s has no sums of all ranks, which then finishes", coll.Kind).Hint =
			"collectives with an epilogue are allreduce, reduce and reducescatter"
	case coll.Inplace:
		d := m.fault(diag.NotInPlace, s.span, "the output holds finished rows, so that it cannot be the input's memory")
		*d = d.WithNote(m.prog.declaration, "inplace = true is said here")
		d.Hint = "leave inplace out, and compile for calls out of place"
	case !slices.Equal(f.list, list):
		d := m.fault(diag.Declaration, s.span, "all rows of a program go through the same stages, and these are others")
		*d = d.WithNote(f.span, "here they are %s", f.list)
	case v.buf == ir.Output:
		m.fault(diag.Finished, s.span, "then comes after the copy to the output, which holds finished rows").Hint =
			addInScratch
	case v.then > 0:
		d := m.fault(diag.Finished, s.span, "then comes a second time on %s", m.prog.refName(&v))
		*d = d.WithNote(f.thens[v.then-1].span, "its first then is here")
		d.Hint = "write all stages in one then: sum.then(scale, bias)"
	default:
		return true
	}
	return false
}

const addInScratch = "add up in scratch, and copy the sum to the output: sum.then(...).copy(rank, output, index)"

// elsewhere reports that an operation uses r, which then returned, for something else than a copy to the output.
func (m *machine) elsewhere(s *site, r ref, format string, args ...any) {
	d := m.fault(diag.Finished, s.span, format+" after its then, and only a copy to the output runs the stages", args...)
	*d = d.WithNote(m.prog.finishing.thens[r.then-1].span, "its then is here")
	d.Hint = "leave that then out, and write one before the copy of the complete sum"
	m.prog.finishing.thens[r.then-1].used = true
}

// copyFinished notes that operation `now` copies r, which then returned, to the output.
func (p *expansion) copyFinished(r ref, now int32) {
	p.finishing.thens[r.then-1].used = true
	p.finishing.ops = append(p.finishing.ops, now)
}

// checkFinished reports operations that bring a raw sum to the output, or take a finished row from it, and each then
// without effect. It goes through all operations again, since a then may follow what it forbids.
func (m *machine) checkFinished() {
	p := &m.prog
	f := &p.finishing
	if f.list == nil {
		return
	}
	if p.channels != nil {
		m.bad = false
		m.mixedChunks(f.span)
		return
	}
	written, finish := make([]bool, p.cells.Len()), f.ops
	for i := range p.ops {
		finished := len(finish) > 0 && finish[0] == int32(i)+1
		if finished {
			finish = finish[1:]
		}
		if !m.finishes(&p.ops[i], finished, written) {
			return
		}
	}
	for i := range f.thens {
		if t := &f.thens[i]; !t.used {
			m.bad = false
			m.fault(diag.Finished, t.span, "then finishes nothing here: no copy takes this %s to the output",
				p.refName(&t.of)).Hint = "copy what then returns: sum.then(...).copy(rank, output, index)"
		}
	}
}

// finishes judges an operation. finished says whether it copies what then returned to the output, and written which
// cells of output were written. It returns false after an error.
func (m *machine) finishes(op *ir.ChunkOp, finished bool, written []bool) bool {
	p := &m.prog
	srcs := p.srcs[op.Src : op.Src+op.NSrc]
	to := int32(p.cellOf(op.Dst))
	fromOutput := slices.ContainsFunc(srcs, func(r ir.Ref) bool { return r.Buf == ir.Output })
	fail := func(format string, args ...any) bool {
		m.bad = false
		d := m.fault(diag.Finished, p.spans[op.Pos], format, args...)
		*d = d.WithNote(p.finishing.span, "rows are finished by %s", p.finishing.list)
		d.Hint = addInScratch
		return false
	}
	if op.Dst.Buf != ir.Output {
		return !fromOutput || fail("this takes finished rows from the output, where a sum is needed")
	}
	for k := range op.Count {
		switch {
		case len(srcs) > 1:
			return fail("this adds up in the output, which holds finished rows")
		case written[to+k]:
			return fail("%s is written a second time, and its rows were finished already", p.chunkName(op.Dst, k))
		case !fromOutput && !finished:
			return fail("%s goes to the output without then", p.chunkName(srcs[0], k))
		}
		written[to+k] = true
	}
	return true
}
