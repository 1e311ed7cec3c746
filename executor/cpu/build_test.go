//go:build cgo

package cpu

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
)

// A builder makes programs by hand: blocks by rank, steps in order.
type builder struct {
	p      *either.Program
	blocks [][]protoBlock // by rank
}

type protoBlock struct {
	ir.Block
	steps []ir.Step
}

func newBuilder(name string, c *ir.Collective, scratch int) *builder {
	p := either.OfFifo(&fifo.Program{Program: ir.Program{Header: ir.Header{Name: name, Coll: c, RanksPerNode: c.Ranks},
		Scratch: make([]int32, c.Ranks)}})
	for r := range p.Scratch {
		p.Scratch[r] = int32(scratch)
	}
	return &builder{p: p, blocks: make([][]protoBlock, c.Ranks)}
}

// block adds a block and returns its number within its rank.
func (b *builder) block(rank, send, recv, channel int) int {
	b.blocks[rank] = append(b.blocks[rank],
		protoBlock{Block: ir.Block{Rank: int32(rank), SendPeer: int32(send), RecvPeer: int32(recv), Channel: int32(channel)}})
	b.p.Fifo.Channels = max(b.p.Fifo.Channels, channel+1)
	return len(b.blocks[rank]) - 1
}

type operand struct {
	buf   ir.Buf
	index int
}

var none = operand{ir.NoBuf, 0}

func input(i int) operand   { return operand{ir.Input, i} }
func output(i int) operand  { return operand{ir.Output, i} }
func scratch(i int) operand { return operand{ir.Scratch, i} }

// step adds a step whose class is that of the first operand in input or output,
// or class where there is none. Its position is file:rank+1:step+1.
func (b *builder) step(rank, block int, op ir.Op, src, dst operand, count, class int) *ir.Step {
	steps := &b.blocks[rank][block].steps
	b.p.Spans = append(b.p.Spans,
		diag.Span{Pos: diag.Pos{Filename: b.p.Name + ".mscl", Line: rank + 1, Column: len(*steps) + 1}})
	for _, o := range [2]operand{dst, src} {
		if o.buf == ir.Input || o.buf == ir.Output {
			class = b.p.Coll.Class(o.index)
		}
	}
	*steps = append(*steps, ir.Step{Op: op, SrcBuf: src.buf, DstBuf: dst.buf, Src: int32(src.index), Dst: int32(dst.index),
		Count: int32(count), Class: int32(class), DepBlock: -1, DepStep: -1, Pos: int32(len(b.p.Spans) - 1)})
	return &(*steps)[len(*steps)-1]
}

// waits makes the last step of a block wait for the last step so far of another.
func (b *builder) waits(rank, block, on int) {
	steps := b.blocks[rank][block].steps
	other := b.blocks[rank][on].steps
	last := &steps[len(steps)-1]
	last.DepBlock, last.DepStep = int32(on), int32(len(other)-1)
	other[len(other)-1].Flags |= ir.HasDep
}

// program freezes what was built. Programs that move several chunks at once are
// for sizes at which a message holds them all.
func (b *builder) program() *either.Program {
	for _, blocks := range b.blocks {
		first := int32(len(b.p.Blocks))
		for _, block := range blocks {
			at := int32(len(b.p.Steps))
			for i := range block.steps {
				if block.steps[i].Count > 1 {
					b.p.Sizes.Max = 1 << 20
				}
			}
			b.p.Steps = append(b.p.Steps, block.steps...)
			b.p.Blocks = append(b.p.Blocks, ir.TB{Block: block.Block, Steps: ir.Range{First: at, End: int32(len(b.p.Steps))}})
		}
		b.p.Rank = append(b.p.Rank, ir.Range{First: first, End: int32(len(b.p.Blocks))})
	}
	return b.p
}

