package msccl

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/fifo"
	"mscclc/ir/form"
)

// This file completes a program when all its ranks are read.

// finish judges the ranks together, puts blocks and steps in order and applies
// the target's limits.
func (x *reader) finish() {
	p := x.p
	if len(x.gpus) != x.head.ranks { // none is twice or beyond the last, so some are missing
		d := x.report(diag.Malformed, x.head.span, "program has %d ranks, and <gpu> for %d of them", x.head.ranks,
			len(x.gpus))
		for r := range int32(len(x.gpus) + 1) {
			if _, ok := x.ranks[r]; !ok {
				*d = d.WithHint("rank %d has none", r)
				return
			}
		}
	}
	if !x.root() || !x.buffers() {
		return
	}
	x.sortBlocks()
	x.guessClasses()
	// bounds and fields are checked, so that its steps are wrong
	if found := form.Check(either.OfFifo(p), form.Unbounded); len(found) > 0 {
		x.found = append(x.found, found[:min(len(found), diag.Shown)]...)
	} else {
		deduce(p)
	}
	if t := x.opt.Target; t != nil {
		if x.quirk.text != "" {
			x.report(diag.Malformed, diag.Span{Pos: x.quirk.pos, Len: 1}, "%s's reader does not take %s", t.Name,
				x.quirk.text).Hint =
				fmt.Sprintf("mscclc compile %s --target %s -o NEW.xml writes the program without it", fileWord(x.filename), t.Name)
		}
		x.found = append(x.found, codegen.CheckLimits(either.OfFifo(p), t)...)
		x.chains()
	}
}

// fileWord returns how a hint names a file.
func fileWord(name string) string {
	if name == "" || name == "-" || strings.ContainsAny(name, " \t") {
		return "FILE"
	}
	return diag.Printable(name)
}

// root finds the root of a rooted collective: the one rank that alone has the
// buffer that only roots have.
func (x *reader) root() bool {
	c := x.p.Coll
	var attribute string
	var has func(*gpuRecord) bool
	switch c.Kind {
	case ir.Broadcast, ir.Scatter:
		attribute, has = "i_chunks", func(g *gpuRecord) bool { return g.input > 0 }
	case ir.ReduceTo, ir.Gather:
		attribute, has = "o_chunks", func(g *gpuRecord) bool { return g.output > 0 }
	default:
		return true
	}
	var roots []*gpuRecord
	for i := range x.gpus {
		if has(&x.gpus[i]) {
			roots = append(roots, &x.gpus[i])
		}
	}
	if len(roots) > 1 {
		roots = x.usedRoots(roots)
	}
	switch len(roots) {
	case 0:
		x.report(diag.Unsupported, x.head.span, "the root of this %s is not known: no rank has an %s above 0", c.Kind,
			attribute).Hint =
			"only the root has chunks there: give its <gpu> an " + attribute + " above 0"
		return false
	case 1:
		c.Root = int(roots[0].id)
		return true
	}
	more := ""
	if len(roots) > 2 {
		more = ", ..."
	}
	d := x.report(diag.Unsupported, roots[1].span,
		"the root of this %s is not known: %d ranks (%d, %d%s) have an %s above 0, and only the root may", c.Kind,
		len(roots), roots[0].id, roots[1].id, more, attribute)
	*d = d.WithNote(roots[0].span, "rank %d is the first", roots[0].id)
	d.Hint = fmt.Sprintf(`write %s="0" in the <gpu> of each rank that is not the root`, attribute)
	return false
}

// usedRoots returns the one of several possible roots that has a step at the buffer that only roots have: the others
// have that buffer no more. Where that is not one, it returns all.
func (x *reader) usedRoots(all []*gpuRecord) []*gpuRecord {
	reads := x.p.Coll.Kind == ir.Broadcast || x.p.Coll.Kind == ir.Scatter
	uses := func(g *gpuRecord) bool {
		return slices.ContainsFunc(x.tbs[g.tbs.First:g.tbs.End], func(b tbRecord) bool {
			return slices.ContainsFunc(x.p.Steps[b.Steps.First:b.Steps.End], func(s ir.Step) bool {
				return reads && (s.SrcBuf == ir.Input || s.DstBuf == ir.Input) || !reads &&
					(s.SrcBuf == ir.Output || s.DstBuf == ir.Output)
			})
		})
	}
	var used []*gpuRecord
	for _, g := range all {
		if uses(g) {
			used = append(used, g)
		}
	}
	if len(used) != 1 {
		return all
	}
	for _, g := range all {
		if g == used[0] {
			continue
		} else if reads {
			g.input = 0
		} else {
			g.output = 0
		}
	}
	return used
}

