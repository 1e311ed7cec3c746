package ir

import (
	"slices"

	"mscclc/ir/diag"

	"pgregory.net/rapid"
)

// Anything that the text forms can say, meaningful or not.

func small(t *rapid.T, low, high int) int32 {
	return int32(rapid.IntRange(low, high).Draw(t, "n"))
}

func anyHeader(t *rapid.T) (Header, []Hint) {
	h := Header{
		Name:         rapid.StringMatching(`[a-z #"é-]{0,8}`).Draw(t, "name"),
		Coll:         anyCollective(t),
		Protocol:     Protocol(small(t, 0, int(NumProtocols)-1)),
		Sizes:        SizeRange{int64(small(t, 0, 9)), rapid.Int64Min(0).Draw(t, "max")},
		RanksPerNode: int(small(t, 0, 3)),
	}
	for range small(t, 0, 3) {
		file := rapid.StringMatching(`[a-z ."]{0,6}`).Draw(t, "file")
		h.Spans = append(h.Spans, diag.Span{Pos: diag.Pos{Filename: file, Offset: int(small(t, 0, 99)), Line: int(small(t, 0, 9)), Column: int(small(t, 0, 9))}, Len: int(small(t, 0, 9))})
	}
	hints := []Hint{NoHint}
	for range small(t, 0, 3) {
		hints = append(hints, Hint{Channel: small(t, -1, 9), SendTB: small(t, -1, 9), RecvTB: small(t, -1, 9), Via: Via(small(t, 0, 3)), Pull: rapid.Bool().Draw(t, "pull")})
	}
	return h, hints
}

func anyCollective(t *rapid.T) *Collective {
	c := &Collective{Kind: Kind(small(t, 0, int(NumKinds)-1)), Ranks: int(small(t, 1, 4)), Chunks: int(small(t, 1, 4)), Inplace: rapid.Bool().Draw(t, "inplace")}
	switch c.Kind {
	case Broadcast, ReduceTo, Gather, Scatter:
		c.Root = int(small(t, 0, c.Ranks-1))
	case SendRecv:
		for r := range c.Ranks {
			c.Peer = append(c.Peer, int32(c.Ranks-1-r))
		}
	case Custom, Opaque:
		c.In, c.Out = int(small(t, 0, 4)), int(small(t, 0, 4))
		if rapid.Bool().Draw(t, "each") {
			for range c.Ranks {
				c.PerRank = append(c.PerRank, [2]int32{small(t, 0, 3), small(t, 0, 3)})
			}
		}
		if c.Kind == Custom && c.OutChunks(0) > 0 && c.InChunks(c.Ranks-1) > 0 {
			c.Require = map[Part][]Part{{0, 0}: slices.Repeat([]Part{{int32(c.Ranks - 1), 0}}, int(small(t, 1, 3)))}
		}
	}
	return c
}

func anyChunks(t *rapid.T, h Header, hints []Hint) *ChunkDAG {
	d := &ChunkDAG{Header: h, Hints: hints}
	for _, name := range []string{"a", "gathered"}[:small(t, 0, 2)] {
		s := ScratchDecl{Name: name, Chunks: int(small(t, 1, 4))}
		if len(h.Spans) > 0 {
			s.Span = h.Spans[0]
		}
		d.Scratch = append(d.Scratch, s)
	}
	var refs []Ref // all chunks
	for r := range h.Coll.Ranks {
		sizes := []int{h.Coll.InChunks(r), h.Coll.OutChunks(r)}
		for _, s := range d.Scratch {
			sizes = append(sizes, s.Chunks)
		}
		for b, n := range sizes {
			for i := range n {
				refs = append(refs, Ref{int32(r), int32(i), Buf(b)})
			}
		}
	}
	if len(refs) == 0 {
		return d
	}
	for range small(t, 0, 6) {
		op := ChunkOp{Dst: rapid.SampledFrom(refs).Draw(t, "dst"), Count: 1, Src: int32(len(d.Srcs)), NSrc: small(t, 1, 3), Ways: small(t, 1, 3),
			Hint: small(t, 0, len(hints)-1), Pos: small(t, -1, len(h.Spans)-1)}
		for range op.NSrc {
			d.Srcs = append(d.Srcs, rapid.SampledFrom(refs).Draw(t, "src"))
		}
		d.Ops = append(d.Ops, op)
	}
	return d
}

func anyBuf(t *rapid.T) Buf {
	return rapid.SampledFrom([]Buf{Input, Output, Scratch, Packets, Flags, Scratch + 4, NoBuf}).Draw(t, "buf")
}

