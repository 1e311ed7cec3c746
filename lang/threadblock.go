package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file finds which thread blocks do an operation, and how, and adds it to them.

// maxTB is the most that a thread block's number may be.
const maxTB = 1023

// namesBlock reports whether a copy or a reduce says which thread block does it.
func namesBlock(args *syntax.Args) bool {
	return slices.ContainsFunc(args.List, func(a *syntax.Arg) bool { return a.Name != nil && a.Name.Text == "tb" })
}

// A doing is the arguments that say which block does an operation, and how.
type doing struct {
	tb                     func() value
	tbAt                   diag.Span
	sync, packets, relaxed *number // nil where nothing is said
	to                     *operand
	packetsAt              diag.Span
	tbs                    []int32 // of the last time
}

// A done is what these are in one run.
type done struct {
	tbs       []int32
	free      bool
	relaxed   bool
	packets   bool // what lies in scratch is packets
	packetsAt diag.Span
}

// doing takes the arguments called named out of list. It returns nil after an
// error.
func (c *compiler) doing(f *syntax.Name, list []*syntax.Arg, span diag.Span,
	named []string) (rest []*syntax.Arg, how *doing) {
	how = &doing{}
	given := map[string]bool{}
	for _, a := range list {
		if a.Name == nil || !slices.Contains(named, a.Name.Text) {
			rest = append(rest, a)
			continue
		}
		text := a.Name.Text
		if given[text] {
			c.m.report(diag.Arguments, a.Span(), "argument %s of %s is given twice", text, f.Text)
		}
		given[text] = true
		switch text {
		case "tb":
			x := c.valueOf(a.Value)
			if x.kind != kInt && x.kind != kList && x.kind != kAny && x.kind != kBad {
				c.mismatch(x.kind, kInt, "tb", a.Value.Span())
			}
			how.tb, how.tbAt = x.value(), a.Value.Span()
		case "to":
			if others := c.operandList([]*syntax.Arg{{Node: a.Node, Value: a.Value}}, f.Text); others != nil {
				how.to = &others[0]
			}
		default:
			n := c.number(a.Value, kBool, text)
			*map[string]**number{"sync": &how.sync, "packets": &how.packets, "relaxed": &how.relaxed}[text] = &n
			if text == "packets" {
				how.packetsAt = a.Span()
			}
		}
	}
	if how.tb == nil {
		d := c.m.report(diag.Arguments, span, "%s lacks tb", f.Text)
		d.Hint = "tb = 0 says which thread block of the rank does it"
		for _, a := range rest {
			if a.Name != nil && diag.Nearest(a.Name.Text, named) == "tb" {
				*d = d.WithNote(a.Name.Span(), "%s has no argument called %s", f.Text, a.Name.Text)
				d.Hint = "did you mean tb?"
			}
		}
		return nil, nil
	}
	return rest, how
}

// get evaluates them.
func (h *doing) get(m *machine) done {
	d := done{packets: m.prog.packets, packetsAt: h.packetsAt}
	v := h.tb()
	if m.bad {
		return d
	}
	if h.sync != nil {
		d.free = h.sync.get() == 0
	}
	if h.relaxed != nil {
		d.relaxed = h.relaxed.get() != 0
	}
	if h.packets != nil {
		want := h.packets.get() != 0
		if want && !d.packets && !m.bad {
			m.fault(diag.Channel, h.packetsAt, "packets, where the protocol is Simple").Hint =
				"protocol LL, at the top of the file, has room for their flags"
		}
		d.packets = want
	}
	if !m.bad {
		h.tbs = m.blocksOf(h.tbs[:0], &v, h.tbAt)
		d.tbs = h.tbs
	}
	return d
}

// blocksOf adds the thread block that v is, or those in the list that it is.
func (m *machine) blocksOf(tbs []int32, v *value, span diag.Span) []int32 {
	one := []value{*v}
	list := &one
	if v.kind == kList {
		list = v.list
	}
	if len(*list) == 0 {
		m.fault(diag.Arguments, span, "no thread block")
	}
	for i := range *list {
		x := &(*list)[i]
		switch {
		case m.bad:
		case x.kind != kInt:
			m.wrongKind(x.kind, kInt, "a thread block", span)
		case x.n < 0 || x.n > maxTB:
			m.fault(diag.OutOfBounds, span, "thread block %d: there are 0 to %d", x.n, maxTB)
		case slices.Contains(tbs, int32(x.n)):
			m.fault(diag.Arguments, span, "thread block %d stands twice", x.n)
		default:
			tbs = append(tbs, int32(x.n))
		}
	}
	return tbs
}

// do adds an operation to each of its blocks.
func (m *machine) do(s *site, rank int32, d *done, op ir.ChannelOp) {
	if len(op.Dsts) > 0 && op.Dsts[0].Count == 0 { // a reference to no chunks
		return
	}
	op.Unsynced = d.free
	for i, tb := range d.tbs {
		if len(d.tbs) > 1 {
			op.Part, op.Parts = int32(i), int32(len(d.tbs))
		}
		m.emit(s, rank, tb, op)
	}
}

// opCost is the elements of a list that an operation takes the memory of.
const opCost = 16

// emit adds an operation to a block.
func (m *machine) emit(s *site, rank, tb int32, op ir.ChannelOp) {
	ch := m.prog.channels
	if m.prog.spent += int64(1 + len(op.Srcs) + len(op.Dsts)); m.prog.spent > m.lim.Ops {
		m.exhausted("ops", m.lim.Ops, syntax.MoreHint("ops", m.lim.Ops), &s.span, "the file makes more than %d operations")
		return
	}
	if !m.elements(0, opCost, s.span) {
		return
	}
	if m.watch != nil {
		m.watch(s.span.Pos, rank)
	}
	op.Pos = s.pos
	if more := ch.Missing(rank, tb); more > 0 {
		if !m.elements(0, more, s.span) {
			return
		}
		ch.AddBlocks(rank, more)
	}
	if p := ch.Pipeline(); p == nil || m.takes(p, s, &op) {
		ch.Add(rank, tb, &op)
	}
}
