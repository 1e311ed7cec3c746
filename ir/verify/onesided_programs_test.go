package verify_test

import "mscclc/ir"

// A oneSided makes one-sided programs, block by block in the order of ranks.
type oneSided struct{ p *ir.Program }

// oneSidedOf begins a program of coll.
func oneSidedOf(coll ir.Collective, protocol ir.Protocol, depth, scratch, packets, flags int) *oneSided {
	p := &ir.Program{Header: ir.Header{Name: "one-sided", Coll: &coll, Protocol: protocol}, Channels: 1,
		OneSided: &ir.OneSided{Depth: int32(depth)}}
	for range coll.Ranks {
		p.Scratch = append(p.Scratch, int32(scratch))
		p.OneSided.Packets = append(p.OneSided.Packets, int32(packets))
		p.OneSided.Flags = append(p.OneSided.Flags, int32(flags))
	}
	return &oneSided{p}
}

// block begins a block of a rank.
func (b *oneSided) block(rank int) {
	for len(b.p.Rank) <= rank {
		at := int32(len(b.p.Blocks))
		b.p.Rank = append(b.p.Rank, ir.Range{First: at, End: at})
	}
	b.p.Rank[rank].End++
	at := int32(len(b.p.Steps))
	b.p.Blocks = append(b.p.Blocks, ir.TB{Block: ir.Block{Rank: int32(rank), SendPeer: -1, RecvPeer: -1},
		Steps: ir.Range{First: at, End: at}})
}

// done returns the program.
func (b *oneSided) done() *ir.Program {
	for len(b.p.Rank) < b.p.Coll.Ranks {
		at := int32(len(b.p.Blocks))
		b.p.Rank = append(b.p.Rank, ir.Range{First: at, End: at})
	}
	return b.p
}

func (b *oneSided) step(op ir.Op, count int, srcs, dsts []ir.Operand, marks []ir.StepFlags) {
	s := ir.Step{Op: op, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Count: int32(count), DepBlock: -1, DepStep: -1, Pos: -1}
	for _, m := range marks {
		s.Flags |= m
	}
	o := b.p.OneSided
	s.Src, s.NSrc = int32(len(o.Operands)), int16(len(srcs))
	s.Dst, s.NDst = s.Src+int32(len(srcs)), int16(len(dsts))
	o.Operands = append(append(o.Operands, srcs...), dsts...)
	b.p.Steps = append(b.p.Steps, s)
	b.p.Blocks[len(b.p.Blocks)-1].Steps.End++
}

// move moves count chunks; the class is that of the first operand in input or output.
func (b *oneSided) move(count int, srcs, dsts []ir.Operand, marks ...ir.StepFlags) {
	b.step(ir.Move, count, srcs, dsts, marks)
	for _, x := range append(append([]ir.Operand{}, dsts...), srcs...) {
		if x.Buf <= ir.Output {
			b.p.Steps[len(b.p.Steps)-1].Class = int32(b.p.Coll.Class(int(x.Index)))
		}
	}
}

func (b *oneSided) signal(flags []ir.Operand, marks ...ir.StepFlags) {
	b.step(ir.Signal, 0, nil, flags, marks)
}
func (b *oneSided) await(flags []ir.Operand, marks ...ir.StepFlags) {
	b.step(ir.Await, 0, flags, nil, marks)
}

func chunkOf(rank int, buf ir.Buf, index int) ir.Operand {
	x := ir.Operand{Rank: int32(rank), Buf: buf, Index: int32(index)}
	if rank == ir.AllRanks {
		x.Via = ir.ViaSwitch
	}
	return x
}

func chunks(list ...ir.Operand) []ir.Operand { return list }

func flagOf(rank, index, nth int) ir.Operand {
	return ir.Operand{Rank: int32(rank), Buf: ir.Flags, Index: int32(index), Nth: int32(nth)}
}

// toOthers lists what f gives for the ranks but r, from the next on.
func toOthers(ranks, r int, f func(q int) ir.Operand) (list []ir.Operand) {
	for k := 1; k < ranks; k++ {
		list = append(list, f((r+k)%ranks))
	}
	return list
}

// jointFrom marks all moves but the first as joint.
func jointFrom(k int) []ir.StepFlags {
	if k > 0 {
		return []ir.StepFlags{ir.Joint}
	}
	return nil
}

