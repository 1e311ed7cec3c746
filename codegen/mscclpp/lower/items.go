package lower

import (
	"slices"

	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// flags finds who signals each flag, and between which ranks ports put: there they signal too, since that comes after
// what they put. Between nodes they always do.
func (x *maker) flags() {
	o, ported := x.p, map[[2]int32]int32{}
	x.flagged, x.ports = make([][]flag, len(o.Flags)), map[[2]int32]*flag{}
	for r, n := range o.Flags {
		x.flagged[r] = make([]flag, n)
	}
	signals := 0
	for i := range x.p.Blocks {
		b := &x.p.Blocks[i]
		steps := x.p.StepsOf(b)
		for k := range steps {
			for _, d := range o.Dests(&steps[k]) {
				switch {
				case d.Buf == ir.Flags:
					f := x.flag(d)
					if f.signalled == 0 {
						f.from, f.to = b.Rank, d.Rank
						x.all = append(x.all, f)
					}
					f.signalled++
					signals++
				case d.Via == ir.ViaPort && d.Rank != b.Rank:
					if pair := [2]int32{b.Rank, d.Rank}; d.Buf == ir.Packets {
						ported[pair] += 0 // they come by themselves
					} else {
						ported[pair] += steps[k].Count
					}
				}
			}
		}
	}
	room := make([]int32, 3*signals)
	for _, f := range x.all {
		n := int(f.signalled)
		f.signals, f.channels, f.awaits, room = room[:n:n], room[n:2*n:2*n], room[2*n:2*n:3*n], room[3*n:]
		pair := [2]int32{f.from, f.to}
		_, puts := ported[pair]
		if f.port = puts || x.node != nil && x.node[f.from] != x.node[f.to]; f.port {
			if x.ports[pair] == nil {
				x.ports[pair] = f
				f.puts = ported[pair]
			}
		}
	}
	x.countPorts(ported)
}

// flag returns the flag that an operand is.
func (x *maker) flag(d onesided.Operand) *flag { return &x.flagged[d.Rank][d.Index] }

// rank makes the items of a rank.
func (x *maker) rank(r int32) {
	x.own, x.dirty, x.meet = r, false, false
	steps := x.p.StepsOf(&x.p.TBsOf(int(r))[0])
	x.items[r] = make([]item, 0, len(steps)+len(steps)/4)
	for i := range steps {
		s := &steps[i]
		x.pos = s.Pos
		switch s.Op {
		case ir.Signal:
			// What signals release is over when the threads have met, unless there is nothing.
			x.meets((x.meeting || s.Flags&ir.Joint == 0) && x.dirty)
			x.sync(s, x.p.Dests(s))
		case ir.Await:
			// What comes before an await need not be over: the next block barrier is after both.
			x.sync(s, x.p.Sources(s))
			x.dirty = true
		case ir.Move:
			x.meets((x.meeting || s.Flags&ir.Joint == 0) && x.dirty)
			x.pieces(s)
		default:
			x.say(diag.Unsupported, "MSCCL++ has no operation %v", s.Op)
		}
	}
}

// meets has the threads synchronise before the next item, if so.
func (x *maker) meets(so bool) { x.meet = x.meet || so }

// add appends an item.
func (x *maker) add(it item) {
	it.meet = x.meet
	if x.meet {
		x.meet, x.dirty = false, false
	}
	it.op.Pos = x.pos
	x.items[x.own] = append(x.items[x.own], it)
}

// sync makes signals, or awaits, of a step's flags: those through ports and those through memory, as many at once as an
// operation has threads for. Those through ports are first: they join the puts before them, and the last waits until
// the port is done.
func (x *maker) sync(s *ir.Step, flags []onesided.Operand) {
	for _, port := range []bool{true, false} {
		it := item{op: ir.ChannelOp{Type: ir.MemoryChannel, Kind: ir.ChSignal}}
		if port {
			it.op.Type = ir.PortChannel
		}
		if s.Op == ir.Await {
			it.op.Kind = ir.ChAwait
		}
		if s.Flags&ir.Relaxed != 0 {
			it.op.Kind += ir.ChRelaxedSignal - ir.ChSignal
		}
		for _, d := range flags {
			f := x.flag(d)
			switch {
			case f.signalled == 0:
				x.say(diag.Unmatched, "flag %d of rank %d is awaited and never signalled", d.Index, d.Rank)
				return
			case f.port != port:
				continue
			case s.Op == ir.Signal:
				it.ends = append(it.ends, flagUse{f, f.raised})
				f.raised++
			case int(d.Nth) != len(f.awaits)+1:
				x.say(diag.Unsupported, "signal %d of a flag is awaited as number %d: a channel counts each", d.Nth,
					len(f.awaits)+1)
				return
			default:
				it.ends = append(it.ends, flagUse{f, int32(len(f.awaits))})
				f.awaits = append(f.awaits, 0)
			}
		}
		if port && it.op.Kind == ir.ChSignal {
			it.ends = x.puts(it.ends)
		}
		for part := range slices.Chunk(it.ends, ir.OpChannels) {
			one := it
			one.ends = part
			x.add(one)
		}
	}
}

// move appends an operation that moves data. Pairs that one operation can move join those before it.
func (x *maker) move(op ir.ChannelOp, ends ...flagUse) {
	list := x.items[x.own]
	if last := len(list) - 1; !x.meet && last >= 0 && op.Kind == ir.ChEach && op.Type == ir.MemoryChannel {
		if one, ok := list[last].op.Join(&op, x.own); ok {
			list[last].op, x.dirty = one, true
			return
		}
	}
	x.add(item{op: op, ends: ends})
	x.dirty = true
}

// ref returns an operand of the program of channels, n chunks from chunk at of d on. Memory of other ranks has the name
// that the plan gives it (NameLarger), as far as the collective has that chunk.
func (x *maker) ref(d onesided.Operand, at, n int32) ir.ChannelRef {
	r := ir.ChannelRef{Rank: d.Rank, Buf: d.Buf, Index: d.Index + at, Count: n}
	if d.Buf == ir.Packets {
		r.Buf, r.Packets = ir.Scratch, true
	}
	if d.Rank < 0 || d.Rank == x.own {
		return r
	}
	named := mscclpp.LargerName(x.p.Coll, r)
	has := x.p.Coll.InChunks(int(d.Rank))
	if named.Buf == ir.Output {
		has = x.p.Coll.OutChunks(int(d.Rank))
	}
	if int(named.Index+n) <= has {
		return named
	}
	return r
}

// temp is new plain scratch of the rank's own, tempPackets new packets there.
func (x *maker) temp(n int32) ir.ChannelRef {
	at := x.plain[x.own]
	x.plain[x.own] += n
	return ir.ChannelRef{Rank: x.own, Buf: ir.Scratch, Index: at, Count: n}
}

func (x *maker) tempPackets(n int32) ir.ChannelRef {
	at := x.packed[x.own]
	x.packed[x.own] += n
	return ir.ChannelRef{Rank: x.own, Buf: ir.Scratch, Packets: true, Index: at, Count: n}
}
