package lower

import (
	"slices"

	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// A channelMove is what is left to do of a Move: operands by what MSCCL++ distinguishes.
type channelMove struct {
	count                 int32
	local, far, packets   []ir.ChannelRef // sources: plain of the rank, plain of others, packets of the rank
	through               []ir.ChannelRef // through the switch
	here, there, sent, to []ir.ChannelRef // destinations: plain of the rank and of others, packets of others, the switch
	kept                  []ir.ChannelRef // packets of the rank
	put, putPackets       []ir.ChannelRef // through ports: plain, packets
}

// piece makes the operations of count chunks of a Move, from chunk at on.
func (x *maker) piece(s *ir.Step, at, count int32) {
	m := channelMove{count: count}
	for _, d := range x.p.Sources(s) {
		r := x.ref(d, at, count)
		switch {
		case r.Rank == ir.AllRanks:
			m.through = append(m.through, r)
		case r.Rank != x.own:
			m.far = append(m.far, r)
		case r.Packets:
			m.packets = append(m.packets, r)
		default:
			m.local = append(m.local, r)
		}
	}
	for _, d := range x.p.Dests(s) {
		r := x.ref(d, at, count)
		list := &m.here
		switch port := d.Via == ir.ViaPort && r.Rank != x.own; {
		case r.Rank == ir.AllRanks:
			list = &m.to
		case port && r.Packets:
			list = &m.putPackets
		case port:
			list = &m.put
		case r.Rank != x.own && r.Packets:
			list = &m.sent
		case r.Rank != x.own:
			list = &m.there
		case r.Packets:
			list = &m.kept
		}
		*list = append(*list, r)
	}
	switch sources := len(m.local) + len(m.far) + len(m.packets); {
	case len(m.through) > 0:
		x.throughSwitch(&m, sources)
	case sources > 1:
		x.fold(&m)
	case len(m.packets) == 1:
		x.forward(&m)
	case len(m.far) == 1:
		x.fetch(&m)
	default:
		x.send(&m, m.local[0])
	}
}

// throughSwitch reduces through the switch, and back: MSCCL++ loads no sum but to store it so.
func (x *maker) throughSwitch(m *channelMove, others int) {
	if others > 0 || len(m.through) != 1 || len(m.to) != 1 {
		d := x.say(diag.Unsupported,
			"MSCCL++ has no operation that loads a sum through the switch, unless it stores it through the switch too")
		d.Hint = "copy the sum to all ranks through the switch (via = switch), or reduce without it"
		return
	}
	dst := m.to[0]
	m.to = nil
	x.move(ir.ChannelOp{Kind: ir.ChMove, Type: ir.SwitchChannel, Srcs: m.through, Dsts: []ir.ChannelRef{dst}})
	if m.left() {
		dst.Rank = x.own
		x.meets(true)
		x.send(m, dst)
	}
}

// left reports whether m has destinations yet.
func (m *channelMove) left() bool {
	return len(m.here)+len(m.there)+len(m.sent)+len(m.to)+len(m.kept)+len(m.put)+len(m.putPackets) > 0
}

// send copies a chunk of the rank's own to all destinations.
func (x *maker) send(m *channelMove, src ir.ChannelRef) {
	one := []ir.ChannelRef{src}
	pairs := func(t ir.ChannelType, list []ir.ChannelRef) {
		for _, d := range list {
			x.move(ir.ChannelOp{Kind: ir.ChEach, Type: t, Srcs: slices.Clone(one), Dsts: []ir.ChannelRef{d}})
		}
	}
	own := func(t ir.ChannelType, list []ir.ChannelRef) {
		for _, d := range list {
			if d != src {
				x.move(ir.ChannelOp{Kind: ir.ChMove, Type: t, Srcs: one, Dsts: []ir.ChannelRef{d}})
			}
		}
	}
	if len(m.put) > 0 {
		from := []ir.ChannelRef{x.staged(src)}
		for _, d := range m.put {
			x.move(ir.ChannelOp{Kind: ir.ChEach, Type: ir.PortChannel, Srcs: from, Dsts: []ir.ChannelRef{d}},
				x.after(d.Rank, m.count))
		}
	}
	pairs(ir.MemoryChannel, m.sent)
	pairs(ir.MemoryChannel, m.there)
	packets := func(d ir.ChannelRef) bool { return d.Packets }
	own(ir.SwitchChannel, slices.DeleteFunc(slices.Clone(m.to), packets))
	own(ir.NoChannel, m.here)
	own(ir.NoChannel, m.kept)
	if m.putPackets = x.putsToo(src, m.putPackets); len(m.putPackets) > 0 || slices.ContainsFunc(m.to, packets) {
		packed := x.tempPackets(m.count)
		x.move(ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel, Srcs: one, Dsts: []ir.ChannelRef{packed}})
		x.relay(m, packed)
	}
}