func anyInsts(t *rapid.T, h Header, hints []Hint) *InstDAG {
	d := &InstDAG{Header: h, Hints: hints, Even: rapid.Bool().Draw(t, "even"), Scratch: anyScratch(t, h.Coll.Ranks)}
	for range small(t, 0, 3) {
		d.Blocks = append(d.Blocks, Block{small(t, 0, 3), small(t, -1, 3), small(t, -1, 3), small(t, -1, 3)})
	}
	n := int(small(t, 0, 6))
	for range n {
		in := Inst{Op: Op(small(t, 0, int(Move)-1)), SrcBuf: NoBuf, DstBuf: NoBuf, Rank: small(t, 0, 3), Class: small(t, 0, 3),
			SendPeer: small(t, -1, 3), RecvPeer: small(t, -1, 3), SendMate: small(t, -1, n-1), RecvMate: small(t, -1, n-1),
			Seq: small(t, 0, 99), SendSeq: small(t, 0, 99), Part: small(t, 0, 3), Hint: small(t, 0, 3), Pos: small(t, -1, 3),
			Channel: small(t, -1, 3), Block: small(t, -1, 3), Step: small(t, -1, 3)}
		hasSrc, hasDst := operands(in.Op)
		if hasSrc {
			in.SrcBuf, in.Src, in.Count = anyBuf(t), small(t, -2, 9), small(t, 0, 3)
		}
		if hasDst {
			in.DstBuf, in.Dst, in.Count = anyBuf(t), small(t, -2, 9), small(t, 0, 3)
		}
		d.Insts = append(d.Insts, in)
	}
	d.Deps, d.Waits = anyEdges(t, n), anyEdges(t, n)
	return d
}

func anyScratch(t *rapid.T, ranks int) []int32 {
	if rapid.Bool().Draw(t, "no scratch") {
		return nil
	}
	n := make([]int32, ranks)
	for r := range n {
		n[r] = small(t, 0, 2)
	}
	return n
}

func anyEdges(t *rapid.T, n int) Edges {
	if n == 0 || rapid.Bool().Draw(t, "no edges") {
		return Edges{}
	}
	e := Edges{Start: []int32{0}}
	for range n {
		for range small(t, 0, 2) {
			e.To = append(e.To, small(t, 0, n-1))
		}
		e.Start = append(e.Start, int32(len(e.To)))
	}
	return e
}

func anyProgram(t *rapid.T, h Header) *Program {
	p := &Program{Header: h, Channels: int(small(t, 0, 3)), Even: rapid.Bool().Draw(t, "even"), Scratch: anyScratch(t, h.Coll.Ranks),
		InPlace: rapid.Bool().Draw(t, "in"), OutOfPlace: rapid.Bool().Draw(t, "out")}
	if rapid.Bool().Draw(t, "one-sided") {
		p.OneSided = &OneSided{Depth: small(t, 1, 3), Packets: anyScratch(t, h.Coll.Ranks), Flags: anyScratch(t, h.Coll.Ranks)}
	}
	for r := range h.Coll.Ranks {
		first := int32(len(p.Blocks))
		for range small(t, 0, 2) {
			at := int32(len(p.Steps))
			for range small(t, 0, 3) {
				if p.OneSided != nil {
					p.Steps = append(p.Steps, anyOneSidedStep(t, p.OneSided))
					continue
				}
				s := Step{Op: Op(small(t, 0, int(Move)-1)), SrcBuf: NoBuf, DstBuf: NoBuf, Flags: StepFlags(small(t, 0, 3)), Count: small(t, 0, 3),
					Class: small(t, 0, 3), DepBlock: small(t, -1, 3), DepStep: small(t, -1, 3), Pos: small(t, -1, 3)}
				hasSrc, hasDst := operands(s.Op)
				if hasSrc {
					s.SrcBuf, s.Src = anyBuf(t), small(t, -2, 9)
				}
				if hasDst {
					s.DstBuf, s.Dst = anyBuf(t), small(t, -2, 9)
				}
				p.Steps = append(p.Steps, s)
			}
			p.Blocks = append(p.Blocks, TB{Block{int32(r), small(t, -1, 3), small(t, -1, 3), small(t, -1, 3)}, Range{at, int32(len(p.Steps))}})
		}
		p.Rank = append(p.Rank, Range{first, int32(len(p.Blocks))})
	}
	return p
}

// anyOneSidedStep has its operands at the end of o's.
func anyOneSidedStep(t *rapid.T, o *OneSided) Step {
	s := Step{Op: Op(small(t, int(Move), int(Await))), SrcBuf: NoBuf, DstBuf: NoBuf, Flags: StepFlags(small(t, 0, 31)), Count: small(t, 0, 3),
		Class: small(t, 0, 3), DepBlock: small(t, -1, 3), DepStep: small(t, -1, 3), Pos: small(t, -1, 3)}
	operands := func(n int32, nth bool) int16 {
		for range n {
			x := Operand{Rank: small(t, AllRanks, 3), Buf: anyBuf(t), Index: small(t, -2, 9), Via: Via(small(t, 0, 3))}
			if nth {
				x.Nth = small(t, -3, 3)
			}
			o.Operands = append(o.Operands, x)
		}
		return int16(n)
	}
	s.Src = int32(len(o.Operands))
	if s.Op != Signal {
		s.NSrc = operands(small(t, 0, 3), s.Op == Await)
	}
	s.Dst = int32(len(o.Operands))
	if s.Op != Await {
		s.NDst = operands(small(t, 0, 3), false)
	}
	return s
}
