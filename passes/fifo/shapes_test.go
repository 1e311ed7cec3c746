package fifo

import (
	"mscclc/ir"
)

// A shape is a family of programs that grow: build makes one with about n
// operations.
type shape struct {
	name  string
	build func(n int) *ir.ChunkDAG
}

// A programBuilder writes chunk DAGs. Its collective is opaque: what the
// operations leave is the result.
type programBuilder struct{ d *ir.ChunkDAG }

func newProgram(ranks, in, out, scratch int) *programBuilder {
	d := &ir.ChunkDAG{Hints: []ir.Hint{ir.NoHint}}
	d.Header = ir.Header{Name: "shape", Coll: &ir.Collective{Kind: ir.Opaque, Ranks: ranks, In: in, Out: out,
		Chunks: max(in, out)}}
	if scratch > 0 {
		d.Scratch = []ir.ScratchDecl{{Name: "s", Chunks: scratch}}
	}
	return &programBuilder{d}
}

// sizes gives each rank its own buffers.
func (p *programBuilder) sizes(of func(rank int) (in, out int)) {
	for r := range p.d.Coll.Ranks {
		in, out := of(r)
		p.d.Coll.PerRank = append(p.d.Coll.PerRank, [2]int32{int32(in), int32(out)})
	}
}

func at(rank int, buf ir.Buf, index int) ir.Ref {
	return ir.Ref{Rank: int32(rank), Buf: buf, Index: int32(index)}
}

func (p *programBuilder) op(count int, dst ir.Ref, srcs ...ir.Ref) *ir.ChunkOp {
	p.d.Ops = append(p.d.Ops, ir.ChunkOp{Dst: dst, Count: int32(count), Src: int32(len(p.d.Srcs)), NSrc: int32(len(srcs)),
		Ways: 1, Pos: -1})
	p.d.Srcs = append(p.d.Srcs, srcs...)
	return &p.d.Ops[len(p.d.Ops)-1]
}

func (p *programBuilder) reduce(count int, dst ir.Ref, src ir.Ref) { p.op(count, dst, dst, src) }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// shapes are the programs whose compile time must grow with their size alone.
var shapes = []shape{
	{"fan out", fanOut},
	{"fan in", fanIn},
	{"two ranks, scattered chunks", func(n int) *ir.ChunkDAG {
		p := newProgram(2, 2*n, 2*n, 0)
		for i := range n {
			p.op(1, at(1, ir.Output, 2*i), at(0, ir.Input, 2*i))
		}
		return p.d
	}},
	{"two ranks, neighbours", func(n int) *ir.ChunkDAG {
		p := newProgram(2, n, n, 0)
		for i := range n {
			p.op(1, at(1, ir.Output, n-1-i), at(0, ir.Input, n-1-i))
		}
		return p.d
	}},
	{"ping-pong", func(n int) *ir.ChunkDAG { return chain(2, n, 1) }},
	{"chain round 64 ranks", func(n int) *ir.ChunkDAG { return chain(64, n, 1) }},
	{"long chain round 8 ranks", func(n int) *ir.ChunkDAG { return chain(8, n, 64) }},
	{"long ring", longRing},
	{"all pairs", allPairs},
	{"hierarchical", hierarchical},
	{"conflicting flows", conflicting},
	{"many blocks of one rank", manyBlocks},
	{"local copies", func(n int) *ir.ChunkDAG {
		p := newProgram(1, n, n, n)
		for i := range n / 2 {
			p.op(1, at(0, ir.Scratch, i), at(0, ir.Input, n-1-i))
			p.op(1, at(0, ir.Output, i), at(0, ir.Scratch, i))
		}
		return p.d
	}},
	{"local copies beside blocks", func(n int) *ir.ChunkDAG {
		p := newProgram(101, n, n, 0)
		p.sizes(func(r int) (in, out int) { return []int{1, n}[b2i(r == 0)], []int{1, n}[b2i(r == 0)] })
		for r := 1; r < 101; r++ {
			p.op(1, at(r, ir.Output, 0), at(0, ir.Input, 0))
		}
		for i := 1; i < n; i++ {
			p.op(1, at(0, ir.Output, i), at(0, ir.Input, n-1-i))
		}
		return p.d
	}},
	{"one accumulator", func(n int) *ir.ChunkDAG {
		p := newProgram(2, n, n, n)
		for i := range n / 2 {
			p.op(1, at(1, ir.Scratch, i), at(0, ir.Input, n-1-i))
		}
		p.op(1, at(1, ir.Output, 0), at(1, ir.Scratch, 0))
		for i := 1; i < n/2; i++ {
			p.reduce(1, at(1, ir.Output, 0), at(1, ir.Scratch, i))
		}
		return p.d
	}},
	{"scratch reused", func(n int) *ir.ChunkDAG {
		p := newProgram(3, n, n, n)
		for i := range n / 4 {
			p.op(1, at(1, ir.Scratch, 2*i), at(0, ir.Input, i))
			p.op(1, at(1, ir.Scratch, 2*i+1), at(2, ir.Input, i))
			p.reduce(1, at(1, ir.Scratch, 2*i), at(1, ir.Scratch, 2*i+1))
			p.op(1, at(2, ir.Output, i), at(1, ir.Scratch, 2*i))
		}
		return p.d
	}},
	{"hints", func(n int) *ir.ChunkDAG {
		p := newProgram(8, n, n, 0)
		for i := range n {
			op := p.op(1, at((i+1)%8, ir.Output, i), at(i%8, ir.Input, n-1-i))
			op.Hint = int32(len(p.d.Hints))
			p.d.Hints = append(p.d.Hints, ir.Hint{Channel: int32(i % 3), SendTB: int32(i % 3), RecvTB: int32(3 + i%3)})
		}
		return p.d
	}},
	{"parallelized", func(n int) *ir.ChunkDAG {
		d := chain(8, n/16, 1)
		for i := range d.Ops {
			d.Ops[i].Ways = 16
		}
		return d
	}},
}