// allPairsPackets is the allreduce in which each rank sums one chunk, by packets.
func allPairsPackets(ranks, depth int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, ir.LL, depth,
		0, 2*ranks, 0)
	for r := range ranks {
		b.block(r)
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.move(1, chunks(chunkOf(r, ir.Input, q)), chunks(chunkOf(q, ir.Packets, r)), jointFrom(k-1)...)
		}
		mine := chunkOf(r, ir.Input, r)
		b.move(1, append(chunks(mine), toOthers(ranks, r, func(q int) ir.Operand { return chunkOf(r, ir.Packets, q) })...),
			append(chunks(chunkOf(r, ir.Output, r)),
				toOthers(ranks, r, func(q int) ir.Operand { return chunkOf(q, ir.Packets, ranks+r) })...), ir.Joint)
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.move(1, chunks(chunkOf(r, ir.Packets, ranks+q)), chunks(chunkOf(r, ir.Output, q)), jointFrom(k-1)...)
		}
	}
	return b.done()
}

// onePhase is the allreduce in which every rank sums all, by packets, out of
// place.
func onePhase(ranks, depth int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 1}, ir.LL16, depth, 0, ranks, 0)
	for r := range ranks {
		b.block(r)
		b.move(1, chunks(chunkOf(r, ir.Input, 0)),
			toOthers(ranks, r, func(q int) ir.Operand { return chunkOf(q, ir.Packets, r) }))
		b.move(1, append(chunks(chunkOf(r, ir.Input, 0)),
			toOthers(ranks, r, func(q int) ir.Operand { return chunkOf(r, ir.Packets, q) })...),
			chunks(chunkOf(r, ir.Output, 0)), ir.Joint)
	}
	return b.done()
}

// allPairsPlain is allPairsPackets by plain scratch and flags, with the sums
// stored to the others' outputs.
func allPairsPlain(ranks, depth int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, ir.Simple, depth,
		ranks, 0, 4*ranks)
	for r := range ranks {
		b.block(r)
		to := func(set int) []ir.Operand {
			return toOthers(ranks, r, func(q int) ir.Operand { return flagOf(q, set*ranks+r, 0) })
		}
		from := func(set int) []ir.Operand {
			return toOthers(ranks, r, func(q int) ir.Operand { return flagOf(r, set*ranks+q, 1) })
		}
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.move(1, chunks(chunkOf(r, ir.Input, q)), chunks(chunkOf(q, ir.Scratch, r)), jointFrom(k-1)...)
		}
		b.signal(to(2), ir.Enter)
		b.signal(to(0))
		b.await(from(2), ir.Enter)
		b.await(from(0))
		mine := chunkOf(r, ir.Input, r)
		b.move(1, append(chunks(mine), toOthers(ranks, r, func(q int) ir.Operand { return chunkOf(r, ir.Scratch, q) })...),
			append(chunks(chunkOf(r, ir.Output, r)),
				toOthers(ranks, r, func(q int) ir.Operand { return chunkOf(q, ir.Output, r) })...))
		b.signal(to(1))
		b.await(from(1))
		b.signal(to(3), ir.Leave)
		b.await(from(3), ir.Leave)
	}
	return b.done()
}

// gatherPush is the allgather in which each rank stores what it has to all.
func gatherPush(ranks int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.AllGather, Ranks: ranks, Chunks: 1}, ir.Simple, 1, 0, 0, 2*ranks)
	for r := range ranks {
		b.block(r)
		b.signal(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(q, r, 0) }), ir.Enter)
		b.await(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(r, q, 1) }), ir.Enter)
		b.move(1, chunks(chunkOf(r, ir.Input, 0)), append(chunks(chunkOf(r, ir.Output, r)),
			toOthers(ranks, r, func(q int) ir.Operand { return chunkOf(q, ir.Output, r) })...))
		b.signal(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(q, ranks+r, 0) }), ir.Leave)
		b.await(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(r, ranks+q, 1) }), ir.Leave)
	}
	return b.done()
}

// chain is the broadcast from rank to rank by packets, whose receivers give
// credit.
func chain(ranks, depth int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.Broadcast, Ranks: ranks, Chunks: 1}, ir.LL128, depth, 0, 1, 1)
	for r := range ranks {
		b.block(r)
		if r < ranks-1 {
			b.await(chunks(flagOf(r, 0, 1-depth)))
		}
		from, to := chunkOf(r, ir.Packets, 0), chunks(chunkOf(r, ir.Output, 0))
		if r == 0 {
			from = chunkOf(r, ir.Input, 0)
		}
		if r < ranks-1 {
			to = append(to, chunkOf(r+1, ir.Packets, 0))
		}
		b.move(1, chunks(from), to)
		if r > 0 {
			b.signal(chunks(flagOf(r-1, 0, 0)))
		}
	}
	return b.done()
}

