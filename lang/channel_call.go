package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles what is done with channels and semaphores. A list of them
// stands for each of its elements in turn.

// A channelOp is an operation of channels or of semaphores.
type channelOp struct {
	of      kind
	kind    ir.ChannelOpKind
	relaxed ir.ChannelOpKind // with relaxed = true; else 0
	moves   bool             // it has operands
}

var channelOps = map[string]channelOp{
	"signal":    {of: kChannel, kind: ir.ChSignal, relaxed: ir.ChRelaxedSignal},
	"wait":      {of: kChannel, kind: ir.ChAwait, relaxed: ir.ChRelaxedAwait},
	"flush":     {of: kChannel, kind: ir.ChFlush},
	"put":       {of: kChannel, moves: true},
	"get":       {of: kChannel, moves: true},
	"allreduce": {of: kChannel, moves: true},
	"acquire":   {of: kSemaphore, kind: ir.ChAcquire},
	"release":   {of: kSemaphore, kind: ir.ChRelease},
}

// channelOpNames lists the operations of channels or of semaphores.
func channelOpNames(of kind) []string {
	var list []string
	for name, op := range channelOps {
		if op.of == of {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// isChannelOp reports whether x.f(...) is, or may be, an operation of channels or
// semaphores.
func isChannelOp(x code, f *syntax.Name) bool {
	switch x.kind {
	case kChannel, kSemaphore:
		return true
	case kList, kAny:
		_, ok := channelOps[f.Text]
		return ok
	}
	return false
}

// channelMethod compiles an operation of channels or semaphores.
func (c *compiler) channelMethod(x code, f *syntax.Name, args *syntax.Args, of, span diag.Span) code {
	m := c.m
	op, known := channelOps[f.Text]
	if !known || (x.kind == kChannel || x.kind == kSemaphore) && op.of != x.kind {
		d := m.report(diag.Undefined, f.Span(), "%s has no operation %s", x.kind, f.Text)
		names := channelOpNames(x.kind)
		if !suggest(d, f.Text, names) {
			d.Hint = "its operations are " + names[0]
			for _, n := range names[1:] {
				d.Hint += ", " + n
			}
		}
		return c.badCode()
	}
	named := []string{"tb", "sync"}
	switch {
	case op.relaxed != 0:
		named = append(named, "relaxed")
	case op.moves:
		named = append(named, "packets")
	}
	rest, how := c.doing(f, args.List, span, named)
	if how == nil {
		return c.badCode()
	}
	of.Len = max(of.Len, 1)
	if op.moves {
		return c.transfer(x, f, rest, how, args, of, span)
	}
	if c.bind(f.Text, rest, nil, all, span, nil) == nil {
		return c.badCode()
	}
	s, val := c.newSite(span, of, of), x.value()
	return code{kind: kNone, val: func() value {
		v := val()
		d := how.get(m)
		if m.bad || m.level(span) == nil {
			return badValue
		}
		if len(d.tbs) != 1 {
			m.fault(diag.Arguments, how.tbAt, "%s is for one thread block", f.Text)
			return badValue
		}
		kind := op.kind
		if d.relaxed {
			kind = op.relaxed
		}
		m.each(&v, op.of, of, func(n int64) { m.synchronise(s, kind, n, &d) })
		return value{}
	}}
}

// each calls do for the number of a channel or a semaphore, or for those in a
// list.
func (m *machine) each(v *value, k kind, span diag.Span, do func(n int64)) {
	if v.kind == k {
		do(v.n)
		return
	}
	if v.kind != kList {
		m.wrongKind(v.kind, k, "what this is done with", span)
		return
	}
	for i := range *v.list {
		x := &(*v.list)[i]
		if m.bad || !m.step(1, &span) {
			return
		}
		if x.kind != k {
			m.wrongKind(x.kind, k, "an element", span)
			return
		}
		do(x.n)
	}
}

// synchronise adds a signal, a wait or a flush of channel n, or an acquire or a
// release of semaphore n.
func (m *machine) synchronise(s *site, kind ir.ChannelOpKind, n int64, d *done) {
	ch := m.prog.channels
	op := ir.ChannelOp{Kind: kind, Type: ir.NoChannel, Unsynced: d.free}
	if kind == ir.ChAcquire || kind == ir.ChRelease {
		op.Semaphores = []int32{ch.semas[n].id}
		m.emit(s, ch.semas[n].rank, d.tbs[0], op)
		return
	}
	e := &ch.ends[n]
	switch {
	case e.via == ir.SwitchChannel:
		d := m.fault(diag.Channel, s.src, "a switch channel has neither signals nor flushes")
		*d = d.WithNote(e.span, "it is made here")
		d.Hint = "channels between two ranks each tell the ranks of each other"
		return
	case kind == ir.ChFlush && e.via != ir.PortChannel:
		d := m.fault(diag.Channel, s.src, "only port channels are flushed: a put through memory is complete when the operation ends")
		*d = d.WithNote(e.span, "this channel is made here")
		return
	}
	op.Type, op.Channels = e.via, []int32{e.id}
	m.emit(s, e.rank, d.tbs[0], op)
}

// barrier adds a barrier of blocks: those that meet at one set of blocks have
// one barrier. Of one block it is a meet of its threads.
func (m *machine) barrier(s *site, rank int32, tbs []int32) {
	slices.Sort(tbs)
	d := ir.ChannelOp{Kind: ir.ChMeet, Type: ir.NoChannel}
	if len(tbs) > 1 {
		r := &m.prog.channels.ranks[rank]
		id := slices.IndexFunc(r.barriers, func(b []int32) bool { return slices.Equal(b, tbs) })
		if !m.step(int64(len(r.barriers)), &s.span) {
			return
		}
		if id < 0 {
			id = len(r.barriers)
			r.barriers = append(r.barriers, slices.Clone(tbs))
		}
		d.Kind, d.ID, d.Blocks = ir.ChBarrier, int32(id), int32(len(tbs))
	}
	for _, tb := range tbs {
		m.emit(s, rank, tb, d)
	}
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
