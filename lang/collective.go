package lang

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file evaluates the line that says the collective.

// collectiveArgs are the arguments of each collective, in their order.
var collectiveArgs = map[ir.Kind][]string{
	ir.AllReduce:     {"ranks", "chunks", "inplace"},
	ir.AllGather:     {"ranks", "chunks", "inplace"},
	ir.ReduceScatter: {"ranks", "chunks", "inplace"},
	ir.AllToAll:      {"ranks", "chunks"},
	ir.Broadcast:     {"ranks", "root", "chunks", "inplace"},
	ir.ReduceTo:      {"ranks", "root", "chunks", "inplace"},
	ir.Gather:        {"ranks", "root", "chunks", "inplace"},
	ir.Scatter:       {"ranks", "root", "chunks", "inplace"},
	ir.SendRecv:      {"ranks", "peer", "chunks"},
	ir.Custom:        {"ranks", "input", "output", "inplace"},
}

// mustGive are the arguments that have no default.
var mustGive = map[string]bool{"ranks": true, "peer": true, "input": true, "output": true}

// hasInplace says which collectives have an in-place form.
var hasInplace = map[ir.Kind]bool{
	ir.AllReduce: true, ir.AllGather: true, ir.ReduceScatter: true, ir.Broadcast: true, ir.ReduceTo: true, ir.Gather: true,
	ir.Scatter: true, ir.Custom: true,
}

// collective evaluates s, or returns nil after an error.
func (c *compiler) collective(s *syntax.Collective) *ir.Collective {
	m := c.m
	kind, ok := ir.KindByName(s.Kind.Text)
	if !ok {
		d := m.report(diag.Undefined, s.Kind.Span(), "there is no collective %s", s.Kind.Text)
		var names []string
		for k := range collectiveArgs {
			names = append(names, k.String())
		}
		if slices.Sort(names); syntax.ForeignCollectives[s.Kind.Text] != "" {
			d.Hint = syntax.ForeignCollectives[s.Kind.Text] + "; the collectives are " + strings.Join(names, ", ")
		} else if !suggest(d, s.Kind.Text, names) {
			d.Hint = "the collectives are " + strings.Join(names, ", ")
		}
		return nil
	}
	if kind == ir.Custom && s.Body == nil {
		m.report(diag.Declaration, s.Span(), "a custom collective needs a block of requires")
		return nil
	}
	if kind != ir.Custom && s.Body != nil {
		m.report(diag.Declaration, s.Body.Span(), "only a custom collective has a block: what %s means is known", kind)
	}
	params := collectiveArgs[kind]
	for _, a := range s.Args.List {
		if a.Name != nil && a.Name.Text == "inplace" && !hasInplace[kind] {
			m.report(diag.NotInPlace, a.Span(), "%s has no in-place form", kind)
			return nil
		}
	}
	bound := c.bind(kind.String(), s.Args.List, params, func(i int) bool { return mustGive[params[i]] }, s.Span(), nil)
	if bound == nil {
		return nil
	}
	coll := &ir.Collective{Kind: kind, Chunks: 1}
	for i, e := range bound {
		c.collectiveArg(coll, params[i], e)
	}
	if m.recover() || m.dead {
		return nil
	}
	return coll
}

// collectiveArg sets what one argument says; e may be nil.
func (c *compiler) collectiveArg(coll *ir.Collective, param string, e *syntax.Expr) {
	m := c.m
	number := func(low, high int64) int {
		n := c.number(e, kInt, param).get()
		switch {
		case m.bad:
		case n < low && high == m.lim.Cells:
			m.fault(diag.OutOfBounds, e.Span(), "%s = %d: it must be at least %d", param, n, low)
		case n < low || n > high:
			d := m.fault(diag.OutOfBounds, e.Span(), "%s = %d: it must be %d to %d", param, n, low, high)
			if high == m.lim.Cells {
				d.Hint = "the upper bound is the limit cells; " + diag.LimitHint("cells", n)
			}
		}
		return int(n)
	}
	switch {
	case param == "chunks" && e == nil && (coll.Kind == ir.AllReduce || coll.Kind == ir.ReduceTo):
		coll.Chunks = coll.Ranks
	case e == nil:
	case param == "ranks":
		coll.Ranks = number(1, m.lim.Cells)
	case param == "chunks":
		coll.Chunks = number(1, m.lim.Cells)
	case param == "root":
		coll.Root = number(0, int64(coll.Ranks)-1)
	case param == "inplace":
		coll.Inplace = c.number(e, kBool, param).get() != 0
	case param == "input":
		coll.In = number(0, m.lim.Cells)
	case param == "output":
		coll.Out = number(0, m.lim.Cells)
		if coll.Chunks = max(coll.In, coll.Out); coll.Chunks == 0 {
			m.fault(diag.OutOfBounds, e.Span(), "a custom collective needs chunks: input and output are 0")
		}
	case param == "peer":
		c.peers(coll, e)
	}
}

