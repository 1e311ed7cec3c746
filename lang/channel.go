package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/internal/channels"
	"mscclc/lang/syntax"
)

// This file begins the level of channels, and makes channels. lang/internal/channels
// holds them, with what thread blocks do. channel_call.go, channel_move.go and
// blockreduce.go make operations, which threadblock.go adds to thread blocks.

// level returns the level of channels for a statement of it, or nil after a
// fault.
func (m *machine) level(span diag.Span) *channels.Level {
	p := &m.prog
	switch {
	case m.custom:
		m.fault(diag.Declaration, span, "a custom collective says what must hold, and has no channels")
		return nil
	case !m.ready(&span):
		return nil
	case p.channels == nil && p.spent > 0:
		d := m.fault(diag.Mixed, span,
			"channels and thread blocks, in an algorithm that has copies and reduces for the compiler to place")
		*d = d.WithNote(p.firstOp, "the first of these is here")
		d.Hint = "one algorithm is of one level: tb = N at a copy or reduce says which thread block does it"
		return nil
	case p.ways != 1:
		m.fault(diag.Mixed, span, "parallelize is for what the compiler places").Hint =
			"tb = [0, 1] shares an operation out among two thread blocks"
		return nil
	}
	if p.channels == nil {
		p.channels = channels.New(span, p.coll.Ranks)
	}
	return p.channels
}

// mixedChunks reports an operation without a thread block among those that have
// one.
func (m *machine) mixedChunks(span diag.Span) {
	d := m.fault(diag.Mixed, span, "which thread block does this? The algorithm says it of others")
	*d = d.WithNote(m.prog.channels.First, "the first statement at the level of channels is here")
	d.Hint = "tb = N says it; a channel's put and get go to another rank"
}

// rankAt checks that rank exists.
func (m *machine) rankAt(rank int64, span diag.Span) bool {
	if n := int64(m.prog.coll.Ranks); rank < 0 || rank >= n {
		m.fault(diag.OutOfBounds, span, "rank %d does not exist: ranks are 0 to %d", rank, n-1)
		return false
	}
	return true
}

// channelCall compiles channel(rank, peer, via = memory | port) and
// channel(rank, ranks, via = switch).
func (c *compiler) channelCall(args *syntax.Args, span diag.Span) code {
	bound := c.bind("channel", args.List, []string{"rank", "peer", "via"}, func(i int) bool { return i < 2 }, span, nil)
	if bound == nil {
		return c.badCode()
	}
	via := ir.ViaMemory
	if bound[2] != nil {
		via = c.via(bound[2])
	}
	m, rank := c.m, c.number(bound[0], kInt, "the rank")
	switch via {
	case ir.ViaAny: // reported
		c.expr(bound[1])
		return c.badCode()
	case ir.ViaSwitch:
		ranks := c.of(bound[1], kList, "what a switch channel connects")
		return code{kind: kChannel, num: number{run: func() int64 {
			r, list := rank.get(), ranks()
			if m.bad {
				return 0
			}
			return m.newSwitch(span, r, *list.list)
		}}}
	}
	peer, typ := c.number(bound[1], kInt, "the peer"), ir.MemoryChannel
	if via == ir.ViaPort {
		typ = ir.PortChannel
	}
	return code{kind: kChannel, num: number{run: func() int64 {
		r, q := rank.get(), peer.get()
		if m.bad {
			return 0
		}
		return m.newChannel(span, r, q, typ)
	}}}
}

// newChannel makes an end of a memory or port channel.
func (m *machine) newChannel(span diag.Span, rank, peer int64, via ir.ChannelType) int64 {
	if m.level(span) == nil || !m.rankAt(rank, span) || !m.rankAt(peer, span) {
		return 0
	}
	if rank == peer {
		m.fault(diag.Channel, span,
			"a channel from rank %d to itself: within a rank, thread blocks have semaphores and barriers", rank)
		return 0
	}
	return m.addEnd(channels.End{Rank: int32(rank), Peer: int32(peer), Via: via, Span: span})
}

// newSwitch makes an end of a switch channel.
func (m *machine) newSwitch(span diag.Span, rank int64, list []value) int64 {
	if m.level(span) == nil || !m.rankAt(rank, span) {
		return 0
	}
	e := channels.End{Rank: int32(rank), Peer: -1, Via: ir.SwitchChannel, Span: span}
	for i := range list {
		if v := &list[i]; v.kind != kInt {
			m.wrongKind(v.kind, kInt, "a rank", span)
			return 0
		} else if !m.rankAt(v.n, span) {
			return 0
		}
		e.Group = append(e.Group, int32(list[i].n))
	}
	slices.Sort(e.Group)
	switch {
	case len(slices.Compact(slices.Clone(e.Group))) != len(list):
		m.fault(diag.Channel, span, "a rank stands twice among those of a switch channel")
		return 0
	case !slices.Contains(e.Group, e.Rank):
		m.fault(diag.Channel, span, "rank %d is not among the ranks of its switch channel", rank)
		return 0
	}
	if !m.elements(len(list), len(list), span) {
		return 0
	}
	return m.addEnd(e)
}

// addEnd adds an end, and returns its number.
func (m *machine) addEnd(e channels.End) int64 {
	if !m.elements(0, 8, e.Span) {
		return 0
	}
	return m.prog.channels.Connect(e)
}
