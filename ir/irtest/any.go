package irtest

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
	"mscclc/ir/fifo"
	"mscclc/ir/onesided"
	"mscclc/ir/text"

	"pgregory.net/rapid"
)

// Anything that the text forms can say, meaningful or not.

func Small(t *rapid.T, low, high int) int32 {
	return int32(rapid.IntRange(low, high).Draw(t, "n"))
}

func AnyHeader(t *rapid.T) (ir.Header, []ir.Hint) {
	h := ir.Header{
		Name:         rapid.StringMatching(`[a-z #"é-]{0,8}`).Draw(t, "name"),
		Coll:         AnyCollective(t),
		Protocol:     ir.Protocol(Small(t, 0, int(ir.NumProtocols)-1)),
		Sizes:        ir.SizeRange{Min: int64(Small(t, 0, 9)), Max: rapid.Int64Min(0).Draw(t, "max")},
		RanksPerNode: int(Small(t, 0, 3)),
	}
	for range Small(t, 0, 3) {
		file := rapid.StringMatching(`[a-z ."]{0,6}`).Draw(t, "file")
		h.Spans = append(h.Spans, diag.Span{Pos: diag.Pos{Filename: file, Offset: int(Small(t, 0, 99)),
			Line: int(Small(t, 0, 9)), Column: int(Small(t, 0, 9))}, Len: int(Small(t, 0, 9))})
	}
	for range Small(t, 0, 3) {
		h.Then = append(h.Then, AnyStage(t))
	}
	if h.Then.Check() != nil {
		h.Then = nil
	}
	hints := []ir.Hint{ir.NoHint}
	for range Small(t, 0, 3) {
		hints = append(hints, ir.Hint{Channel: Small(t, -1, 9), SendTB: Small(t, -1, 9), RecvTB: Small(t, -1, 9),
			Lane: Small(t, -1, 9), Via: ir.Via(Small(t, 0, 3)), Pull: rapid.Bool().Draw(t, "pull")})
	}
	return h, hints
}