// peers evaluates the permutation of sendrecv.
func (c *compiler) peers(coll *ir.Collective, e *syntax.Expr) {
	m := c.m
	v := c.of(e, kList, "peer")()
	if m.bad {
		return
	}
	if len(*v.list) != coll.Ranks {
		m.fault(diag.Arguments, e.Span(), "peer has %s, and there are %d ranks", diag.Counted(len(*v.list), "element"), coll.Ranks)
		return
	}
	if coll.Ranks > ir.MaxSendRecv {
		m.fault(diag.Limit, e.Span(), "sendrecv has %d ranks, and up to %d are possible", coll.Ranks, ir.MaxSendRecv)
		return
	}
	from := make([]int32, coll.Ranks) // 1 + who sends to a rank
	coll.Peer = make([]int32, coll.Ranks)
	for r := range coll.Peer {
		p := &(*v.list)[r]
		switch {
		case p.kind != kInt:
			m.wrongKind(p.kind, kInt, "an element of peer", e.Span())
		case p.n < 0 || p.n >= int64(coll.Ranks):
			m.fault(diag.OutOfBounds, e.Span(), "peer[%d] = %d: ranks are 0 to %d", r, p.n, coll.Ranks-1)
		case from[p.n] != 0:
			m.fault(diag.Arguments, e.Span(), "peer is no permutation: ranks %d and %d both send to %d", from[p.n]-1, r, p.n)
		}
		if m.bad {
			return
		}
		from[p.n] = int32(r) + 1
		coll.Peer[r] = int32(p.n)
	}
}

// rankCells is what a rank counts for at least: it takes memory of its own.
const rankCells = 8

// written returns how many chunks of outputs every program for coll must write at least: those that hold sums, or what
// another rank has. It returns 0 for a collective of which it knows nothing.
func written(coll *ir.Collective) int64 {
	ranks, chunks := int64(coll.Ranks), int64(coll.Chunks)
	switch coll.Kind {
	case ir.AllReduce, ir.ReduceScatter:
		if ranks > 1 {
			return diag.AtMost(ranks, chunks)
		}
	case ir.AllGather, ir.AllToAll:
		return diag.AtMost(diag.AtMost(ranks, ranks-1), chunks)
	case ir.Broadcast, ir.Scatter, ir.Gather:
		return diag.AtMost(ranks-1, chunks)
	}
	return 0
}

// cells returns how many chunks all buffers of all ranks have; a buffer counts as
// one at least.
func cells(coll *ir.Collective, scratch []ir.ScratchDecl) int64 {
	perRank := int64(0)
	for i := range scratch {
		perRank += int64(max(1, scratch[i].Chunks))
	}
	in, out, ranks := int64(1), int64(1), int64(coll.Ranks)
	chunks := int64(coll.Chunks)
	rooted := int64(0)
	switch coll.Kind {
	case ir.AllReduce, ir.SendRecv:
		in, out = chunks, chunks
	case ir.AllGather:
		in, out = chunks, ranks*chunks
	case ir.ReduceScatter:
		in, out = ranks*chunks, chunks
	case ir.AllToAll:
		in, out = ranks*chunks, ranks*chunks
	case ir.Broadcast:
		out, rooted = chunks, chunks
	case ir.ReduceTo:
		in, rooted = chunks, chunks
	case ir.Gather:
		in, rooted = chunks, ranks*chunks
	case ir.Scatter:
		out, rooted = chunks, ranks*chunks
	case ir.Custom:
		in, out = max(1, int64(coll.In)), max(1, int64(coll.Out))
	default:
		panic(fmt.Sprintf("collective %v", coll.Kind))
	}
	return ranks*max(rankCells, in+out+perRank) + rooted
}
