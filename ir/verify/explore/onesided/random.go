package onesided

import (
	"math/rand"
	"slices"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// Random makes a random tiny one-sided program of 1 to 3 ranks, each of
// up to 4 blocks and all of up to 6, that has more flags than it needs: after each Move all
// blocks wait for each other, and where launches begin and end all do. So it is right, and asks
// for just the result that it has.
func Random(rnd *rand.Rand) *onesided.Program {
	ranks := []int{1, 2, 2, 2, 3, 3}[rnd.Intn(6)]
	return newGenerator(rnd, make([]int32, ranks)).program()
}

// RandomOver is Random of programs of 2 to 4 ranks that are right over nodes. It gives the node of each
// rank, too.
func RandomOver(rnd *rand.Rand) (p *onesided.Program, node []int32) {
	node = make([]int32, 2+rnd.Intn(5)/2)
	for rank := range node {
		node[rank] = int32(rnd.Intn(3))
	}
	node[0], node[1] = 0, 1
	rnd.Shuffle(len(node), func(i, j int) { node[i], node[j] = node[j], node[i] })
	return newGenerator(rnd, node).program(), node
}

// program makes the program of a generator.
func (g *generator) program() *onesided.Program {
	rnd := g.rnd
	g.meet(ir.Enter)
	for n := 1 + rnd.Intn(6); n > 0; n-- {
		g.move()
	}
	for len(g.late) > 0 {
		g.unpack(g.late[0])
	}
	g.meet(ir.Leave)
	for r := range g.Coll.Ranks {
		for i := range g.Coll.OutChunks(r) {
			if v := g.value[g.mem.Cell(r, ir.Output, i)]; v != nil {
				g.Coll.Require[ir.Part{Rank: int32(r), Index: int32(i)}] = v
			}
		}
	}
	return g.build()
}

// A generator makes one program.
type generator struct {
	*draft
	rnd   *rand.Rand
	node  []int32 // of each rank
	over  bool    // there are several nodes
	mem   *ir.Memory
	value [][]ir.Part // by cell: what it holds, nil for nothing
	late  []*lateChunk
	sent  map[[3]int32]int32 // from block, to block, mark: signals so far
	flag  map[[3]int32]int32 // their flag
}

// A lateChunk is a chunk of packets on its way to a block.
type lateChunk struct {
	at    onesided.Operand
	to    *draftBlock
	value []ir.Part
}

func newGenerator(rnd *rand.Rand, node []int32) *generator {
	ranks, in, out := len(node), 1+rnd.Intn(2), 1+rnd.Intn(2)
	c := &ir.Collective{Kind: ir.Custom, Ranks: ranks, In: in, Out: out, Chunks: max(in, out), Inplace: rnd.Intn(3) == 0,
		Require: map[ir.Part][]ir.Part{}}
	p := &onesided.Program{Program: ir.Program{Header: ir.Header{Name: "random", Coll: c, RanksPerNode: ranks}, Even: true,
		Scratch: make([]int32, ranks)}}
	if rnd.Intn(4) > 0 {
		p.Protocol = ir.LL
	}
	over := node[0] != slices.Max(node) || node[0] != slices.Min(node)
	for r := range p.Scratch {
		if p.Scratch[r] = int32(rnd.Intn(3)); over {
			p.Scratch[r] = int32(1 + rnd.Intn(2))
		}
	}
	g := &generator{draft: &draft{Program: p, depth: int32(1 + rnd.Intn(3)), onePass: rnd.Intn(3) == 0,
		packets: make([]int32, ranks), flags: make([]int32, ranks)}, rnd: rnd, node: node, over: over,
		mem: p.Memory(), sent: map[[3]int32]int32{}, flag: map[[3]int32]int32{}}
	g.value = make([][]ir.Part, g.mem.Len())
	for r := range ranks {
		for i := range in {
			g.value[g.mem.Cell(r, ir.Input, i)] = []ir.Part{{Rank: int32(r), Index: int32(i)}}
		}
		n := 1 + rnd.Intn(2)*rnd.Intn(2)
		if n == 2 && ranks < 3 && rnd.Intn(4) == 0 {
			n = 3 + rnd.Intn(2)
		}
		for n = min(n, 6-len(g.blocks)+r+1-ranks); n > 0; n-- {
			g.blocks = append(g.blocks, &draftBlock{rank: int32(r)})
		}
	}
	return g
}

// meet has all blocks wait for each other, once a launch.
func (g *generator) meet(mark ir.StepFlags) {
	for b := range g.blocks {
		g.signalAll(b, mark)
	}
	for b := range g.blocks {
		var list []onesided.Operand
		for a := range g.blocks {
			if a != b {
				list = append(list, g.flagOf(a, b, mark))
			}
		}
		if len(list) > 0 {
			g.blocks[b].add(ir.Await, 0, list, nil, mark)
		}
	}
}

// signalAll has block a signal all others.
func (g *generator) signalAll(a int, mark ir.StepFlags) {
	var list []onesided.Operand
	for b := range g.blocks {
		if a != b {
			g.sent[[3]int32{int32(a), int32(b), int32(mark)}]++
			x := g.flagOf(a, b, mark)
			x.Nth = 0
			list = append(list, x)
		}
	}
	if len(list) > 0 {
		g.blocks[a].add(ir.Signal, 0, nil, list, mark)
	}
}

// flagOf returns the flag by which block a signals b, and how often it has.
func (g *generator) flagOf(a, b int, mark ir.StepFlags) onesided.Operand {
	key := [3]int32{int32(a), int32(b), int32(mark)}
	rank := g.blocks[b].rank
	if _, ok := g.flag[key]; !ok {
		g.flag[key] = g.flags[rank]
		g.flags[rank]++
	}
	return onesided.Operand{Rank: rank, Buf: ir.Flags, Index: g.flag[key], Nth: g.sent[key]}
}

// move adds a Move, if some tries find one, and has all wait for it.
func (g *generator) move() {
	for range 20 {
		late := slices.Clone(g.late)
		b := g.rnd.Intn(len(g.blocks))
		count := int32(1 + g.rnd.Intn(6)/5)
		srcs, value := g.sources(b, count)
		if len(srcs) == 0 {
			g.late = late
			continue
		}
		if dsts := g.dests(b, count, srcs, value); len(dsts) > 0 {
			g.blocks[b].add(ir.Move, count, srcs, dsts, 0)
			g.everybodyAfter(b)
			g.everybodyAcquires(b, dsts)
			return
		}
		g.late = late
	}
}

// everybodyAfter has all blocks wait for block b.
func (g *generator) everybodyAfter(b int) {
	g.signalAll(b, 0)
	for c := range g.blocks {
		if c != b {
			g.blocks[c].add(ir.Await, 0, []onesided.Operand{g.flagOf(b, c, 0)}, nil, 0)
		}
	}
}

// everybodyAcquires has all blocks wait for a block of each rank of another node that block b has written: there the
// data has arrived.
func (g *generator) everybodyAcquires(b int, dsts []onesided.Operand) {
	for rank := range g.node {
		wrote := func(x onesided.Operand) bool { return int(x.Rank) == rank && g.crosses(b, x.Rank) }
		if slices.ContainsFunc(dsts, wrote) {
			g.everybodyAfter(slices.IndexFunc(g.blocks, func(c *draftBlock) bool { return int(c.rank) == rank }))
		}
	}
}

// crosses reports whether a rank is of another node than block b.
func (g *generator) crosses(b int, rank int32) bool {
	return g.node[rank] != g.node[g.blocks[b].rank]
}

// sources picks operands of block b to be read, and what their sums are.
func (g *generator) sources(b int, count int32) (list []onesided.Operand, value [][]ir.Part) {
	value = make([][]ir.Part, count)
	for n := 1 + g.rnd.Intn(3); n > 0; n-- {
		if k := g.lateOf(b); k >= 0 && count == 1 && g.rnd.Intn(3) > 0 {
			list = append(list, g.late[k].at)
			value[0] = append(value[0], g.late[k].value...)
			g.late = slices.Delete(g.late, k, k+1)
			continue
		}
		x, ok := g.place(b, count)
		ok = ok && !g.crosses(b, x.Rank)
		for k := range count {
			ok = ok && g.value[g.cell(x, k)] != nil
		}
		if !ok {
			continue
		}
		list = append(list, x)
		for k := range count {
			value[k] = append(value[k], g.value[g.cell(x, k)]...)
		}
	}
	for k := range value {
		if len(value[k]) > 12 {
			return nil, nil
		}
		slices.SortFunc(value[k], func(a, b ir.Part) int {
			if a.Rank != b.Rank {
				return int(a.Rank - b.Rank)
			}
			return int(a.Index - b.Index)
		})
	}
	return list, value
}

func (g *generator) cell(x onesided.Operand, k int32) int {
	return g.mem.Cell(int(x.Rank), x.Buf, int(x.Index+k))
}

// lateOf returns a chunk of packets that is on its way to block b, or -1.
func (g *generator) lateOf(b int) int {
	return slices.IndexFunc(g.late, func(l *lateChunk) bool { return l.to == g.blocks[b] })
}

// place picks plain memory of any rank, most often block b's own.
func (g *generator) place(b int, count int32) (onesided.Operand, bool) {
	rank := g.blocks[b].rank
	if g.rnd.Intn(3) == 0 || g.over && g.rnd.Intn(2) == 0 {
		rank = int32(g.rnd.Intn(g.Coll.Ranks))
	}
	buf := []ir.Buf{ir.Input, ir.Output, ir.Scratch}[g.rnd.Intn(3)]
	if g.crosses(b, rank) {
		buf = ir.Scratch
	}
	size := map[ir.Buf]int32{ir.Input: int32(g.Coll.In), ir.Output: int32(g.Coll.Out), ir.Scratch: g.Scratch[rank]}[buf]
	if size < count {
		return onesided.Operand{}, false
	}
	return onesided.Operand{Rank: rank, Buf: buf, Index: int32(g.rnd.Intn(int(size - count + 1)))}, true
}

// dests picks operands to be written, and writes them.
func (g *generator) dests(b int, count int32, srcs []onesided.Operand, value [][]ir.Part) (list []onesided.Operand) {
	overlaps := func(x onesided.Operand) bool {
		for _, y := range list {
			if y.Buf != ir.Packets && abs(g.cell(x, 0)-g.cell(y, 0)) < int(count) {
				return true
			}
		}
		for _, y := range srcs {
			if d := abs(g.cell(x, 0) - g.cell(y, 0)); y.Buf != ir.Packets && d > 0 && d < int(count) {
				return true
			}
		}
		return false
	}
	for n := 1 + g.rnd.Intn(3); n > 0; n-- {
		if g.Protocol == ir.LL && count == 1 && g.rnd.Intn(2) == 0 {
			to := g.blocks[g.rnd.Intn(len(g.blocks))]
			if g.crosses(b, to.rank) {
				continue
			}
			x := onesided.Operand{Rank: to.rank, Buf: ir.Packets, Index: g.packets[to.rank]}
			g.packets[to.rank]++
			g.late = append(g.late, &lateChunk{x, to, value[0]})
			list = append(list, x)
		} else if x, ok := g.place(b, count); ok && x.Buf != ir.Input && !overlaps(x) {
			list = append(list, x)
		}
	}
	for _, x := range list {
		for k := range count {
			if x.Buf != ir.Packets {
				g.value[g.cell(x, k)] = value[k]
			}
		}
	}
	return list
}

func abs(n int) int { return max(n, -n) }

// unpack has the block that a chunk of packets is for read it.
func (g *generator) unpack(l *lateChunk) {
	g.late = slices.DeleteFunc(g.late, func(x *lateChunk) bool { return x == l })
	index := int32(g.rnd.Intn(g.Coll.Out))
	x := onesided.Operand{Rank: l.to.rank, Buf: ir.Output, Index: index}
	l.to.add(ir.Move, 1, []onesided.Operand{l.at}, []onesided.Operand{x}, 0)
	g.value[g.cell(x, 0)] = l.value
	g.everybodyAfter(slices.Index(g.blocks, l.to))
}
