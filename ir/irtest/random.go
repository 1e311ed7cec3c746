// Package irtest makes random legal programs for the tests of other packages.
package irtest

import (
	"math/rand"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// Config bounds what Random makes. Zero fields take a default.
type Config struct {
	Ranks, Chunks, Ops int // at most these
	Local              bool
}

// Random makes a legal chunk DAG: mixed counts, buffers, channels and degrees
// of parallelize, local and remote copies, reductions of several sources, in
// place or not. Its collective is custom, and asks of some output chunks just
// what the operations leave there.
func Random(rnd *rand.Rand, cfg Config) *ir.ChunkDAG {
	pick := func(most, deflt int) int {
		if most == 0 {
			most = deflt
		}
		return 1 + rnd.Intn(most)
	}
	g := &generator{rnd: rnd}
	ranks, in, out := 1+pick(cfg.Ranks, 4), pick(cfg.Chunks, 6), pick(cfg.Chunks, 6)
	if rnd.Intn(3) > 0 {
		out = in
	}
	c := &ir.Collective{Kind: ir.Custom, Ranks: ranks, In: in, Out: out, Chunks: max(in, out),
		Inplace: rnd.Intn(2) == 0, Require: map[ir.Part][]ir.Part{}}
	g.d = &ir.ChunkDAG{Hints: []ir.Hint{ir.NoHint}}
	g.d.Header = ir.Header{Name: "random", Coll: c, Protocol: ir.Protocol(rnd.Intn(int(ir.NumProtocols))),
		RanksPerNode: ranks}
	for s := rnd.Intn(3); s > 0; s-- {
		g.d.Scratch = append(g.d.Scratch, ir.ScratchDecl{Name: string(rune('a' + s)), Chunks: pick(cfg.Chunks, 6)})
	}
	g.d.Spans = []diag.Span{{Pos: diag.Pos{Filename: "random.mscl", Line: 1, Column: 1}, Len: 1}}
	g.base = g.d.ScratchBase()
	g.mem = ir.NewMemory(c, g.d.ScratchChunks())
	g.value = make([][]ir.Part, g.mem.Len())
	for r := range ranks {
		for i := range in {
			g.value[g.mem.Cell(r, ir.Input, i)] = []ir.Part{{Rank: int32(r), Index: int32(i)}}
		}
	}
	degree := []int32{1, 1, 1, 2, 3}
	ways := degree[rnd.Intn(len(degree))]
	for n := pick(cfg.Ops, 24); n > 0; n-- {
		if rnd.Intn(6) == 0 {
			ways = degree[rnd.Intn(len(degree))]
		}
		g.op(ways)
	}
	g.require()
	return g.d
}

// Nodes deals ranks, of which there are at least two, to two nodes or more. It gives the node of each.
func Nodes(rnd *rand.Rand, ranks int) []int32 {
	node := make([]int32, ranks)
	for r := range node {
		node[r] = int32(rnd.Intn(3))
	}
	if node[0] == node[ranks-1] {
		node[ranks-1]++
	}
	return node
}

type generator struct {
	rnd   *rand.Rand
	d     *ir.ChunkDAG
	mem   *ir.Memory
	base  []int
	value [][]ir.Part // of each cell: a sorted multiset, nil where nothing was written
}

func (g *generator) buffers() int { return int(ir.Scratch) + len(g.d.Scratch) }

func (g *generator) len(b ir.Buf) int {
	switch b {
	case ir.Input:
		return g.d.Coll.In
	case ir.Output:
		return g.d.Coll.Out
	}
	return g.d.Scratch[b-ir.Scratch].Chunks
}

func (g *generator) cell(r ir.Ref, i int) int {
	if r.Buf >= ir.Scratch {
		return g.mem.Cell(int(r.Rank), ir.Scratch, g.base[r.Buf-ir.Scratch]+int(r.Index)+i)
	}
	return g.mem.Cell(int(r.Rank), r.Buf, int(r.Index)+i)
}

func (g *generator) ref(count int) (ir.Ref, bool) {
	b := ir.Buf(g.rnd.Intn(g.buffers()))
	room := g.len(b) - count
	if room < 0 {
		return ir.Ref{}, false
	}
	return ir.Ref{Rank: int32(g.rnd.Intn(g.d.Coll.Ranks)), Buf: b, Index: int32(g.rnd.Intn(room + 1))}, true
}

// op adds a random legal operation, if a few tries find one.
func (g *generator) op(ways int32) {
	for range 20 {
		count := 1 + g.rnd.Intn(3)
		n := 1
		if g.rnd.Intn(2) == 0 {
			n = 2 + g.rnd.Intn(3)
		}
		dst, ok := g.ref(count)
		if !ok || dst.Buf == ir.Input && !(g.d.Coll.Inplace && int(dst.Index)+count <= g.d.Coll.Out) {
			continue // input that is not also output is never modified
		}
		var srcs []ir.Ref
		if n > 1 && g.rnd.Intn(3) > 0 {
			srcs = append(srcs, dst) // the usual form: c.reduce(...)
		}
		for len(srcs) < n {
			s, ok := g.ref(count)
			if !ok {
				break
			}
			srcs = append(srcs, s)
		}
		if len(srcs) == n && g.legal(dst, srcs, count) {
			g.add(dst, srcs, count, ways)
			return
		}
	}
}

func (g *generator) legal(dst ir.Ref, srcs []ir.Ref, count int) bool {
	size := 0
	for _, s := range srcs {
		for i := range count {
			v := g.value[g.cell(s, i)]
			if v == nil {
				return false
			}
			size += len(v)
		}
		if d := g.cell(dst, 0) - g.cell(s, 0); d != 0 && d < count && -d < count {
			return false
		}
	}
	return size <= 200
}

func (g *generator) add(dst ir.Ref, srcs []ir.Ref, count int, ways int32) {
	made := make([][]ir.Part, count)
	for i := range made {
		for _, s := range srcs {
			made[i] = append(made[i], g.value[g.cell(s, i)]...)
		}
		slices.SortFunc(made[i], comparePart)
	}
	for i, v := range made {
		g.value[g.cell(dst, i)] = v
	}
	hint := int32(0)
	if g.rnd.Intn(8) == 0 {
		h := ir.NoHint
		h.Channel = int32(g.rnd.Intn(3))
		g.d.Hints = append(g.d.Hints, h)
		hint = int32(len(g.d.Hints) - 1)
	}
	g.d.Ops = append(g.d.Ops, ir.ChunkOp{Dst: dst, Count: int32(count), Src: int32(len(g.d.Srcs)), NSrc: int32(len(srcs)),
		Ways: ways, Hint: hint})
	g.d.Srcs = append(g.d.Srcs, srcs...)
}

func comparePart(a, b ir.Part) int {
	if a.Rank != b.Rank {
		return int(a.Rank - b.Rank)
	}
	return int(a.Index - b.Index)
}

// require asks for most of what the outputs hold.
func (g *generator) require() {
	for r := range g.d.Coll.Ranks {
		for i := range g.d.Coll.Out {
			if v := g.value[g.mem.Cell(r, ir.Output, i)]; v != nil && g.rnd.Intn(5) > 0 {
				g.d.Coll.Require[ir.Part{Rank: int32(r), Index: int32(i)}] = v
			}
		}
	}
}