// relay puts packets of the rank through ports and through the switch.
func (x *maker) relay(m *channelMove, src ir.ChannelRef) {
	m.to = slices.DeleteFunc(m.to, func(d ir.ChannelRef) bool {
		if d.Packets {
			x.move(ir.ChannelOp{Kind: ir.ChMove, Type: ir.SwitchChannel, Srcs: []ir.ChannelRef{src}, Dsts: []ir.ChannelRef{d}})
		}
		return d.Packets
	})
	for part := range slices.Chunk(m.putPackets, ir.OpChannels) {
		puts := make([]int32, len(part))
		for i, d := range part {
			puts[i] = d.Rank
		}
		x.add(item{op: ir.ChannelOp{Kind: ir.ChMove, Type: ir.PortChannel, Srcs: []ir.ChannelRef{src},
			Dsts: slices.Clone(part)}, puts: puts})
		x.dirty = true
	}
}

// putsToo has the last item, if it puts packets that were made of src, put them to more destinations. It returns those
// for which there is no room.
func (x *maker) putsToo(src ir.ChannelRef, dsts []ir.ChannelRef) []ir.ChannelRef {
	list := x.items[x.own]
	last := len(list) - 1
	if x.meet || last < 1 || len(list[last].puts) == 0 || len(list[last-1].op.Srcs) != 1 ||
		list[last-1].op.Srcs[0] != src || list[last-1].op.Dsts[0] != list[last].op.Srcs[0] {
		return dsts
	}
	it := &list[last]
	n := min(len(dsts), ir.OpChannels-len(it.puts))
	for _, d := range dsts[:n] {
		it.op.Dsts, it.puts = append(it.op.Dsts, d), append(it.puts, d.Rank)
	}
	return dsts[n:]
}

// forward passes packets on: to others first.
func (x *maker) forward(m *channelMove) {
	src := m.packets[0]
	if x.meeting {
		x.unpack(m, src)
		return
	}
	for part := range slices.Chunk(m.sent, ir.OpOperands) {
		x.move(ir.ChannelOp{Kind: ir.ChMove, Type: ir.MemoryChannel, Srcs: []ir.ChannelRef{src}, Dsts: part})
	}
	x.relay(m, src)
	m.sent, m.putPackets = nil, nil
	for _, d := range m.here {
		x.move(ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel, Srcs: []ir.ChannelRef{src}, Dsts: []ir.ChannelRef{d}})
	}
	plain := m.here
	if m.here = nil; !m.left() {
		return
	}
	if len(plain) > 0 {
		x.meets(true)
		x.send(m, plain[0])
		return
	}
	x.unpack(m, src)
}

// unpack makes plain data of packets, and sends that to all other destinations.
func (x *maker) unpack(m *channelMove, src ir.ChannelRef) {
	plain := ir.ChannelRef{}
	if len(m.here) > 0 {
		plain, m.here = m.here[0], m.here[1:]
	} else {
		plain = x.temp(m.count)
	}
	x.move(ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel, Srcs: []ir.ChannelRef{src}, Dsts: []ir.ChannelRef{plain}})
	if m.left() {
		x.meets(true)
		x.send(m, plain)
	}
}

