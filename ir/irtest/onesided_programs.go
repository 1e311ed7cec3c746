package irtest

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// AllPairsPackets returns the allreduce in which each rank sums one chunk, by packets.
func AllPairsPackets(ranks, depth int) *either.Program {
	b := NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, ir.LL, depth,
		0, 2*ranks, 0)
	for r := range ranks {
		b.Block(r)
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.Move(1, Operands(ChunkOf(r, ir.Input, q)), Operands(ChunkOf(q, ir.Packets, r)), JointFrom(k-1)...)
		}
		mine := ChunkOf(r, ir.Input, r)
		b.Move(1, append(Operands(mine), ToOthers(ranks, r, func(q int) onesided.Operand {
			return ChunkOf(r, ir.Packets, q)
		})...),
			append(Operands(ChunkOf(r, ir.Output, r)),
				ToOthers(ranks, r, func(q int) onesided.Operand { return ChunkOf(q, ir.Packets, ranks+r) })...), ir.Joint)
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.Move(1, Operands(ChunkOf(r, ir.Packets, ranks+q)), Operands(ChunkOf(r, ir.Output, q)), JointFrom(k-1)...)
		}
	}
	return b.Done()
}

// OnePhase returns the allreduce in which every rank sums all, by packets, out of
// place.
func OnePhase(ranks, depth int) *either.Program {
	b := NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 1}, ir.LL16, depth, 0, ranks, 0)
	for r := range ranks {
		b.Block(r)
		b.Move(1, Operands(ChunkOf(r, ir.Input, 0)),
			ToOthers(ranks, r, func(q int) onesided.Operand { return ChunkOf(q, ir.Packets, r) }))
		b.Move(1, append(Operands(ChunkOf(r, ir.Input, 0)),
			ToOthers(ranks, r, func(q int) onesided.Operand { return ChunkOf(r, ir.Packets, q) })...),
			Operands(ChunkOf(r, ir.Output, 0)), ir.Joint)
	}
	return b.Done()
}

// AllPairsPlain is AllPairsPackets by plain scratch and flags, with the sums
// stored to the others' outputs.
func AllPairsPlain(ranks, depth int) *either.Program {
	b := NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, ir.Simple, depth,
		ranks, 0, 4*ranks)
	for r := range ranks {
		b.Block(r)
		to := func(set int) []onesided.Operand {
			return ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(q, set*ranks+r, 0) })
		}
		from := func(set int) []onesided.Operand {
			return ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(r, set*ranks+q, 1) })
		}
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.Move(1, Operands(ChunkOf(r, ir.Input, q)), Operands(ChunkOf(q, ir.Scratch, r)), JointFrom(k-1)...)
		}
		b.Signal(to(2), ir.Enter)
		b.Signal(to(0))
		b.Await(from(2), ir.Enter)
		b.Await(from(0))
		mine := ChunkOf(r, ir.Input, r)
		b.Move(1, append(Operands(mine), ToOthers(ranks, r, func(q int) onesided.Operand {
			return ChunkOf(r, ir.Scratch, q)
		})...),
			append(Operands(ChunkOf(r, ir.Output, r)),
				ToOthers(ranks, r, func(q int) onesided.Operand { return ChunkOf(q, ir.Output, r) })...))
		b.Signal(to(1))
		b.Await(from(1))
		b.Signal(to(3), ir.Leave)
		b.Await(from(3), ir.Leave)
	}
	return b.Done()
}

// GatherPush returns the allgather in which each rank stores what it has to all.
func GatherPush(ranks int) *either.Program {
	b := NewOneSided(ir.Collective{Kind: ir.AllGather, Ranks: ranks, Chunks: 1}, ir.Simple, 1, 0, 0, 2*ranks)
	for r := range ranks {
		b.Block(r)
		b.Signal(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(q, r, 0) }), ir.Enter)
		b.Await(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(r, q, 1) }), ir.Enter)
		b.Move(1, Operands(ChunkOf(r, ir.Input, 0)), append(Operands(ChunkOf(r, ir.Output, r)),
			ToOthers(ranks, r, func(q int) onesided.Operand { return ChunkOf(q, ir.Output, r) })...))
		b.Signal(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(q, ranks+r, 0) }), ir.Leave)
		b.Await(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(r, ranks+q, 1) }), ir.Leave)
	}
	return b.Done()
}

// Chain returns the broadcast from rank to rank by packets, whose receivers give
// credit.
func Chain(ranks, depth int) *either.Program {
	b := NewOneSided(ir.Collective{Kind: ir.Broadcast, Ranks: ranks, Chunks: 1}, ir.LL128, depth, 0, 1, 1)
	for r := range ranks {
		b.Block(r)
		if r < ranks-1 {
			b.Await(Operands(FlagOf(r, 0, 1-depth)))
		}
		from, to := ChunkOf(r, ir.Packets, 0), Operands(ChunkOf(r, ir.Output, 0))
		if r == 0 {
			from = ChunkOf(r, ir.Input, 0)
		}
		if r < ranks-1 {
			to = append(to, ChunkOf(r+1, ir.Packets, 0))
		}
		b.Move(1, Operands(from), to)
		if r > 0 {
			b.Signal(Operands(FlagOf(r-1, 0, 0)))
		}
	}
	return b.Done()
}

