package channels

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// ports makes the blocks of a rank's ports: one for each channel that a block puts through, or flushes, which does in
// its order what the block asks of it, and what it signals there.
func (u *unroller) ports(r int32) {
	for b, ops := range u.p.Ranks[r].Blocks {
		k := u.blocks[r][b]
		for i := range ops {
			for _, o := range append([]ir.ChannelOp{ops[i]}, ops[i].Body...) {
				if info := o.Kind.Info(); o.Type != ir.PortChannel || !info.Moves && !info.Flushes {
					continue
				}
				for _, c := range o.Channels {
					if k.ports[c] == nil {
						k.ports[c] = &unrolled{rank: r, owner: int32(b)}
						u.blocks[r] = append(u.blocks[r], k.ports[c])
					}
				}
			}
		}
	}
}

// A request is what a thread of a block asks the port of a channel to do.
type request struct {
	channel, thread int32
	steps           []unrolledStep
}

// putKey returns the flag by which a thread of a block signals a request to the port of a channel.
func putKey(k *unrolled, c, thread int32) endKey {
	return endKey{kind: putEnd, rank: k.rank, a: k.owner, b: c, thread: thread}
}

// ask has threads of a block ask its ports.
func (u *unroller) ask(k *unrolled, list []request) {
	s := unrolledStep{op: ir.Signal}
	for _, x := range list {
		s.dsts = append(s.dsts, u.raise(k, putKey(k, x.channel, x.thread)))
	}
	u.push(k, s, list)
}

// push appends the Signal of a block by which its threads ask ports, thread i by destination i, and the ports' steps.
// What one thread asks for is done in that order, as is what comes after a meeting of the threads; what several ask
// for between two meetings is in no order, so that the port's steps of then are joint.
func (u *unroller) push(k *unrolled, s unrolledStep, list []request) {
	if len(s.dsts) == 0 {
		return
	}
	u.add(k, s)
	for _, x := range list {
		u.queue(k, k.ports[x.channel], x)
	}
}

// queue appends to a port's steps what a thread asks for.
func (u *unroller) queue(k, port *unrolled, x request) {
	port.at, port.pos = k.at, k.pos
	switch {
	case len(port.steps) == 0 || port.asked.group != k.group:
		port.asked = asked{group: k.group, thread: x.thread, first: len(port.steps) + 1}
	case port.asked.thread != x.thread && !port.asked.mixed:
		port.asked.mixed = true
		for i := port.asked.first + 1; i < len(port.steps); i++ {
			port.steps[i].flags |= ir.Joint
		}
	}
	taken := u.take(port, putKey(k, x.channel, x.thread), 0)
	steps := append([]unrolledStep{{op: ir.Await, srcs: []onesided.Operand{taken}}}, x.steps...)
	for _, s := range steps {
		if !port.asked.mixed {
			u.alone(port, s)
			continue
		}
		port.open = true
		u.add(port, s)
	}
}

// flush has a thread of a block for each channel wait until what was put through it has left.
func (u *unroller) flush(k *unrolled, channels []int32) {
	s := unrolledStep{op: ir.Await}
	var list []request
	for i, c := range channels {
		port, key := k.ports[c], endKey{kind: doneEnd, rank: k.rank, a: k.owner, b: c, thread: int32(i)}
		port.at, port.pos = k.at, k.pos
		raised := []onesided.Operand{u.raise(port, key)}
		list = append(list, request{c, int32(i), []unrolledStep{{op: ir.Signal, dsts: raised}}})
		s.srcs = append(s.srcs, u.take(k, key, 0))
	}
	u.ask(k, list)
	if len(s.srcs) > 0 {
		u.add(k, s)
	}
}

// move appends what an operation moves: n parts of its operands, from one on.
func (u *unroller) move(k *unrolled, o *ir.ChannelOp, at, n int32) {
	operands := func(list []ir.ChannelRef) (out []onesided.Operand) {
		for i := range list {
			out = append(out, u.operands(k, o, &list[i], at)...)
		}
		return out
	}
	switch info := o.Kind.Info(); {
	case o.Type == ir.PortChannel:
		u.put(k, o, at, n)
	case info.Signals:
		u.say(k, diag.Unsupported, "signals after its data, which only ports do")
	case !info.Pairs:
		u.add(k, unrolledStep{op: info.Step, count: n, srcs: operands(o.Srcs), dsts: operands(o.Dsts)})
	default:
		for i := range o.Srcs {
			pair := u.pairSpan(o, i, at, n)
			u.add(k, unrolledStep{op: info.Step, count: pair, srcs: u.operands(k, o, &o.Srcs[i], at),
				dsts: u.operands(k, o, &o.Dsts[i], at)})
		}
	}
}

