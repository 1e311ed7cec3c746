package codegentest

import (
	"math/rand"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/form"
)

// Random makes a well-formed program whose connections match, of a kind that t can say. It need not do anything
// sensible.
func Random(rnd *rand.Rand, t *codegen.Target) *either.Program {
	for {
		if p := random(rnd, t); len(form.Check(p, form.Unbounded)) == 0 {
			return p
		}
	}
}

// random is Random, but operands may overlap.
func random(rnd *rand.Rand, t *codegen.Target) *either.Program {
	g := &generator{rnd: rnd, fused: t.Limits.ReceiveFused, perChannel: map[[3]int32]bool{}}
	ranks := 1 + rnd.Intn(5)
	kinds := []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Broadcast, ir.ReduceTo}
	if t.Inclusive {
		kinds = append(kinds, ir.Gather, ir.Scatter)
	}
	if t.Custom {
		kinds = append(kinds, ir.Opaque)
	}
	c := &ir.Collective{Kind: kinds[rnd.Intn(len(kinds))], Ranks: ranks, Chunks: 1 + rnd.Intn(4),
		Inplace: rnd.Intn(2) == 0}
	switch {
	case c.Kind.Rooted():
		c.Root = rnd.Intn(ranks)
	case c.Kind == ir.Opaque:
		c.In, c.Out = c.Chunks, c.Chunks
		for range ranks {
			c.PerRank = append(c.PerRank, [2]int32{int32(c.Chunks), int32(c.Chunks)})
		}
	}
	g.p = either.OfFifo(&fifo.Program{Program: ir.Program{
		Even: true, Scratch: make([]int32, ranks), InPlace: c.Inplace, OutOfPlace: !c.Inplace,
		Header: ir.Header{Name: "random", Coll: c, RanksPerNode: ranks,
			Protocol: []ir.Protocol{ir.Simple, ir.LL, ir.LL128}[rnd.Intn(3)],
			Sizes:    ir.SizeRange{Min: int64(rnd.Intn(2) * 1024 * ranks), Max: int64(1<<20*ranks + rnd.Intn(2)*1024*ranks)}}}})
	for r := range ranks {
		g.p.Scratch[r] = int32(4 + rnd.Intn(4))
	}
	g.tbs = make([][]ir.TB, ranks)
	g.steps = make([][][]ir.Step, ranks)
	for range rnd.Intn(6) {
		g.flow()
	}
	for range 1 + rnd.Intn(4) {
		g.local()
	}
	g.waits()
	g.freeze()
	return g.p
}

type generator struct {
	rnd        *rand.Rand
	fused      bool
	p          *either.Program
	tbs        [][]ir.TB
	steps      [][][]ir.Step
	perChannel map[[3]int32]bool
}

// operand picks a buffer of rank with room for count chunks.
func (g *generator) operand(rank int, count int32) (ir.Buf, int32) {
	for {
		b := ir.Buf(g.rnd.Intn(3))
		size := [...]int{g.p.Coll.InChunks(rank), g.p.Coll.OutChunks(rank), int(g.p.Scratch[rank])}[b]
		if size >= int(count) {
			return b, int32(g.rnd.Intn(size - int(count) + 1))
		}
	}
}

func (g *generator) step(rank int, op ir.Op, count int32) ir.Step {
	s := ir.Step{Op: op, Count: count, DepBlock: -1, DepStep: -1, Pos: -1}
	for {
		s.SrcBuf, s.Src = g.operand(rank, count)
		s.DstBuf, s.Dst = g.operand(rank, count)
		if gap := s.Src - s.Dst; s.SrcBuf != s.DstBuf || gap == 0 || max(gap, -gap) >= count {
			break
		}
	}
	s.ClearUnused()
	return s
}

func (g *generator) block(rank int, b ir.Block, steps []ir.Step) {
	b.Rank = int32(rank)
	g.tbs[rank] = append(g.tbs[rank], ir.TB{Block: b})
	g.steps[rank] = append(g.steps[rank], steps)
}