// AnyStage draws a stage of an epilogue.
func AnyStage(t *rapid.T) epilogue.Stage {
	kind := epilogue.Kind(Small(t, 0, int(epilogue.NumKinds)-1))
	argument, block := "", int64(0)
	if may := epilogue.Arguments(kind); len(may) > 0 {
		argument = rapid.SampledFrom(may).Draw(t, "argument")
	}
	if epilogue.Stages[kind].Block {
		block = rapid.Int64Range(0, epilogue.MostBlock).Draw(t, "block")
	}
	s, err := epilogue.NewStage(epilogue.Stages[kind].Name, argument, block)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func AnyCollective(t *rapid.T) *ir.Collective {
	c := &ir.Collective{Kind: ir.Kind(Small(t, 0, int(ir.NumKinds)-1)), Ranks: int(Small(t, 1, 4)),
		Chunks: int(Small(t, 1, 4)), Inplace: rapid.Bool().Draw(t, "inplace")}
	switch {
	case c.Kind.Rooted():
		c.Root = int(Small(t, 0, c.Ranks-1))
	case c.Kind == ir.SendRecv:
		for r := range c.Ranks {
			c.Peer = append(c.Peer, int32(c.Ranks-1-r))
		}
	case c.Kind == ir.Custom || c.Kind == ir.Opaque:
		c.In, c.Out = int(Small(t, 0, 4)), int(Small(t, 0, 4))
		if rapid.Bool().Draw(t, "each") {
			for range c.Ranks {
				c.PerRank = append(c.PerRank, [2]int32{Small(t, 0, 3), Small(t, 0, 3)})
			}
		}
		if c.Kind == ir.Custom && c.OutChunks(0) > 0 && c.InChunks(c.Ranks-1) > 0 {
			c.Require = map[ir.Part][]ir.Part{{Rank: 0, Index: 0}: slices.Repeat([]ir.Part{{Rank: int32(c.Ranks - 1), Index: 0}},
				int(Small(t, 1, 3)))}
		}
	}
	return c
}

func AnyChunks(t *rapid.T, h ir.Header, hints []ir.Hint) *ir.ChunkDAG {
	d := &ir.ChunkDAG{Header: h, Hints: hints}
	for _, name := range []string{"a", "gathered"}[:Small(t, 0, 2)] {
		s := ir.ScratchDecl{Name: name, Chunks: int(Small(t, 1, 4))}
		if len(h.Spans) > 0 {
			s.Span = h.Spans[0]
		}
		d.Scratch = append(d.Scratch, s)
	}
	var refs []ir.Ref // all chunks
	for r := range h.Coll.Ranks {
		sizes := []int{h.Coll.InChunks(r), h.Coll.OutChunks(r)}
		for _, s := range d.Scratch {
			sizes = append(sizes, s.Chunks)
		}
		for b, n := range sizes {
			for i := range n {
				refs = append(refs, ir.Ref{Rank: int32(r), Index: int32(i), Buf: ir.Buf(b)})
			}
		}
	}
	if len(refs) == 0 {
		return d
	}
	for range Small(t, 0, 6) {
		op := ir.ChunkOp{Dst: rapid.SampledFrom(refs).Draw(t, "dst"), Count: 1, Src: int32(len(d.Srcs)), NSrc: Small(t, 1, 3),
			Ways: Small(t, 1, 3), Hint: Small(t, 0, len(hints)-1), Pos: Small(t, -1, len(h.Spans)-1)}
		for range op.NSrc {
			d.Srcs = append(d.Srcs, rapid.SampledFrom(refs).Draw(t, "src"))
		}
		d.Ops = append(d.Ops, op)
	}
	return d
}

func anyBuf(t *rapid.T) ir.Buf {
	return rapid.SampledFrom([]ir.Buf{ir.Input, ir.Output, ir.Scratch, ir.Packets, ir.Flags, ir.Scratch + 4,
		ir.NoBuf}).Draw(t, "buf")
}

func AnyInsts(t *rapid.T, h ir.Header, hints []ir.Hint) *ir.InstDAG {
	d := &ir.InstDAG{Header: h, Hints: hints, Even: rapid.Bool().Draw(t, "even"), Scratch: AnyScratch(t, h.Coll.Ranks)}
	for range Small(t, 0, 3) {
		d.Blocks = append(d.Blocks, ir.Block{Rank: Small(t, 0, 3), SendPeer: Small(t, -1, 3), RecvPeer: Small(t, -1, 3),
			Channel: Small(t, -1, 3)})
	}
	n := int(Small(t, 0, 6))
	for range n {
		in := ir.Inst{Op: ir.Op(Small(t, 0, int(ir.Move)-1)), SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Rank: Small(t, 0, 3),
			Class: Small(t, 0, 3), SendPeer: Small(t, -1, 3), RecvPeer: Small(t, -1, 3), SendMate: Small(t, -1, n-1),
			RecvMate: Small(t, -1, n-1), Seq: Small(t, 0, 99), SendSeq: Small(t, 0, 99), Part: Small(t, 0, 3),
			Hint: Small(t, 0, 3), Pos: Small(t, -1, 3), Channel: Small(t, -1, 3), Block: Small(t, -1, 3), Step: Small(t, -1, 3)}
		hasSrc, hasDst := text.Operands(in.Op)
		if hasSrc {
			in.SrcBuf, in.Src, in.Count = anyBuf(t), Small(t, -2, 9), Small(t, 0, 3)
		}
		if hasDst {
			in.DstBuf, in.Dst, in.Count = anyBuf(t), Small(t, -2, 9), Small(t, 0, 3)
		}
		d.Insts = append(d.Insts, in)
	}
	d.Deps, d.Waits = anyEdges(t, n), anyEdges(t, n)
	return d
}

func AnyScratch(t *rapid.T, ranks int) []int32 {
	if rapid.Bool().Draw(t, "no scratch") {
		return nil
	}
	n := make([]int32, ranks)
	for r := range n {
		n[r] = Small(t, 0, 2)
	}
	return n
}

func anyEdges(t *rapid.T, n int) ir.Edges {
	if n == 0 || rapid.Bool().Draw(t, "no edges") {
		return ir.Edges{}
	}
	e := ir.Edges{Start: []int32{0}}
	for range n {
		for range Small(t, 0, 2) {
			e.To = append(e.To, Small(t, 0, n-1))
		}
		e.Start = append(e.Start, int32(len(e.To)))
	}
	return e
}

func AnyProgram(t *rapid.T, h ir.Header) *either.Program {
	tables := ir.Program{Header: h, Even: rapid.Bool().Draw(t, "even"), Scratch: AnyScratch(t, h.Coll.Ranks),
		InPlace: rapid.Bool().Draw(t, "in"), OutOfPlace: rapid.Bool().Draw(t, "out")}
	p := either.OfFifo(&fifo.Program{Program: tables, Channels: int(Small(t, 0, 3))})
	if rapid.Bool().Draw(t, "one-sided") {
		p = either.OfOneSided(&onesided.Program{Program: tables, Depth: Small(t, 1, 3),
			Packets: AnyScratch(t, h.Coll.Ranks), Flags: AnyScratch(t, h.Coll.Ranks)})
	}
	for r := range h.Coll.Ranks {
		first := int32(len(p.Blocks))
		for range Small(t, 0, 2) {
			at := int32(len(p.Steps))
			for range Small(t, 0, 3) {
				if p.OneSided != nil {
					p.Steps = append(p.Steps, anyOneSidedStep(t, p.OneSided))
					continue
				}
				s := ir.Step{Op: ir.Op(Small(t, 0, int(ir.Move)-1)), SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf,
					Flags: ir.StepFlags(Small(t, 0, 3)), Count: Small(t, 0, 3), Class: Small(t, 0, 3), DepBlock: Small(t, -1, 3),
					DepStep: Small(t, -1, 3), Pos: Small(t, -1, 3)}
				hasSrc, hasDst := text.Operands(s.Op)
				if hasSrc {
					s.SrcBuf, s.Src = anyBuf(t), Small(t, -2, 9)
				}
				if hasDst {
					s.DstBuf, s.Dst = anyBuf(t), Small(t, -2, 9)
				}
				p.Steps = append(p.Steps, s)
			}
			p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: int32(r), SendPeer: Small(t, -1, 3),
				RecvPeer: Small(t, -1, 3), Channel: Small(t, -1, 3)}, Steps: ir.Range{First: at, End: int32(len(p.Steps))},
				Together: anyTogether(t, p)})
		}
		p.Rank = append(p.Rank, ir.Range{First: first, End: int32(len(p.Blocks))})
	}
	return p
}

