package lang

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/internal/channels"
	"mscclc/lang/syntax"
)

// This file compiles and makes the operations of channels on chunks.

// transfer compiles c.put, c.get and c.allreduce(src, buffer, index).
func (c *compiler) transfer(x code, f *syntax.Name, rest []*syntax.Arg, how *doing, args *syntax.Args, of,
	span diag.Span) code {
	bound := c.bind(f.Text, rest, []string{"src", "buffer", "index"}, func(i int) bool { return i < 1 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	m, val := c.m, x.value()
	s := c.newSite(span, bound[0].Span(), args.Span())
	src := c.asRef(c.expr(bound[0]), "what is moved", s.src)
	place := c.placeOf(bound[1], bound[2])
	do := map[string]func(*site, *channels.End, ref, ir.Buf, int64, *done){"put": m.put, "get": m.get,
		"allreduce": m.allreduce}[f.Text]
	return code{kind: kNone, val: func() value {
		v := val()
		r := src()
		b, i := place.of(r)
		d := how.get(m)
		if m.bad || m.level(span) == nil {
			return badValue
		}
		m.each(&v, kChannel, of, func(n int64) { do(s, m.prog.channels.End(n), r, b, i, &d) })
		return value{}
	}}
}

// on checks that r is of rank, which is what a channel says.
func (m *machine) on(s *site, e *channels.End, r ref, rank int32, what string) bool {
	if r.rank == rank {
		return true
	}
	d := m.fault(diag.Channel, s.src, "%s of this channel, rank %d, has no %s", what, rank, m.prog.refName(&r))
	*d = d.WithNote(e.Span, "the channel is made here, as rank %d's end", e.Rank)
	return false
}

// operand makes r an operand of an operation.
func (m *machine) operand(r ref, d *done) ir.ChannelRef {
	x := ir.ChannelRef{Rank: r.rank, Buf: r.buf, Index: r.index, Count: r.count}
	if r.buf >= ir.Scratch {
		x.Buf, x.Packets = ir.Scratch, d.packets
		x.Index = r.cell - m.prog.at(r.rank, ir.Scratch).cell
	}
	return x
}

// multi makes r an operand of all ranks of a switch channel. Level.Program finds
// which of the rank's channels that is, when all buffers are known.
func (m *machine) multi(e *channels.End, r ref, d *done) ir.ChannelRef {
	x := m.operand(r, d)
	x.Rank, x.Switch = ir.AllRanks, e.ID
	e.Use(x.Buf)
	return x
}

// place returns where an operation writes count chunks: it checks that they exist.
func (m *machine) place(s *site, rank int32, b ir.Buf, index int64, count int32) (ref, bool) {
	to, ok := m.target(s, int64(rank), b, index, count)
	time := m.prog.now()
	if count == 0 {
		time = emptyTime
	}
	return ref{spot{to, rank, int32(index)}, count, time, holds{buf: b}}, ok && m.step(int64(count), &s.span)
}

// put copies r, of the channel's rank, to the peer, or to all ranks of a switch.
func (m *machine) put(s *site, e *channels.End, r ref, b ir.Buf, index int64, d *done) {
	if !m.on(s, e, r, e.Rank, "the end") {
		return
	}
	if e.Via == ir.SwitchChannel {
		if to, ok := m.everywhere(s, e, b, index, r.count); ok {
			m.do(s, e.Rank, d, ir.ChannelOp{Name: "put", Kind: ir.ChMove, Type: e.Via, Srcs: []ir.ChannelRef{m.operand(r, d)},
				Dsts: []ir.ChannelRef{m.multi(e, to, d)}})
		}
		return
	}
	to, ok := m.place(s, e.Peer, b, index, r.count)
	if !ok {
		return
	}
	op := ir.ChannelOp{Name: "put", Kind: ir.ChEach, Type: e.Via, Srcs: []ir.ChannelRef{m.operand(r, d)},
		Dsts: []ir.ChannelRef{m.operand(to, d)}}
	if op.Srcs[0].Packets { // which may be on their way here
		op.Kind = ir.ChMove
	}
	if e.Via == ir.PortChannel {
		op.Channels = []int32{e.ID}
	}
	m.do(s, e.Rank, d, op)
}

// everywhere returns a place that all ranks of a switch channel have.
func (m *machine) everywhere(s *site, e *channels.End, b ir.Buf, index int64, count int32) (to ref, ok bool) {
	for _, rank := range e.Group {
		at, ok := m.place(s, rank, b, index, count)
		if !ok {
			return at, false
		}
		if rank == e.Rank {
			to = at
		}
	}
	return to, true
}

// held checks that all ranks of a switch channel have what r is on one of them.
func (m *machine) held(s *site, e *channels.End, r ref) bool {
	for _, rank := range e.Group {
		if !m.inRange(s.src, int64(rank), r.buf, int64(r.index), int64(r.count)) {
			return false
		}
	}
	return m.step(int64(len(e.Group))*int64(r.count), &s.span)
}

// get copies r, of the channel's peer, to the channel's rank: through a switch,
// the sum of what all ranks have where r is.
func (m *machine) get(s *site, e *channels.End, r ref, b ir.Buf, index int64, d *done) {
	from, end := e.Peer, "the other end"
	if e.Via == ir.SwitchChannel {
		from, end = e.Rank, "the end"
	}
	if !m.on(s, e, r, from, end) {
		return
	}
	to, ok := m.place(s, e.Rank, b, index, r.count)
	if !ok {
		return
	}
	op := ir.ChannelOp{Name: "get", Kind: ir.ChEach, Type: e.Via, Srcs: []ir.ChannelRef{m.operand(r, d)},
		Dsts: []ir.ChannelRef{m.operand(to, d)}}
	switch {
	case e.Via == ir.PortChannel:
		d := m.fault(diag.Channel, s.span, "a port channel only puts: nothing fetches through it")
		*d = d.WithNote(e.Span, "the channel is made here")
		return
	case op.Srcs[0].Packets:
		m.afar(s)
		return
	case e.Via == ir.SwitchChannel:
		if !m.held(s, e, r) {
			return
		}
		op.Kind, op.Srcs[0] = ir.ChMove, m.multi(e, r, d)
	default:
		op.Channels = []int32{e.ID}
	}
	m.do(s, e.Rank, d, op)
}

// afar reports a read of packets of another rank.
func (m *machine) afar(s *site) {
	m.fault(diag.Channel, s.src, "packets are read where they arrive, and not in another rank's scratch").Hint =
		"packets = false says that plain data lies there"
}

// allreduce has the switch sum what all ranks have where r is, and write it to
// all ranks.
func (m *machine) allreduce(s *site, e *channels.End, r ref, b ir.Buf, index int64, d *done) {
	if e.Via != ir.SwitchChannel {
		d := m.fault(diag.Channel, s.span, "only a switch channel reduces by itself")
		*d = d.WithNote(e.Span, "the channel is made here")
		d.Hint = "chunk.reduce(...) takes chunks of other ranks, to which the rank has memory channels"
		return
	}
	if !m.on(s, e, r, e.Rank, "the end") {
		return
	}
	if m.operand(r, d).Packets {
		m.afar(s)
		return
	}
	if !m.held(s, e, r) {
		return
	}
	if to, ok := m.everywhere(s, e, b, index, r.count); ok {
		m.do(s, e.Rank, d, ir.ChannelOp{Kind: ir.ChMove, Type: e.Via, Srcs: []ir.ChannelRef{m.multi(e, r, d)},
			Dsts: []ir.ChannelRef{m.multi(e, to, d)}})
	}
}
