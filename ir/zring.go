package ir

// Programs for tests, built by hand.

// ringChunks is ring AllReduce in place: the first program of LANGUAGE.md.
func ringChunks(n int) *ChunkDAG {
	d := &ChunkDAG{Header: Header{Name: "ring", Coll: &Collective{Kind: AllReduce, Ranks: n, Chunks: n, Inplace: true}}, Hints: []Hint{NoHint}}
	at := func(r, i int) Ref { return Ref{int32(r % n), int32(i), Input} }
	op := func(dst Ref, srcs ...Ref) {
		d.Ops = append(d.Ops, ChunkOp{Dst: dst, Count: 1, Src: int32(len(d.Srcs)), NSrc: int32(len(srcs)), Ways: 1, Pos: -1})
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

// ringInsts is the same, lowered and fused, placed in one block a rank and
// ordered by the distance from the source.
func ringInsts(n int) *InstDAG {
	d := &InstDAG{Header: ringChunks(n).Header, Hints: []Hint{NoHint}, Blocks: make([]Block, n)}
	for r := range n {
		d.Blocks[r] = Block{Rank: int32(r), SendPeer: int32((r + 1) % n), RecvPeer: int32((r + n - 1) % n)}
	}
	hops := 2*n - 1 // steps that a chunk takes
	for i := range n {
		for s := range hops {
			in := Inst{Op: RecvReduceCopySend, SrcBuf: Input, DstBuf: Input, Rank: int32((i + s) % n), Src: int32(i), Dst: int32(i), Count: 1, Class: int32(i), Pos: -1}
			in.SendPeer, in.RecvPeer = int32((i+s+1)%n), int32((i+s+n-1)%n)
			at := int32(len(d.Insts))
			in.SendMate, in.RecvMate, in.Seq, in.SendSeq = at+1, at-1, 2*at, 2*at+1
			in.Block, in.Step = in.Rank, int32(s)
			switch {
			case s == 0:
				in.Op, in.RecvPeer, in.RecvMate, in.DstBuf, in.Dst = Send, -1, -1, NoBuf, 0
			case s == hops-1:
				in.Op, in.SendPeer, in.SendMate, in.SrcBuf, in.Src = Recv, -1, -1, NoBuf, 0
			case s >= n:
				in.Op, in.SrcBuf, in.Src = RecvCopySend, NoBuf, 0
			}
			d.Insts = append(d.Insts, in)
		}
	}
	return d
}
