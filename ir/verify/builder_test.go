package verify_test

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
)

// A builder makes programs block by block.
type builder struct{ p *either.Program }

// build begins a program whose ranks have a number of chunks of each buffer, of a
// collective that asks for nothing.
func build(ranks, in, out, scratch int) *builder {
	c := &ir.Collective{Kind: ir.Opaque, Ranks: ranks, Chunks: max(in, out, 1), In: in, Out: out}
	p := either.OfFifo(&fifo.Program{Program: ir.Program{Header: ir.Header{Name: "built", Coll: c}, Even: true}, Channels: 1})
	p.Scratch = make([]int32, ranks)
	for r := range p.Scratch {
		p.Scratch[r] = int32(scratch)
	}
	return &builder{p}
}

// allReduce begins an allreduce out of place.
func allReduce(ranks, chunks, scratch int) *builder {
	b := build(ranks, chunks, chunks, scratch)
	b.p.Coll = &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: chunks}
	return b
}

// block adds a block; ranks must come in order. -1 is no peer.
func (b *builder) block(rank, send, recv int, steps ...ir.Step) {
	p := b.p
	first := int32(len(p.Steps))
	p.Steps = append(p.Steps, steps...)
	p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: int32(rank), SendPeer: int32(send), RecvPeer: int32(recv)},
		Steps: ir.Range{First: first, End: int32(len(p.Steps))}})
}

// done returns the program.
func (b *builder) done() *either.Program {
	p, at := b.p, int32(0)
	for r := range p.Coll.Ranks {
		own := ir.Range{First: at, End: at}
		for ; int(own.End) < len(p.Blocks) && int(p.Blocks[own.End].Rank) == r; own.End++ {
		}
		p.Rank, at = append(p.Rank, own), own.End
	}
	return p
}

// step returns a step of one chunk that waits for nothing. Operands that op lacks
// are dropped.
func step(op ir.Op, src ir.Buf, from int, dst ir.Buf, to int) ir.Step {
	s := ir.Step{Op: op, SrcBuf: src, Src: int32(from), DstBuf: dst, Dst: int32(to), Count: 1, DepBlock: -1,
		DepStep: -1, Pos: -1}
	info := op.Info()
	if !info.ReadsSrc {
		s.SrcBuf, s.Src = ir.NoBuf, 0
	}
	if !info.Writes {
		s.DstBuf, s.Dst = ir.NoBuf, 0
	}
	if op == ir.Nop {
		s.Count = 0
	}
	return s
}

// after is s waiting for a step of a block of its rank.
func after(s ir.Step, block, step int) ir.Step {
	s.DepBlock, s.DepStep = int32(block), int32(step)
	return s
}

// awaited is s that others may wait for.
func awaited(s ir.Step) ir.Step {
	s.Flags |= ir.HasDep
	return s
}