// fanOut copies one chunk from rank 0 to n others.
func fanOut(n int) *ir.ChunkDAG {
	p := newProgram(n+1, 1, 1, 0)
	for r := 1; r <= n; r++ {
		p.op(1, at(r, ir.Output, 0), at(0, ir.Input, 0))
	}
	return p.d
}

// fanIn reduces one chunk of n ranks at rank 0.
func fanIn(n int) *ir.ChunkDAG {
	p := newProgram(n+1, 1, 1, 0)
	p.op(1, at(0, ir.Output, 0), at(0, ir.Input, 0))
	for r := 1; r <= n; r++ {
		p.reduce(1, at(0, ir.Output, 0), at(r, ir.Input, 0))
	}
	return p.d
}

// chain sends one run of chunks n hops round a ring.
func chain(ranks, n, count int) *ir.ChunkDAG {
	p := newProgram(ranks, count, count, count)
	from := at(0, ir.Input, 0)
	for i := range n {
		to := at((i+1)%ranks, ir.Scratch, 0)
		p.op(count, to, from)
		from = to
	}
	p.op(count, at(int(from.Rank), ir.Output, 0), from)
	return p.d
}

// longRing passes runs of 64 chunks round a ring, all ranks at once: with few
// slots these block each other.
func longRing(n int) *ir.ChunkDAG {
	ranks := 16
	p := newProgram(ranks, 64, 64, 64)
	for step := range n / ranks {
		for r := range ranks {
			from := at((r+step)%ranks, ir.Scratch, 0)
			if step == 0 {
				from = at(r, ir.Input, 0)
			}
			p.op(64, at((r+step+1)%ranks, [2]ir.Buf{ir.Scratch, ir.Output}[step%2], 0), from)
			if step%2 == 1 {
				p.op(64, at((r+step+1)%ranks, ir.Scratch, 0), at((r+step+1)%ranks, ir.Output, 0))
			}
		}
	}
	return p.d
}

// allPairs returns a one-step allreduce of r ranks, r*r about n.
func allPairs(n int) *ir.ChunkDAG {
	r := 2
	for (r+1)*(r+1)*2 <= n {
		r++
	}
	p := newProgram(r, r, r, r)
	for c := range r {
		for from := range r {
			if from != c {
				p.op(1, at(c, ir.Scratch, from), at(from, ir.Input, c))
			}
		}
		p.op(1, at(c, ir.Output, c), at(c, ir.Input, c))
		for from := range r {
			if from != c {
				p.reduce(1, at(c, ir.Output, c), at(c, ir.Scratch, from))
			}
		}
		for to := range r {
			if to != c {
				p.op(1, at(to, ir.Output, c), at(c, ir.Output, c))
			}
		}
	}
	return p.d
}

// hierarchical reduces within nodes of 8 in a ring, then between them.
func hierarchical(n int) *ir.ChunkDAG {
	nodes := max(2, n/200)
	p := newProgram(8*nodes, 8, 8, 8)
	for node := range nodes {
		for c := range 8 {
			p.op(1, at(8*node+c, ir.Output, c), at(8*node+c, ir.Input, c))
			for s := 1; s < 8; s++ {
				r := 8*node + (c+s)%8
				p.op(1, at(r, ir.Output, c), at(8*node+(c+s-1)%8, ir.Output, c), at(r, ir.Input, c))
			}
		}
	}
	for node := range nodes - 1 {
		for c := range 8 {
			p.reduce(1, at(8*(node+1)+(c+7)%8, ir.Output, c), at(8*node+(c+7)%8, ir.Output, c))
		}
	}
	for node := nodes - 1; node > 0; node-- {
		for c := range 8 {
			p.op(1, at(8*(node-1)+(c+7)%8, ir.Output, c), at(8*node+(c+7)%8, ir.Output, c))
		}
	}
	return p.d
}

// conflicting passes chunks through rank 0 from each of 30 ranks to each of 30
// others: no two pairs go together on one channel.
func conflicting(n int) *ir.ChunkDAG {
	p := newProgram(61, n, n, 0)
	p.sizes(func(r int) (in, out int) { return []int{n / 60, 0}[b2i(r == 0)] + 1, []int{n/60 + 30, n}[b2i(r == 0)] })
	for i := range n / 2 {
		from, to := 1+i%30, 31+(i/30)%30
		p.op(1, at(0, ir.Output, i), at(from, ir.Input, i/30))
		p.op(1, at(to, ir.Output, i/900*30+i%30), at(0, ir.Output, i))
	}
	return p.d
}

// manyBlocks reduces what 200 ranks send to rank 0 into chunks that all of them
// have a part in, and sends the results on.
func manyBlocks(n int) *ir.ChunkDAG {
	const blocks = 200
	rounds := max(1, n/(2*blocks))
	p := newProgram(blocks+1, rounds, rounds, rounds)
	for k := range rounds {
		p.op(1, at(0, ir.Scratch, k), at(0, ir.Input, k))
		for r := 1; r <= blocks; r++ {
			p.reduce(1, at(0, ir.Scratch, k), at(r, ir.Input, k))
		}
		for r := 1; r <= blocks; r++ {
			p.op(1, at(r, ir.Output, k), at(0, ir.Scratch, k))
		}
	}
	return p.d
}