// fetch reads a chunk of another rank. The executor's get exchanges the indices at both ends, and is right where these
// are equal.
func (x *maker) fetch(m *channelMove) {
	far := mscclpp.LargerName(x.p.Coll, m.far[0])
	i := slices.IndexFunc(m.here, func(d ir.ChannelRef) bool { return d.Index == far.Index })
	if i < 0 {
		to := slices.Concat(m.here, m.kept, m.there, m.sent, m.put, m.putPackets, m.to)[0]
		x.say(diag.Unsupported,
			"MSCCL++'s get goes wrong between %s[%d] of rank %d and %s[%d] of rank %d: it exchanges the two indices",
			far.Buf, far.Index, far.Rank, to.Buf, to.Index, to.Rank).Hint = "have the owner write it: leave out pull"
		return
	}
	to := m.here[i]
	m.here = slices.Delete(m.here, i, i+1)
	x.move(ir.ChannelOp{Kind: ir.ChEach, Type: ir.MemoryChannel, Srcs: m.far, Dsts: []ir.ChannelRef{to}})
	if m.left() {
		x.meets(true)
		x.send(m, to)
	}
}

// fold sums: what is plain here first, then what others have, then packets; the last operation sends the sum on.
// Packets may signal that a destination can be written, so that where there are some it is written by the last
// operation alone.
func (x *maker) fold(m *channelMove) {
	sum := x.sum(m)
	list := slices.Clone(m.local)
	var so ir.ChannelRef // what is summed so far, where that is not in the sum's place
	partial := func() ir.ChannelRef {
		if len(m.packets) == 0 {
			return sum
		}
		if so.Count == 0 {
			so = x.temp(m.count)
		}
		return so
	}
	stage := func(rest []ir.ChannelRef, t ir.ChannelType, last bool) {
		if len(rest) > 0 && len(list) == 0 { // the first has nothing to be added to
			first := channelMove{count: m.count, here: []ir.ChannelRef{partial()}}
			if rest[0].Packets {
				first.packets = rest[:1]
				x.forward(&first)
			} else {
				first.far = rest[:1]
				x.fetch(&first)
			}
			list, rest = []ir.ChannelRef{partial()}, rest[1:]
			x.meets(true)
		}
		for len(rest) > 0 {
			n := min(len(rest), ir.OpOperands-1)
			op := ir.ChannelOp{Kind: ir.ChMove, Type: t, Srcs: append(slices.Clone(list[:1]), rest[:n]...),
				Dsts: []ir.ChannelRef{sum}}
			if rest = rest[n:]; last && len(rest) == 0 {
				x.sendsToo(m, &op)
			} else {
				op.Dsts[0] = partial()
			}
			x.move(op)
			list[0] = op.Dsts[0]
			x.meets(len(rest) > 0 || !last)
		}
	}
	if len(list) > 1 {
		rest := list[1:]
		list = list[:1]
		stage(rest, ir.NoChannel, len(m.far)+len(m.packets) == 0)
	}
	stage(m.far, ir.MemoryChannel, len(m.packets) == 0)
	stage(m.packets, ir.NoChannel, true)
	m.here = slices.DeleteFunc(m.here, func(d ir.ChannelRef) bool { return d == sum })
	if m.left() {
		x.meets(true)
		x.send(m, sum)
	}
}

// sum returns where the sum is made: in a destination, unless that is a source which the first operation does not read,
// or in scratch.
func (x *maker) sum(m *channelMove) ir.ChannelRef {
	cell := func(r ir.ChannelRef) int { return x.cells.Cell(int(r.Rank), r.Buf, int(r.Index)) }
	for _, d := range m.here {
		later := m.local[min(len(m.local), ir.OpOperands):]
		if !slices.ContainsFunc(later, func(r ir.ChannelRef) bool { return cell(r) == cell(d) }) {
			return d
		}
	}
	return x.temp(m.count)
}

// sendsToo has the last operation of a sum send it to others, as far as there is one that does.
func (x *maker) sendsToo(m *channelMove, op *ir.ChannelOp) {
	list := &m.there
	if op.Srcs[1].Packets {
		list = &m.sent
	}
	n := min(len(*list), ir.OpOperands-1)
	if n > 0 {
		op.Type = ir.MemoryChannel
		op.Dsts = append(op.Dsts, (*list)[:n]...)
		*list = (*list)[n:]
	}
}