// RingPackets returns the allreduce around a ring by packets, a slot a step.
func RingPackets(ranks, depth int) *either.Program { return ring(ranks, depth, ir.Packets) }

// RingPlain is RingPackets by plain scratch and a flag of each rank.
func RingPlain(ranks, depth int) *either.Program { return ring(ranks, depth, ir.Scratch) }

// ring passes chunks on through slots in buf: packets, or scratch, each use of which a flag orders.
func ring(ranks, depth int, buf ir.Buf) *either.Program {
	plain, protocol, scratch, packets, flags := buf == ir.Scratch, ir.LL128, 0, 2*ranks, 0
	if plain {
		protocol, scratch, packets, flags = ir.Simple, 2*ranks, 0, 1
	}
	b := NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, protocol, depth,
		scratch, packets, flags)
	for r := range ranks {
		b.Block(r)
		next := (r + 1) % ranks
		for k := range 2*ranks - 1 {
			c := ((r-k)%ranks + 2*ranks) % ranks
			mine, in, out := ChunkOf(r, ir.Input, c), ChunkOf(r, buf, k-1), ChunkOf(next, buf, k)
			if plain && k > 0 {
				b.Await(Operands(FlagOf(r, 0, k)))
			}
			switch {
			case k == 0:
				b.Move(1, Operands(mine), Operands(out))
			case k < ranks-1:
				b.Move(1, Operands(mine, in), Operands(out))
			case k == ranks-1:
				b.Move(1, Operands(mine, in), Operands(mine, out))
			case k < 2*ranks-2:
				b.Move(1, Operands(in), Operands(mine, out))
			default:
				b.Move(1, Operands(in), Operands(mine))
			}
			if plain && k < 2*ranks-2 {
				b.Signal(Operands(FlagOf(next, 0, 0)))
			}
		}
	}
	return b.Done()
}

// ThroughSwitch returns the allreduce in which each rank has the switch sum one chunk and
// write it to all.
func ThroughSwitch(ranks int) *either.Program {
	b := NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, ir.Simple, 1,
		0, 0, 2*ranks)
	for r := range ranks {
		b.Block(r)
		b.Signal(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(q, r, 0) }), ir.Enter)
		b.Await(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(r, q, 1) }), ir.Enter)
		all := ChunkOf(ir.AllRanks, ir.Input, r)
		b.Move(1, Operands(all), Operands(all))
		b.Signal(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(q, ranks+r, 0) }), ir.Leave)
		b.Await(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(r, ranks+q, 1) }), ir.Leave)
	}
	return b.Done()
}

// SwitchToEach returns the allreduce in which every rank has the switch sum all for itself.
func SwitchToEach(ranks int) *either.Program {
	b := NewOneSided(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 1}, ir.Simple, 1, 0, 0, 2*ranks)
	for r := range ranks {
		b.Block(r)
		b.Signal(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(q, r, 0) }), ir.Enter)
		b.Await(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(r, q, 1) }), ir.Enter)
		b.Move(1, Operands(ChunkOf(ir.AllRanks, ir.Input, 0)), Operands(ChunkOf(r, ir.Output, 0)))
		b.Signal(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(q, ranks+r, 0) }), ir.Leave)
		b.Await(ToOthers(ranks, r, func(q int) onesided.Operand { return FlagOf(r, ranks+q, 1) }), ir.Leave)
	}
	return b.Done()
}

// OneGroup is AllPairsPackets without a barrier: what a rank unpacks in place has
// come round from what it put there.
func OneGroup(ranks int) *either.Program {
	p := AllPairsPackets(ranks, 2)
	for b := range p.Blocks {
		for i := p.Blocks[b].Steps.First + 1; i < p.Blocks[b].Steps.End; i++ {
			p.Steps[i].Flags |= ir.Joint
		}
	}
	return p
}

// Forwarded passes packets around in one copy: who sends first learns in the
// pass before that its packets were read, by packets that a third rank has passed on.
func Forwarded() *either.Program {
	b := NewOneSided(ir.Collective{Kind: ir.Opaque, Ranks: 3, Chunks: 1, In: 1, Out: 1}, ir.LL, 1, 0, 1, 0)
	b.Block(0)
	b.Move(1, Operands(ChunkOf(0, ir.Packets, 0)), Operands(ChunkOf(0, ir.Output, 0)))
	b.Move(1, Operands(ChunkOf(0, ir.Input, 0)), Operands(ChunkOf(1, ir.Packets, 0)))
	b.Block(1)
	b.Move(1, Operands(ChunkOf(1, ir.Packets, 0)), Operands(ChunkOf(2, ir.Packets, 0)))
	b.Block(2)
	b.Move(1, Operands(ChunkOf(2, ir.Input, 0)), Operands(ChunkOf(0, ir.Packets, 0)))
	b.Move(1, Operands(ChunkOf(2, ir.Packets, 0)), Operands(ChunkOf(2, ir.Output, 0)))
	return b.Done()
}