// ringAllReduce returns algorithms/allreduce/ring.mscl with one block a rank: s, rrs..., rrcs,
// rcs..., r. Out of place it copies nothing first: rrcs and rcs write to output.
func ringAllReduce(ranks int, inplace bool) *either.Program {
	b := newBuilder(fmt.Sprintf("ring%d", ranks), &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks,
		Inplace: inplace}, 0)
	for r := range ranks {
		chunk := func(k int) int { return ((r-k)%ranks + ranks) % ranks }
		b.block(r, (r+1)%ranks, (r+ranks-1)%ranks, 0)
		b.step(r, 0, ir.Send, input(chunk(0)), none, 1, 0)
		for k := 1; k < ranks-1; k++ {
			b.step(r, 0, ir.RecvReduceSend, input(chunk(k)), none, 1, 0)
		}
		b.step(r, 0, ir.RecvReduceCopySend, input(chunk(ranks-1)), output(chunk(ranks-1)), 1, 0).Flags |= ir.Final
		for k := 0; k < ranks-2; k++ {
			b.step(r, 0, ir.RecvCopySend, none, output(chunk(k)), 1, 0)
		}
		b.step(r, 0, ir.Recv, none, output(chunk(ranks-2)), 1, 0)
	}
	return b.program()
}

// ringAllGather passes pieces of several chunks round, a piece a transfer.
func ringAllGather(ranks, chunks int, inplace bool) *either.Program {
	b := newBuilder(fmt.Sprintf("gather%d", ranks), &ir.Collective{Kind: ir.AllGather, Ranks: ranks, Chunks: chunks,
		Inplace: inplace}, 0)
	for r := range ranks {
		piece := func(k int) operand { return output(((r-k)%ranks + ranks) % ranks * chunks) }
		b.block(r, (r+1)%ranks, (r+ranks-1)%ranks, 0)
		if !inplace {
			b.step(r, 0, ir.Copy, input(0), piece(0), chunks, 0)
		}
		b.step(r, 0, ir.Send, input(0), none, chunks, 0)
		for k := 1; k < ranks-1; k++ {
			b.step(r, 0, ir.RecvCopySend, none, piece(k), chunks, 0)
		}
		b.step(r, 0, ir.Recv, none, piece(ranks-1), chunks, 0)
	}
	return b.program()
}

// allPairs gathers chunk r of everybody in rank r's scratch, reduces it there in
// one chain, which waits for all receives by nops, and hands the sum out.
func allPairs(ranks, per int, inplace bool) *either.Program {
	b := newBuilder(fmt.Sprintf("pairs%d", ranks), &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: ranks * per,
		Inplace: inplace}, ranks*per)
	for r := range ranks {
		peers := make([]int, 0, ranks-1)
		for k := 1; k < ranks; k++ {
			peers = append(peers, (r+k)%ranks)
		}
		home := b.block(r, -1, -1, 0)
		for _, p := range peers {
			block := b.block(r, p, p, 0)
			b.step(r, block, ir.Send, input(p*per), none, per, 0)
			b.step(r, block, ir.Recv, none, scratch(p*per), per, r*per)
		}
		if !inplace {
			b.step(r, home, ir.Copy, input(r*per), output(r*per), per, 0)
		}
		for i := range peers[1:] {
			b.step(r, home, ir.Nop, none, none, 0, 0)
			b.waits(r, home, i+1)
		}
		for i, p := range peers {
			s := b.step(r, home, ir.Reduce, scratch(p*per), output(r*per), per, 0)
			if i == 0 {
				b.waits(r, home, len(peers))
			}
			if i == len(peers)-1 {
				s.Flags |= ir.Final
			}
		}
		for i, p := range peers {
			b.step(r, i+1, ir.Send, output(r*per), none, per, 0)
			b.waits(r, i+1, home)
			b.step(r, i+1, ir.Recv, none, output(p*per), per, 0)
		}
	}
	return b.program()
}

// allToAll sends everybody its piece, chunks at once.
func allToAll(ranks, chunks int) *either.Program {
	b := newBuilder(fmt.Sprintf("exchange%d", ranks), &ir.Collective{Kind: ir.AllToAll, Ranks: ranks, Chunks: chunks}, 0)
	for r := range ranks {
		local := b.block(r, -1, -1, 0)
		b.step(r, local, ir.Copy, input(r*chunks), output(r*chunks), chunks, 0)
		for k := 1; k < ranks; k++ {
			p := (r + k) % ranks
			block := b.block(r, p, p, 0)
			b.step(r, block, ir.Send, input(p*chunks), none, chunks, 0)
			b.step(r, block, ir.Recv, none, output(p*chunks), chunks, 0)
		}
	}
	return b.program()
}
