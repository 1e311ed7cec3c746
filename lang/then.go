package lang

import (
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
	"mscclc/lang/syntax"
)

// This file compiles c.then(STAGES), which says what becomes of the rows of a complete sum on their way to the output
// (ir/epilogue), and judges that the output gets finished rows only.

// finishing is what a run saw of c.then.
type finishing struct {
	list  epilogue.List
	span  diag.Span  // the first then
	marks []markedAt // in the order of their times
}

// A markedAt says that chunks hold complete sums, which may go to the output, when `time` operations had been done.
type markedAt struct{ time, cell, count int32 }

// thenCall compiles src.then(stage, ...).
func (c *compiler) thenCall(src func() ref, args *syntax.Args, of, span diag.Span) code {
	list, ok := c.stages(args, span)
	if !ok {
		return c.badCode()
	}
	m := c.m
	s := c.newSite(span, of, args.Span())
	return code{kind: kRef, ref: func() ref {
		v := src()
		if m.bad || !m.ready(&s.span) {
			m.bad, m.lost = true, true
			return ref{}
		}
		if v.empty() || !m.usable(s, v) {
			return v
		}
		m.finish(s, v, list)
		return v
	}}
}

// finish notes that the chunks of v go through list on their way to the output.
func (m *machine) finish(s *site, v ref, list epilogue.List) {
	f := &m.prog.finishing
	switch coll := m.prog.coll; {
	case f.list == nil:
		f.list, f.span = list, s.span
		if !coll.HasRows() {
			m.fault(diag.Unsupported, s.span, "%s has no sums of all ranks, which then finishes", coll.Kind).Hint =
				"collectives with an epilogue are allreduce, reduce and reducescatter"
			return
		}
		if coll.Inplace {
			d := m.fault(diag.NotInPlace, s.span, "the output holds finished rows, so that it cannot be the input's memory")
			*d = d.WithNote(m.prog.declaration, "inplace = true is said here")
			d.Hint = "leave inplace out, and compile for calls out of place"
			return
		}
	case !slices.Equal(f.list, list):
		d := m.fault(diag.Declaration, s.span, "all rows of a program go through the same stages, and these are others")
		*d = d.WithNote(f.span, "here they are %s", f.list)
		return
	}
	f.marks = append(f.marks, markedAt{m.prog.now(), v.cell, v.count})
}

// stages reads the arguments of then. It returns false after an error.
func (c *compiler) stages(args *syntax.Args, span diag.Span) (list epilogue.List, ok bool) {
	ok = true
	for _, a := range args.List {
		s, good := c.stage(a)
		list, ok = append(list, s), ok && good
	}
	if len(args.List) == 0 {
		c.m.report(diag.Arguments, span, "then lacks its stages").Hint = "they are " + strings.Join(epilogue.Names(), ", ")
		return nil, false
	}
	if err := list.Check(); ok && err != nil {
		c.m.report(diag.Arguments, args.Span(), "%v", err)
		return nil, false
	}
	return list, ok
}

// stage reads a stage: a name, or a name with its argument in parentheses, such as quantise(e4m3, block = 128).
func (c *compiler) stage(a *syntax.Arg) (s epilogue.Stage, ok bool) {
	u := a.Value.Left
	name, isName := u.X.(*syntax.Name)
	if a.Name != nil || len(a.Value.Rest) > 0 || len(u.Ops) > 0 || !isName || len(u.Suffixes) > 1 {
		c.m.report(diag.Arguments, a.Span(), "this is no stage of an epilogue").Hint =
			"the stages are " + strings.Join(epilogue.Names(), ", ")
		return s, false
	}
	kind, known := epilogue.ByName(name.Text)
	if !known {
		d := c.m.report(diag.Undefined, name.Span(), "there is no stage %s", name.Text)
		if !suggest(d, name.Text, epilogue.Names()) {
			d.Hint = "the stages are " + strings.Join(epilogue.Names(), ", ")
		}
		return s, false
	}
	argument, block, ok := "", int64(0), true
	if len(u.Suffixes) > 0 {
		if argument, block, ok = c.stageArgs(kind, u.Suffixes[0]); !ok {
			return s, false
		}
	}
	s, err := epilogue.NewStage(name.Text, argument, block)
	if err != nil {
		c.m.report(diag.Arguments, a.Span(), "%v", err)
		return s, false
	}
	return s, true
}

