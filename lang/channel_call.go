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
		rank, id := ch.Semaphore(n)
		op.Semaphores = []int32{id}
		m.emit(s, rank, d.tbs[0], op)
		return
	}
	e := ch.End(n)
	switch {
	case e.Via == ir.SwitchChannel:
		d := m.fault(diag.Channel, s.src, "a switch channel has neither signals nor flushes")
		*d = d.WithNote(e.Span, "it is made here")
		d.Hint = "channels between two ranks each tell the ranks of each other"
		return
	case kind == ir.ChFlush && e.Via != ir.PortChannel:
		d := m.fault(diag.Channel, s.src, "only port channels are flushed: a put through memory is complete when the operation ends")
		*d = d.WithNote(e.Span, "this channel is made here")
		return
	}
	op.Type, op.Channels = e.Via, []int32{e.ID}
	m.emit(s, e.Rank, d.tbs[0], op)
}