// buffers checks each rank's buffers against the collective. A buffer of no
// chunks is one that the rank's steps do not name.
func (x *reader) buffers() bool {
	p, c := x.p, x.p.Coll
	p.Scratch = make([]int32, len(x.gpus))
	if c.Kind == ir.Opaque {
		c.PerRank = make([][2]int32, len(x.gpus))
		for i := range x.gpus {
			g := &x.gpus[i]
			c.PerRank[g.id] = [2]int32{g.input, g.output}
			c.In, c.Out = max(c.In, int(g.input)), max(c.Out, int(g.output))
		}
		c.Chunks = max(c.Chunks, c.In, c.Out)
	}
	cells := int64(0)
	for i := range x.gpus {
		g := &x.gpus[i]
		p.Scratch[g.id] = g.scratch
		x.at.rank = int(g.id)
		in, out := c.InChunks(int(g.id)), c.OutChunks(int(g.id))
		cells += int64(in) + int64(out) + int64(g.scratch)
		if g.input != 0 && int(g.input) != in {
			x.report(diag.Malformed, g.span, "rank %d has %d input chunks where %s has %d", g.id, g.input, c, in)
		}
		if g.output != 0 && int(g.output) != out {
			x.report(diag.Malformed, g.span, "rank %d has %d output chunks where %s has %d", g.id, g.output, c, out)
		}
		if x.full() {
			return false
		}
	}
	x.at = nowhere
	most, moved := x.opt.Bounds(len(p.Steps)), int64(0)
	for i := range p.Steps {
		moved += int64(p.Steps[i].Count)
	}
	if moved > most.Moved {
		x.report(diag.Limit, x.head.span, "the steps move %d chunks, at most %d are read", moved,
			most.Moved).Hint = diag.LimitHint("moves", moved)
	}
	if cells > most.Cells {
		x.report(diag.Limit, x.head.span, "the ranks' buffers have %d chunks, at most %d are read", cells,
			most.Cells).Hint = diag.LimitHint("cells", cells)
	}
	return len(x.found) == 0
}

// sortBlocks makes the program's tables of what was read in the file's order.
func (x *reader) sortBlocks() {
	p := x.p
	p.Rank, p.Blocks = make([]ir.Range, len(x.gpus)), make([]ir.TB, 0, len(x.tbs))
	inOrder, at := true, int32(0)
	for r := range p.Rank {
		g := &x.gpus[x.ranks[int32(r)]]
		p.Rank[r].First = int32(len(p.Blocks))
		for _, b := range x.tbs[g.tbs.First:g.tbs.End] {
			inOrder = inOrder && b.Steps.First == at
			at = b.Steps.End
			p.Blocks = append(p.Blocks, b.TB)
		}
		p.Rank[r].End = int32(len(p.Blocks))
	}
	if inOrder {
		return
	}
	steps := make([]ir.Step, 0, len(p.Steps))
	for i := range p.Blocks {
		b := &p.Blocks[i]
		first := int32(len(steps))
		steps = append(steps, p.StepsOf(b)...)
		b.Steps = ir.Range{First: first, End: int32(len(steps))}
	}
	p.Steps = steps
}

// deduce finds what the file does not say: classes, whether they ever differ,
// and final steps. A program that does not run keeps what it has: ir/verify
// says what is wrong with it.
func deduce(p *fifo.Program) {
	if eval.Classify(p) == nil {
		_ = eval.MarkFinal(either.OfFifo(p)) // else avg is not to be had
	}
}

// guessClasses gives each step the class of an input or output chunk that it
// names. What only goes through scratch has class 0 until evaluation.
func (x *reader) guessClasses() {
	for i := range x.p.Steps {
		switch s := &x.p.Steps[i]; {
		case s.DstBuf == ir.Input || s.DstBuf == ir.Output:
			s.Class = int32(x.p.Coll.Class(int(s.Dst)))
		case s.SrcBuf == ir.Input || s.SrcBuf == ir.Output:
			s.Class = int32(x.p.Coll.Class(int(s.Src)))
		}
	}
}

// chains reports reductions that the target's runtime would chain too long.
func (x *reader) chains() {
	most := x.opt.Target.Limits.ReduceChain
	if most == 0 {
		return
	}
	for b := range x.p.Blocks {
		steps := x.p.StepsOf(&x.p.Blocks[b])
		for i, chain := 1, 1; i < len(steps); i++ {
			if chain++; !fifo.Chained(&steps[i-1], &steps[i]) {
				chain = 1
			}
			if chain == most+1 && !x.full() {
				x.at.rank, x.at.block, x.at.step = x.p.Place(x.p.Blocks[b].Steps.First + int32(i))
				x.report(diag.Limit, x.p.Span(steps[i].Pos), "%s chains at most %d reductions, and this is one more",
					x.opt.Target.Name, most)
			}
		}
	}
}
