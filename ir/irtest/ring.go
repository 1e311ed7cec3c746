package irtest

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
)

// Programs for tests, built by hand.

// RingChunks is ring AllReduce in place: algorithms/allreduce/ring.mscl.
func RingChunks(n int) *ir.ChunkDAG {
	d := &ir.ChunkDAG{Header: ir.Header{Name: "ring", Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: n, Chunks: n,
		Inplace: true}}, Hints: []ir.Hint{ir.NoHint}}
	at := func(r, i int) ir.Ref { return ir.Ref{Rank: int32(r % n), Index: int32(i), Buf: ir.Input} }
	op := func(dst ir.Ref, srcs ...ir.Ref) {
		d.Ops = append(d.Ops, ir.ChunkOp{Dst: dst, Count: 1, Src: int32(len(d.Srcs)), NSrc: int32(len(srcs)),
			Ways: 1, Pos: -1})
		d.Srcs = append(d.Srcs, srcs...)
	}
	for i := range n {
		for s := 1; s < n; s++ {
			op(at(i+s, i), at(i+s, i), at(i+s-1, i))
		}
		for s := range n - 1 {
			op(at(i+s, i), at(i+s+n-1, i))
		}
	}
	return d
}

// RingInsts returns the same, lowered and fused, placed in one block a rank and
// ordered by the distance from the source.
func RingInsts(n int) *ir.InstDAG {
	d := &ir.InstDAG{Header: RingChunks(n).Header, Hints: []ir.Hint{ir.NoHint}, Blocks: make([]ir.Block, n)}
	for r := range n {
		d.Blocks[r] = ir.Block{Rank: int32(r), SendPeer: int32((r + 1) % n), RecvPeer: int32((r + n - 1) % n)}
	}
	hops := 2*n - 1 // steps that a chunk takes
	for i := range n {
		for s := range hops {
			in := ir.Inst{Op: ir.RecvReduceCopySend, SrcBuf: ir.Input, DstBuf: ir.Input, Rank: int32((i + s) % n), Src: int32(i),
				Dst: int32(i), Count: 1, Class: int32(i), Pos: -1}
			in.SendPeer, in.RecvPeer = int32((i+s+1)%n), int32((i+s+n-1)%n)
			at := int32(len(d.Insts))
			in.SendMate, in.RecvMate, in.Seq, in.SendSeq = at+1, at-1, 2*at, 2*at+1
			in.Block, in.Step = in.Rank, int32(s)
			switch {
			case s == 0:
				in.Op, in.RecvPeer, in.RecvMate, in.DstBuf, in.Dst = ir.Send, -1, -1, ir.NoBuf, 0
			case s == hops-1:
				in.Op, in.SendPeer, in.SendMate, in.SrcBuf, in.Src = ir.Recv, -1, -1, ir.NoBuf, 0
			case s >= n:
				in.Op, in.SrcBuf, in.Src = ir.RecvCopySend, ir.NoBuf, 0
			}
			d.Insts = append(d.Insts, in)
		}
	}
	return d
}

// RingProgram returns the ring AllReduce of n ranks, in place, one block a rank.
func RingProgram(n int) *either.Program {
	p := either.OfFifo(&fifo.Program{Channels: 1})
	p.Header = RingChunks(n).Header
	for r := range n {
		first := int32(len(p.Steps))
		for s := range 2*n - 1 {
			chunk := int32((r - s + 2*n) % n)
			step := ir.Step{Op: ir.RecvReduceCopySend, SrcBuf: ir.Input, DstBuf: ir.Input, Src: chunk, Dst: chunk, Count: 1,
				Class: chunk, DepBlock: -1, DepStep: -1, Pos: -1}
			switch {
			case s == 0:
				step.Op, step.DstBuf, step.Dst = ir.Send, ir.NoBuf, 0
			case s == 2*n-2:
				step.Op, step.SrcBuf, step.Src = ir.Recv, ir.NoBuf, 0
			case s >= n:
				step.Op, step.SrcBuf, step.Src = ir.RecvCopySend, ir.NoBuf, 0
			}
			p.Steps = append(p.Steps, step)
		}
		p.Rank = append(p.Rank, ir.Range{First: int32(r), End: int32(r + 1)})
		p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: int32(r), SendPeer: int32((r + 1) % n),
			RecvPeer: int32((r + n - 1) % n)}, Steps: ir.Range{First: first, End: int32(len(p.Steps))}})
	}
	return p
}