// flow sends some messages along a path of ranks.
func (g *generator) flow() {
	ranks := g.p.Coll.Ranks
	path := g.rnd.Perm(ranks)[:min(ranks, 2+g.rnd.Intn(2))]
	if !g.fused {
		path = path[:min(len(path), 2)]
	}
	if len(path) < 2 {
		return
	}
	channel := int32(g.rnd.Intn(4))
	for i := 1; i < len(path); i++ {
		if g.perChannel[[3]int32{channel, int32(path[i-1]), int32(path[i])}] {
			return
		}
	}
	counts := make([]int32, 1+g.rnd.Intn(4))
	for i := range counts {
		counts[i] = 1 + int32(g.rnd.Intn(3))
	}
	for i, rank := range path {
		b := ir.Block{SendPeer: -1, RecvPeer: -1, Channel: channel}
		ops := []ir.Op{ir.Send}
		if i > 0 {
			b.RecvPeer = int32(path[i-1])
			g.perChannel[[3]int32{channel, int32(path[i-1]), int32(rank)}] = true
			if ops = []ir.Op{ir.Recv, ir.RecvReduceCopy}; !g.fused {
				ops = ops[:1]
			}
		}
		if i+1 < len(path) {
			b.SendPeer = int32(path[i+1])
			if i > 0 {
				ops = []ir.Op{ir.RecvCopySend, ir.RecvReduceSend, ir.RecvReduceCopySend}
			}
		}
		var steps []ir.Step
		for _, n := range counts {
			steps = append(steps, g.step(rank, ops[g.rnd.Intn(len(ops))], n))
		}
		g.block(rank, b, steps)
	}
}

// local adds a block of copies and reductions, some of which chain.
func (g *generator) local() {
	rank := g.rnd.Intn(g.p.Coll.Ranks)
	var steps []ir.Step
	for range 1 + g.rnd.Intn(5) {
		steps = append(steps, g.step(rank, []ir.Op{ir.Copy, ir.Reduce}[g.rnd.Intn(2)], 1))
	}
	g.block(rank, ir.Block{SendPeer: -1, RecvPeer: -1, Channel: int32(g.rnd.Intn(4))}, steps)
}

// waits makes some steps wait for one or two of other blocks.
func (g *generator) waits() {
	for r := range g.steps {
		for b := range g.steps[r] {
			var out []ir.Step
			for _, s := range g.steps[r][b] {
				n := g.rnd.Intn(3)
				for k := range n {
					other := g.rnd.Intn(len(g.steps[r]))
					if other == b {
						break
					}
					if k > 0 {
						nop := ir.Step{Op: ir.Nop, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: s.DepBlock, DepStep: s.DepStep, Pos: -1}
						out = append(out, nop)
					}
					s.DepBlock, s.DepStep = int32(other), 0 // step 0 is a nop at times; see settle
				}
				out = append(out, s)
			}
			g.steps[r][b] = out
		}
	}
	g.settle()
}

// settle moves waits to steps that publish, and closes the chains that mean
// something else than their steps.
func (g *generator) settle() {
	for r := range g.steps {
		for b := range g.steps[r] {
			for i := range g.steps[r][b] {
				s := &g.steps[r][b][i]
				if s.DepBlock < 0 {
					continue
				}
				other := g.steps[r][s.DepBlock]
				for other[s.DepStep].Op == ir.Nop {
					s.DepStep++
				}
				other[s.DepStep].Flags |= ir.HasDep
			}
			steps := g.steps[r][b]
			for i := 1; i < len(steps); i++ {
				if fifo.Chained(&steps[i-1], &steps[i]) && g.rnd.Intn(2) == 0 || steps[i-1].Op == ir.Reduce &&
					steps[i-1].SrcBuf != ir.Scratch {
					steps[i-1].Flags |= ir.HasDep
				}
			}
		}
	}
	for r := range g.steps {
		for _, steps := range g.steps[r] {
			for i := 1; i < len(steps); i++ {
				if s, next := &steps[i-1], &steps[i]; fifo.Chained(s, next) && (s.DstBuf == s.SrcBuf || s.Count != next.Count) {
					s.Flags |= ir.HasDep
				}
			}
		}
	}
}

func (g *generator) freeze() {
	p := g.p
	for r := range g.tbs {
		first := int32(len(p.Blocks))
		for b, tb := range g.tbs[r] {
			tb.Steps.First = int32(len(p.Steps))
			p.Steps = append(p.Steps, g.steps[r][b]...)
			tb.Steps.End = int32(len(p.Steps))
			p.Blocks = append(p.Blocks, tb)
			p.Fifo.Channels = max(p.Fifo.Channels, int(tb.Channel)+1)
		}
		p.Rank = append(p.Rank, ir.Range{First: first, End: int32(len(p.Blocks))})
	}
}