// pairSpan returns how many parts of pair i are moved: those of ChEach may have several sizes, where they are not cut.
func (u *unroller) pairSpan(o *ir.ChannelOp, i int, at, n int32) int32 {
	if o.Srcs[i].Count == o.Srcs[0].Count {
		return n
	}
	return o.Srcs[i].Count * u.parts
}

// put has ports copy. Packets that must have come first the block itself awaits, all its threads, which then meet.
func (u *unroller) put(k *unrolled, o *ir.ChannelOp, at, n int32) {
	if len(o.Channels) != len(o.Dsts) {
		u.say(k, diag.Malformed, "has %d destinations through %d port channels", len(o.Dsts), len(o.Channels))
		return
	}
	if src := &o.Srcs[0]; o.Kind == ir.ChMove && src.Packets {
		u.add(k, unrolledStep{op: ir.Move, count: n, srcs: u.operands(k, o, src, at), waits: true})
		k.open = false
	}
	var list []request
	for i, c := range o.Channels {
		src, dst := &o.Srcs[min(i, len(o.Srcs)-1)], &o.Dsts[i]
		switch {
		case o.Kind == ir.ChMove && len(o.Srcs) > 1:
			u.say(k, diag.Unsupported, "combines what it moves through ports, which only copy")
			return
		case dst.Rank != u.p.Ranks[k.rank].Channels[ir.PortChannel][c].Peer || src.Rank != k.rank:
			u.say(k, diag.Malformed, "moves data of rank %d to rank %d through a port of rank %d to rank %d", src.Rank,
				dst.Rank, k.rank, u.p.Ranks[k.rank].Channels[ir.PortChannel][c].Peer)
			return
		}
		port := k.ports[c]
		port.at, port.pos = k.at, k.pos
		steps := []unrolledStep{{op: ir.Move, lies: src.Packets && o.Kind != ir.ChMove,
			count: u.pairSpan(o, min(i, len(o.Srcs)-1), at, n), srcs: u.operands(k, o, src, at),
			dsts: u.operands(k, o, dst, at)}}
		if o.Kind.Info().Signals {
			steps = append(steps,
				unrolledStep{op: ir.Signal, dsts: []onesided.Operand{u.raise(port, u.there(k.rank, ir.PortChannel, c))}})
		}
		list = append(list, request{c, int32(i), steps})
	}
	u.ask(k, list)
	if o.Kind.Info().Flushes {
		u.flush(k, o.Channels)
	}
}

// operands returns the operands of a Move that a reference is: one, but of packets through the switch, and of a group
// that is not of all ranks, which the switch of a one-sided program does not have, one of each rank.
func (u *unroller) operands(k *unrolled, o *ir.ChannelOp, x *ir.ChannelRef, at int32) []onesided.Operand {
	buf, via := x.Buf, ir.ViaAny
	if x.Packets {
		buf = ir.Packets
	}
	index := x.Index*u.parts + at
	if x.Rank == ir.AllRanks {
		group := slices.Sorted(slices.Values(u.ranksOf(k.rank, x)))
		if !x.Packets && len(slices.Compact(group)) == len(u.p.Ranks) {
			return []onesided.Operand{{Rank: ir.AllRanks, Index: index, Buf: buf, Via: ir.ViaSwitch}}
		}
		var list []onesided.Operand
		for _, r := range slices.Compact(group) {
			list = append(list, onesided.Operand{Rank: r, Index: index, Buf: buf})
		}
		return list
	}
	if o.Type == ir.PortChannel && x.Rank != k.rank {
		via = ir.ViaPort
	} else if x.Rank != k.rank {
		via = ir.ViaMemory
	}
	return []onesided.Operand{{Rank: x.Rank, Index: index, Buf: buf, Via: via}}
}
