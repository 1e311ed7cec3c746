// Package codegentest has programs for the tests of all file formats. It also has hostile files, which make a careless
// reader hang or take too much memory.
package codegentest

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/irtest/parse"
)

// Ring is AllReduce round a ring, in place, as MSCCLang's example has it.
func Ring(ranks int) *either.Program {
	p := Empty("ring", &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks, Inplace: true})
	for r := range ranks {
		at := func(k int) int32 { return int32(((r-k)%ranks + ranks) % ranks) }
		var steps []ir.Step
		add := func(op ir.Op, k int) {
			s := ir.Step{Op: op, SrcBuf: ir.Input, DstBuf: ir.Input, Src: at(k), Dst: at(k), Count: 1, Class: at(k),
				DepBlock: -1, DepStep: -1, Pos: -1}
			s.ClearUnused()
			steps = append(steps, s)
		}
		add(ir.Send, 0)
		for k := 1; k < ranks-1; k++ {
			add(ir.RecvReduceSend, k)
		}
		add(ir.RecvReduceCopySend, ranks-1)
		for k := range ranks - 2 {
			add(ir.RecvCopySend, k)
		}
		add(ir.Recv, ranks-2)
		AddBlock(p, r, (r+1)%ranks, (r-1+ranks)%ranks, 0, steps...)
	}
	return p
}

// Pairs is AllReduce of two ranks out of place, whose second block waits.
func Pairs() *either.Program {
	p := Empty("pairs", &ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 1})
	for r := range 2 {
		step := func(op ir.Op, s ir.Buf, si int32, d ir.Buf, di int32) ir.Step {
			st := ir.Step{Op: op, SrcBuf: s, DstBuf: d, Src: si, Dst: di, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1}
			st.ClearUnused()
			return st
		}
		copied := step(ir.Copy, ir.Input, 0, ir.Output, 0)
		copied.Flags = ir.HasDep
		got := step(ir.Recv, ir.NoBuf, 0, ir.Scratch, 0)
		got.Flags = ir.HasDep
		sum := step(ir.Reduce, ir.Scratch, 0, ir.Output, 0)
		sum.DepBlock, sum.DepStep = 0, 1
		nop := ir.Step{Op: ir.Nop, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: 1, DepStep: 0, Pos: -1}
		AddBlock(p, r, 1-r, 1-r, 0, step(ir.Send, ir.Input, 0, ir.NoBuf, 0), got)
		AddBlock(p, r, -1, -1, 0, copied)
		AddBlock(p, r, -1, -1, 0, nop, sum)
		p.Scratch[r] = 1
	}
	return p
}

// Rooted is Gather or Scatter among three ranks with one message each,
// straight into place.
func Rooted(kind ir.Kind, inplace bool) *either.Program {
	const root = 1
	c := &ir.Collective{Kind: kind, Ranks: 3, Chunks: 2, Root: root, Inplace: inplace}
	p := Empty(kind.String(), c)
	step := func(op ir.Op, b ir.Buf, at int) ir.Step {
		s := ir.Step{Op: op, SrcBuf: b, DstBuf: b, Src: int32(at), Dst: int32(at), Count: 2, DepBlock: -1,
			DepStep: -1, Pos: -1}
		s.ClearUnused()
		return s
	}
	for r := range 3 {
		switch {
		case r == root:
			for _, peer := range []int{0, 2} {
				if kind == ir.Gather {
					AddBlock(p, r, -1, peer, 0, step(ir.Recv, ir.Output, 2*peer))
				} else {
					AddBlock(p, r, peer, -1, 0, step(ir.Send, ir.Input, 2*peer))
				}
			}
			copied := step(ir.Copy, ir.Input, 0)
			if copied.DstBuf = ir.Output; kind == ir.Gather {
				copied.Dst = 2 * root
			} else {
				copied.Src = 2 * root
			}
			if !inplace {
				AddBlock(p, r, -1, -1, 0, copied)
			}
		case kind == ir.Gather:
			AddBlock(p, r, root, -1, 0, step(ir.Send, ir.Input, 0))
		default:
			AddBlock(p, r, -1, root, 0, step(ir.Recv, ir.Output, 0))
		}
	}
	return p
}

// Empty returns a two-sided program of c without blocks. Its name is name.
func Empty(name string, c *ir.Collective) *either.Program {
	return either.OfFifo(&fifo.Program{Program: emptyTables(name, c)})
}

func emptyTables(name string, c *ir.Collective) ir.Program {
	return ir.Program{Header: ir.Header{Name: name, Coll: c, RanksPerNode: c.Ranks}, Scratch: make([]int32, c.Ranks),
		Even: true, InPlace: c.Inplace, OutOfPlace: !c.Inplace}
}

// AddBlock adds a block; ranks must come in order.
func AddBlock(p *either.Program, rank, send, recv, channel int, steps ...ir.Step) {
	for len(p.Rank) <= rank {
		p.Rank = append(p.Rank, ir.Range{First: int32(len(p.Blocks)), End: int32(len(p.Blocks))})
	}
	first := int32(len(p.Steps))
	p.Steps = append(p.Steps, steps...)
	p.Blocks = append(p.Blocks,
		ir.TB{Block: ir.Block{Rank: int32(rank), SendPeer: int32(send), RecvPeer: int32(recv), Channel: int32(channel)},
			Steps: ir.Range{First: first, End: int32(len(p.Steps))}})
	p.Rank[rank].End = int32(len(p.Blocks))
	p.Fifo.Channels = max(p.Fifo.Channels, channel+1)
}

// Chain returns one rank that reduces n chunks of scratch into one.
func Chain(n int) *either.Program {
	p := Empty("chain", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1, Inplace: true})
	var steps []ir.Step
	for i := range n {
		steps = append(steps, ir.Step{Op: ir.Reduce, SrcBuf: ir.Scratch, Src: int32(i), DstBuf: ir.Input, Count: 1,
			DepBlock: -1, DepStep: -1, Pos: -1})
	}
	AddBlock(p, 0, -1, -1, 0, steps...)
	p.Scratch[0] = int32(n)
	return p
}

// Swap is two ranks that exchange a chunk by packets and by flags; every
// operation, and every kind of operand.
func Swap() *either.Program {
	p, err := parse.Program("swap", []byte(`program swap
collective allreduce ranks=2 chunks=2 inplace
protocol LL
scratch 1,2
even
for inplace
onesided depth 2
packets 2,1
flags 1,2
block 0.0
  0 mv input[0] -> 1:packets[0]
  1 mv packets[0] + input[0] -> output[0] 1:scratch[1]@port final joint
  2 mv all:input[1]@switch -> all:output[1]@switch final
  3 signal 1:flags[0] leave
  4 wait flags[0] x1 leave
block 1.0
  0 mv input[0] -> 0:packets[0]
  1 mv 0:input[0] -> output[0]
  2 wait flags[0] x0 flags[1] x-1 leave
  3 signal 0:flags[0] flags[1] enter
`))
	if err != nil {
		panic(err)
	}
	return p
}

// Large returns a program of one block a rank, each step of which is a copy.
func Large(ranks, steps int) *either.Program {
	p := Empty("large", &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 8})
	list := make([]ir.Step, steps)
	for i := range list {
		at := int32(i % 8)
		list[i] = ir.Step{Op: ir.Copy, SrcBuf: ir.Input, DstBuf: ir.Output, Src: at, Dst: at, Count: 1, Class: at,
			DepBlock: -1, DepStep: -1, Pos: -1}
	}
	for r := range ranks {
		AddBlock(p, r, -1, -1, 0, list...)
	}
	return p
}