// anyTogether returns how many replicas of a block of p share a CTA.
func anyTogether(t *rapid.T, p *either.Program) int32 {
	if p.OneSided == nil {
		return 0
	}
	return Small(t, 0, 5)
}

// anyOneSidedStep has its operands at the end of o's.
func anyOneSidedStep(t *rapid.T, o *onesided.Program) ir.Step {
	s := ir.Step{Op: ir.Op(Small(t, int(ir.Move), int(ir.Await))), SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf,
		Flags: ir.StepFlags(Small(t, 0, 31)), Count: Small(t, 0, 3), Class: Small(t, 0, 3), DepBlock: Small(t, -1, 3),
		DepStep: Small(t, -1, 3), Pos: Small(t, -1, 3)}
	operands := func(n int32, nth bool) int16 {
		for range n {
			x := onesided.Operand{Rank: Small(t, ir.AllRanks, 3), Buf: anyBuf(t), Index: Small(t, -2, 9),
				Via: ir.Via(Small(t, 0, 3))}
			if nth {
				x.Nth = Small(t, -3, 3)
			}
			o.Operands = append(o.Operands, x)
		}
		return int16(n)
	}
	s.Src = int32(len(o.Operands))
	if s.Op != ir.Signal {
		s.NSrc = operands(Small(t, 0, 3), s.Op == ir.Await)
	}
	s.Dst = int32(len(o.Operands))
	if s.Op != ir.Await {
		s.NDst = operands(Small(t, 0, 3), false)
	}
	return s
}