// stageArgs reads the parentheses of a stage: a word, and for some kinds block = N after it.
func (c *compiler) stageArgs(kind epilogue.Kind, x *syntax.Suffix) (argument string, block int64, ok bool) {
	may := epilogue.Arguments(kind)
	wrong := func(span diag.Span) (string, int64, bool) {
		d := c.m.report(diag.Arguments, span, "this is no argument of %s", epilogue.Stages[kind].Name)
		if d.Hint = "it takes " + strings.Join(may, " or "); len(may) == 0 {
			d.Hint = "it takes none"
		}
		return "", 0, false
	}
	if x.Args == nil {
		return wrong(x.Span())
	}
	for i, a := range x.Args.List {
		word := plainName(a.Value)
		switch {
		case i == 0 && a.Name == nil && word != nil && slices.Contains(may, word.Text):
			argument = word.Text
		case i == 1 && a.Name != nil && a.Name.Text == "block" && epilogue.Stages[kind].Block:
			n, isInt := a.Value.Left.X.(*syntax.Int)
			if !isInt || len(a.Value.Rest)+len(a.Value.Left.Ops)+len(a.Value.Left.Suffixes) > 0 {
				return wrong(a.Value.Span())
			}
			if block, isInt = syntax.ParseInt(n.Text); !isInt || block < 1 || block > epilogue.MostBlock {
				c.m.report(diag.Arguments, a.Value.Span(), "a block has 1 to %d elements", epilogue.MostBlock)
				return "", 0, false
			}
		default:
			return wrong(a.Span())
		}
	}
	return argument, block, true
}

// checkFinished reports operations that bring a raw sum to the output, or take a finished row from it. It goes through
// all operations again, since a then may follow what it forbids.
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
	marked, written := make([]bool, p.cells.Len()), make([]int32, p.cells.Len())
	marks := f.marks
	for i := range p.ops {
		for len(marks) > 0 && marks[0].time <= int32(i) {
			for k := range marks[0].count {
				marked[marks[0].cell+k] = true
			}
			marks = marks[1:]
		}
		if !m.finishes(int32(i), marked, written) {
			return
		}
	}
}

// finishes judges operation i. marked says which cells may go to the output, and written which operation, counted from
// 1, wrote a cell of output. It returns false after an error.
func (m *machine) finishes(i int32, marked []bool, written []int32) bool {
	p := &m.prog
	op := &p.ops[i]
	srcs := p.srcs[op.Src : op.Src+op.NSrc]
	to := int32(p.cellOf(op.Dst))
	fromOutput := slices.ContainsFunc(srcs, func(r ir.Ref) bool { return r.Buf == ir.Output })
	fail := func(format string, args ...any) bool {
		m.bad = false
		d := m.fault(diag.Finished, p.spans[op.Pos], format, args...)
		*d = d.WithNote(p.finishing.span, "rows are finished by %s", p.finishing.list)
		d.Hint = "add up in scratch, and copy the sum to the output: sum.then(...).copy(rank, output, index)"
		return false
	}
	if op.Dst.Buf != ir.Output {
		if fromOutput {
			return fail("this takes finished rows from the output, where a sum is needed")
		}
		for k := range op.Count {
			marked[to+k] = false
		}
		return true
	}
	for k := range op.Count {
		from := int32(p.cellOf(srcs[0])) + k
		switch {
		case len(srcs) > 1:
			return fail("this adds up in the output, which holds finished rows")
		case written[to+k] > 0:
			return fail("%s is written a second time, and its rows were finished already", p.chunkName(op.Dst, k))
		case !fromOutput && !marked[from]:
			return fail("%s goes to the output without then", p.chunkName(srcs[0], k))
		}
		written[to+k] = i + 1
	}
	return true
}
