package codegentest

import (
	"math/rand"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/form"
	"mscclc/ir/onesided"
)

// RandomOneSided makes a well-formed one-sided program, which need not do
// anything sensible.
func RandomOneSided(rnd *rand.Rand) *either.Program {
	g := &oneSidedGenerator{rnd: rnd}
	ranks, protocol := 1+rnd.Intn(5), ir.Protocol(rnd.Intn(int(ir.NumProtocols)))
	p := either.OfOneSided(&onesided.Program{Program: emptyTables("random", &ir.Collective{Kind: ir.AllToAll, Ranks: ranks,
		Chunks: 1 + rnd.Intn(4), Inplace: rnd.Intn(2) == 0})})
	p.Protocol = protocol
	p.Spans = []diag.Span{{Pos: diag.Pos{Filename: "a.mscl", Line: 2, Column: 3, Offset: 9}, Len: 7}}
	p.OneSided.Depth, p.OneSided.OnePass = int32(1+rnd.Intn(3)), rnd.Intn(2) == 0
	p.OneSided.Packets, p.OneSided.Flags = make([]int32, ranks), make([]int32, ranks)
	for r := range ranks {
		p.Scratch[r], p.OneSided.Packets[r], p.OneSided.Flags[r] = int32(rnd.Intn(4)), int32(rnd.Intn(4)), int32(rnd.Intn(4))
		if protocol == ir.Simple {
			p.OneSided.Packets[r] = 0
		}
	}
	g.p = p
	p.Rank = make([]ir.Range, ranks)
	together := 2 * rnd.Int31n(3) // of the blocks whose replicas share CTAs
	for r := range ranks {
		p.Rank[r] = ir.Range{First: int32(len(p.Blocks)), End: int32(len(p.Blocks))}
		for range rnd.Intn(3) {
			at := int32(len(p.Steps))
			p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: int32(r), SendPeer: -1, RecvPeer: -1},
				Steps: ir.Range{First: at, End: at}, Together: together * rnd.Int31n(2)})
			p.Rank[r].End++
			for range 24 {
				g.step(r)
			}
		}
	}
	return p
}

type oneSidedGenerator struct {
	rnd *rand.Rand
	p   *either.Program
}

// step adds a step to the last block, which is of rank, if there is one with room for its operands and p stays well
// formed.
func (g *oneSidedGenerator) step(rank int) {
	rnd, o := g.rnd, g.p.OneSided
	s := ir.Step{Op: ir.Move + ir.Op(rnd.Intn(3)), SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1,
		Pos: int32(rnd.Intn(2) - 1)}
	s.Flags = ir.StepFlags(rnd.Intn(64)) &^ ir.HasDep
	var srcs, dsts []onesided.Operand
	switch s.Op {
	case ir.Move:
		s.Count, s.Class = int32(1+rnd.Intn(2)), int32(rnd.Intn(g.p.Coll.Chunks))
		srcs, dsts = g.chunks(s.Count), g.chunks(s.Count)
	case ir.Signal:
		dsts = g.flags(-1)
	case ir.Await:
		srcs = g.flags(rank)
	}
	if len(srcs) == 0 && s.Op != ir.Signal || len(dsts) == 0 && s.Op != ir.Await {
		return
	}
	s.Src, s.NSrc = int32(len(o.Operands)), int16(len(srcs))
	s.Dst, s.NDst = s.Src+int32(len(srcs)), int16(len(dsts))
	o.Operands = append(append(o.Operands, srcs...), dsts...)
	g.p.Steps = append(g.p.Steps, s)
	end := &g.p.Blocks[len(g.p.Blocks)-1].Steps.End
	*end++
	if !g.wellFormed(rank) {
		*end--
		g.p.Steps, o.Operands = g.p.Steps[:len(g.p.Steps)-1], o.Operands[:s.Src]
	}
}

// wellFormed reports whether what there is of the program is, with no blocks for the ranks after rank.
func (g *oneSidedGenerator) wellFormed(rank int) bool {
	for r := rank + 1; r < len(g.p.Rank); r++ {
		g.p.Rank[r] = ir.Range{First: int32(len(g.p.Blocks)), End: int32(len(g.p.Blocks))}
	}
	return len(form.Check(g.p, form.Unbounded)) == 0
}

// chunks returns some operands of a move of count chunks.
func (g *oneSidedGenerator) chunks(count int32) []onesided.Operand {
	var list []onesided.Operand
	for range 1 + g.rnd.Intn(4) {
		x := onesided.Operand{Rank: int32(g.rnd.Intn(g.p.Coll.Ranks)), Buf: ir.Buf(g.rnd.Intn(4)), Via: ir.Via(g.rnd.Intn(3))}
		if g.rnd.Intn(6) == 0 {
			x.Rank, x.Via = ir.AllRanks, ir.ViaSwitch
		}
		if room := g.room(&x) - int64(count); room >= 0 {
			x.Index = int32(g.rnd.Intn(int(room) + 1))
			list = append(list, x)
		}
	}
	return list
}

// room returns the length of the buffer of x, the shortest of all ranks' where it is all ranks'.
func (g *oneSidedGenerator) room(x *onesided.Operand) int64 {
	length := func(r int) int {
		return [...]int{g.p.Coll.InChunks(r), g.p.Coll.OutChunks(r), int(g.p.Scratch[r]), int(g.p.OneSided.Packets[r])}[x.Buf]
	}
	if x.Rank != ir.AllRanks {
		return int64(length(int(x.Rank)))
	}
	n := length(0)
	for r := range g.p.Coll.Ranks {
		n = min(n, length(r))
	}
	return int64(n)
}

// flags returns some flags of rank, or of any where rank is -1.
func (g *oneSidedGenerator) flags(rank int) []onesided.Operand {
	var list []onesided.Operand
	for range 1 + g.rnd.Intn(3) {
		x := onesided.Operand{Rank: int32(rank), Buf: ir.Flags}
		if rank < 0 {
			x.Rank = int32(g.rnd.Intn(g.p.Coll.Ranks))
		} else {
			x.Nth = int32(g.rnd.Intn(5) - 2)
		}
		if n := int(g.p.OneSided.Flags[x.Rank]); n > 0 {
			x.Index = int32(g.rnd.Intn(n))
			list = append(list, x)
		}
	}
	return list
}
