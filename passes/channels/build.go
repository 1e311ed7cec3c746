package channels

import (
	"mscclc/ir"
	"mscclc/ir/onesided"
)

// build makes the program of all blocks.
func (u *unroller) build() {
	p, n := u.p, len(u.p.Ranks)
	tables := ir.Program{Header: p.Header, Even: true, Scratch: u.used(ir.Scratch), Rank: make([]ir.Range, n),
		InPlace: p.Coll.Inplace, OutOfPlace: !p.Coll.Inplace}
	g := &onesided.Program{Program: tables, Packets: u.used(ir.Packets), Flags: u.flags, Depth: 1, OnePass: true}
	g.Coll = cut(p.Coll, int(u.parts))
	if p.DoubleScratch {
		g.Depth = 2
	}
	operands := 0
	u.eachStep(func(_ *unrolled, s *unrolledStep) { operands += len(s.srcs) + len(s.dsts) })
	g.Steps, u.sources, g.Operands = make([]ir.Step, 0, u.steps), make([]source, 0, u.steps),
		make([]onesided.Operand, 0, operands)
	for r := range n {
		g.Rank[r].First = int32(len(g.Blocks))
		for b, k := range u.blocks[r] {
			first := int32(len(g.Steps))
			for i := range k.steps {
				if b >= len(p.Ranks[r].Blocks) {
					k.steps[i].flags |= ir.Loose
				}
				u.step(g, &k.steps[i])
			}
			g.Blocks = append(g.Blocks, ir.TB{Block: ir.Block{Rank: int32(r), SendPeer: -1, RecvPeer: -1},
				Steps: ir.Range{First: first, End: int32(len(g.Steps))}})
		}
		g.Rank[r].End = int32(len(g.Blocks))
	}
	g.Source = u.names(g)
	u.program = g
}

// used returns how many chunks of a buffer of each rank the steps use.
func (u *unroller) used(b ir.Buf) []int32 {
	most := make([]int32, len(u.p.Ranks))
	u.eachStep(func(_ *unrolled, s *unrolledStep) {
		for _, list := range [][]onesided.Operand{s.srcs, s.dsts} {
			for i := range list {
				x := &list[i]
				first, end := x.Rank, x.Rank+1
				if x.Rank == ir.AllRanks {
					first, end = 0, int32(len(most))
				}
				for r := first; r < end && x.Buf == b; r++ {
					most[r] = max(most[r], x.Index+s.count)
				}
			}
		}
	})
	return most
}

// step appends a step to the program's.
func (u *unroller) step(g *onesided.Program, s *unrolledStep) {
	o := g
	t := ir.Step{Op: s.op, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Flags: s.flags, Count: s.count, DepBlock: -1, DepStep: -1,
		Pos: s.pos, Src: int32(len(o.Operands)), NSrc: int16(len(s.srcs)), Dst: int32(len(o.Operands) + len(s.srcs)),
		NDst: int16(len(s.dsts))}
	o.Operands = append(append(o.Operands, s.srcs...), s.dsts...)
	for _, list := range [][]onesided.Operand{s.dsts, s.srcs} {
		for i := range list {
			if list[i].Buf <= ir.Output {
				t.Class = int32(g.Coll.Class(int(list[i].Index)))
			}
		}
	}
	g.Steps = append(g.Steps, t)
	of := s.of
	of.lies = s.lies
	u.sources = append(u.sources, of)
}

// cut returns a collective of which each chunk is n.
func cut(c *ir.Collective, n int) *ir.Collective {
	d := *c
	d.Chunks, d.In, d.Out = c.Chunks*n, c.In*n, c.Out*n
	d.PerRank = nil
	for _, x := range c.PerRank {
		d.PerRank = append(d.PerRank, [2]int32{x[0] * int32(n), x[1] * int32(n)})
	}
	if c.Require == nil {
		return &d
	}
	d.Require = make(map[ir.Part][]ir.Part, len(c.Require)*n)
	for at, list := range c.Require {
		for k := range int32(n) {
			var parts []ir.Part
			for _, x := range list {
				parts = append(parts, ir.Part{Rank: x.Rank, Index: x.Index*int32(n) + k})
			}
			d.Require[ir.Part{Rank: at.Rank, Index: at.Index*int32(n) + k}] = parts
		}
	}
	return &d
}