// ringPackets is the allreduce around a ring by packets, a slot a step.
func ringPackets(ranks, depth int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, ir.LL128, depth,
		0, 2*ranks, 0)
	for r := range ranks {
		b.block(r)
		next := (r + 1) % ranks
		for k := range 2*ranks - 1 {
			c := ((r-k)%ranks + 2*ranks) % ranks
			mine, in := chunkOf(r, ir.Input, c), chunkOf(r, ir.Packets, k-1)
			out := chunkOf(next, ir.Packets, k)
			switch {
			case k == 0:
				b.move(1, chunks(mine), chunks(out))
			case k < ranks-1:
				b.move(1, chunks(mine, in), chunks(out))
			case k == ranks-1:
				b.move(1, chunks(mine, in), chunks(mine, out))
			case k < 2*ranks-2:
				b.move(1, chunks(in), chunks(mine, out))
			default:
				b.move(1, chunks(in), chunks(mine))
			}
		}
	}
	return b.done()
}

// ringPlain is ringPackets by plain scratch and a flag of each rank.
func ringPlain(ranks, depth int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, ir.Simple, depth,
		2*ranks, 0, 1)
	for r := range ranks {
		b.block(r)
		next := (r + 1) % ranks
		for k := range 2*ranks - 1 {
			c := ((r-k)%ranks + 2*ranks) % ranks
			mine, in := chunkOf(r, ir.Input, c), chunkOf(r, ir.Scratch, k-1)
			out := chunkOf(next, ir.Scratch, k)
			if k > 0 {
				b.await(chunks(flagOf(r, 0, k)))
			}
			switch {
			case k == 0:
				b.move(1, chunks(mine), chunks(out))
			case k < ranks-1:
				b.move(1, chunks(mine, in), chunks(out))
			case k == ranks-1:
				b.move(1, chunks(mine, in), chunks(mine, out))
			case k < 2*ranks-2:
				b.move(1, chunks(in), chunks(mine, out))
			default:
				b.move(1, chunks(in), chunks(mine))
			}
			if k < 2*ranks-2 {
				b.signal(chunks(flagOf(next, 0, 0)))
			}
		}
	}
	return b.done()
}

// throughSwitch is the allreduce in which each rank has the switch sum one chunk and
// write it to all.
func throughSwitch(ranks int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true}, ir.Simple, 1,
		0, 0, 2*ranks)
	for r := range ranks {
		b.block(r)
		b.signal(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(q, r, 0) }), ir.Enter)
		b.await(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(r, q, 1) }), ir.Enter)
		all := chunkOf(ir.AllRanks, ir.Input, r)
		b.move(1, chunks(all), chunks(all))
		b.signal(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(q, ranks+r, 0) }), ir.Leave)
		b.await(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(r, ranks+q, 1) }), ir.Leave)
	}
	return b.done()
}

// switchToEach is the allreduce in which every rank has the switch sum all for itself.
func switchToEach(ranks int) *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 1}, ir.Simple, 1, 0, 0, 2*ranks)
	for r := range ranks {
		b.block(r)
		b.signal(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(q, r, 0) }), ir.Enter)
		b.await(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(r, q, 1) }), ir.Enter)
		b.move(1, chunks(chunkOf(ir.AllRanks, ir.Input, 0)), chunks(chunkOf(r, ir.Output, 0)))
		b.signal(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(q, ranks+r, 0) }), ir.Leave)
		b.await(toOthers(ranks, r, func(q int) ir.Operand { return flagOf(r, ranks+q, 1) }), ir.Leave)
	}
	return b.done()
}

// oneGroup is allPairsPackets without a barrier: what a rank unpacks in place has
// come round from what it put there.
func oneGroup(ranks int) *ir.Program {
	p := allPairsPackets(ranks, 2)
	for b := range p.Blocks {
		for i := p.Blocks[b].Steps.First + 1; i < p.Blocks[b].Steps.End; i++ {
			p.Steps[i].Flags |= ir.Joint
		}
	}
	return p
}

// forwarded passes packets around in one copy: who sends first learns in the
// pass before that its packets were read, by packets that a third rank has passed on.
func forwarded() *ir.Program {
	b := oneSidedOf(ir.Collective{Kind: ir.Opaque, Ranks: 3, Chunks: 1, In: 1, Out: 1}, ir.LL, 1, 0, 1, 0)
	b.block(0)
	b.move(1, chunks(chunkOf(0, ir.Packets, 0)), chunks(chunkOf(0, ir.Output, 0)))
	b.move(1, chunks(chunkOf(0, ir.Input, 0)), chunks(chunkOf(1, ir.Packets, 0)))
	b.block(1)
	b.move(1, chunks(chunkOf(1, ir.Packets, 0)), chunks(chunkOf(2, ir.Packets, 0)))
	b.block(2)
	b.move(1, chunks(chunkOf(2, ir.Input, 0)), chunks(chunkOf(0, ir.Packets, 0)))
	b.move(1, chunks(chunkOf(2, ir.Packets, 0)), chunks(chunkOf(2, ir.Output, 0)))
	return b.done()
}
