//go:build cgo

package cpu

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// A oneProgram makes one-sided programs by hand, with one block a rank, or more.
type oneProgram struct {
	p     *either.Program
	steps [][][]ir.Step // by rank and block
}

func newOne(name string, c *ir.Collective, proto ir.Protocol, depth, scratch, packets, flags int) *oneProgram {
	p := either.OfOneSided(&onesided.Program{Program: ir.Program{
		Header: ir.Header{Name: name, Coll: c, Protocol: proto, RanksPerNode: c.Ranks}}, Depth: int32(depth)})
	for range c.Ranks {
		p.Scratch = append(p.Scratch, int32(scratch))
		p.OneSided.Packets = append(p.OneSided.Packets, int32(packets))
		p.OneSided.Flags = append(p.OneSided.Flags, int32(flags))
	}
	return &oneProgram{p: p, steps: make([][][]ir.Step, c.Ranks)}
}

func at(rank int, buf ir.Buf, index int) onesided.Operand {
	x := onesided.Operand{Rank: int32(rank), Buf: buf, Index: int32(index)}
	if rank == ir.AllRanks {
		x.Via = ir.ViaSwitch
	}
	return x
}

// each returns what of gives for all ranks but r, beginning after it.
func (b *oneProgram) each(r int, of func(q int) onesided.Operand) []onesided.Operand {
	var list []onesided.Operand
	for k := 1; k < b.p.Coll.Ranks; k++ {
		list = append(list, of((r+k)%b.p.Coll.Ranks))
	}
	return list
}

// add adds a step to the last block of a rank, at position name:rank+1:step+1.
func (b *oneProgram) add(rank int, op ir.Op, src, dst []onesided.Operand, flags ir.StepFlags) *ir.Step {
	if b.steps[rank] == nil {
		b.block(rank)
	}
	steps := &b.steps[rank][len(b.steps[rank])-1]
	b.p.Spans = append(b.p.Spans,
		diag.Span{Pos: diag.Pos{Filename: b.p.Name + ".mscl", Line: rank + 1, Column: len(*steps) + 1}})
	o := b.p.OneSided
	s := ir.Step{Op: op, Flags: flags, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1,
		Pos: int32(len(b.p.Spans) - 1), Src: int32(len(o.Operands)), NSrc: int16(len(src)),
		Dst: int32(len(o.Operands) + len(src)), NDst: int16(len(dst))}
	o.Operands = append(append(o.Operands, src...), dst...)
	*steps = append(*steps, s)
	return &(*steps)[len(*steps)-1]
}

func (b *oneProgram) block(rank int) { b.steps[rank] = append(b.steps[rank], nil) }

func (b *oneProgram) move(rank, count, class int, src, dst []onesided.Operand, flags ir.StepFlags) {
	s := b.add(rank, ir.Move, src, dst, flags)
	s.Count, s.Class = int32(count), int32(class)
}

// flag signals the others' flag first + rank, and awaits first + each other of its own.
func (b *oneProgram) signal(rank, first int, flags ir.StepFlags) {
	b.add(rank, ir.Signal, nil, b.each(rank, func(q int) onesided.Operand { return at(q, ir.Flags, first+rank) }), flags)
}

func (b *oneProgram) await(rank, first, nth int, flags ir.StepFlags) {
	b.add(rank, ir.Await, b.each(rank, func(q int) onesided.Operand {
		o := at(rank, ir.Flags, first+q)
		o.Nth = int32(nth)
		return o
	}), nil, flags)
}

func (b *oneProgram) program() *either.Program {
	p := b.p
	for r, blocks := range b.steps {
		first := int32(len(p.Blocks))
		for _, steps := range blocks {
			at := int32(len(p.Steps))
			p.Steps = append(p.Steps, steps...)
			p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: int32(r), SendPeer: -1, RecvPeer: -1},
				Steps: ir.Range{First: at, End: int32(len(p.Steps))}})
		}
		p.Rank = append(p.Rank, ir.Range{First: first, End: int32(len(p.Blocks))})
	}
	return p
}

func allReduce(ranks, chunks int, inplace bool) *ir.Collective {
	return &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: chunks, Inplace: inplace}
}

func ops(list ...onesided.Operand) []onesided.Operand { return list }

// onePhase sends all to all, and folds what comes: as packets, or plainly with a
// flag for each pair, whose buffers rotate or, with a depth of 1, are given back.
func onePhase(ranks, chunks int, proto ir.Protocol, depth int, inplace bool) *either.Program {
	slots, scratch, packets, buf := ranks*chunks, 0, ranks*chunks, ir.Packets
	if proto == ir.Simple {
		scratch, packets, buf = slots, 0, ir.Scratch
	}
	b := newOne(fmt.Sprintf("one%d", ranks), allReduce(ranks, chunks, inplace), proto, depth, scratch, packets, 2*ranks)
	for r := range ranks {
		if depth == 1 {
			b.await(r, ranks, 0, 0)
		}
		b.move(r, chunks, 0, ops(at(r, ir.Input, 0)), b.each(r, func(q int) onesided.Operand {
			return at(q, buf, r*chunks)
		}), 0)
		if proto == ir.Simple {
			b.signal(r, 0, 0)
			b.await(r, 0, 1, 0)
		}
		src := append(ops(at(r, ir.Input, 0)), b.each(r, func(q int) onesided.Operand { return at(r, buf, q*chunks) })...)
		b.move(r, chunks, 0, src, ops(at(r, ir.Output, 0)), ir.Final)
		if depth == 1 {
			b.signal(r, ranks, 0)
		}
	}
	return b.program()
}

// twoPhases has rank r fold the chunks r*per and following, and send the sums to all.
func twoPhases(ranks, per int, inplace bool) *either.Program {
	b := newOne(fmt.Sprintf("two%d", ranks), allReduce(ranks, ranks*per, inplace), ir.LL, 2, 0, 2*ranks*per, 0)
	for r := range ranks {
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.move(r, per, q*per, ops(at(r, ir.Input, q*per)), ops(at(q, ir.Packets, r*per)), joint(k > 1))
		}
		src := append(ops(at(r, ir.Input, r*per)), b.each(r, func(q int) onesided.Operand {
			return at(r, ir.Packets, q*per)
		})...)
		dst := append(ops(at(r, ir.Output, r*per)),
			b.each(r, func(q int) onesided.Operand { return at(q, ir.Packets, (ranks+r)*per) })...)
		b.move(r, per, r*per, src, dst, ir.Final)
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.move(r, per, q*per, ops(at(r, ir.Packets, (ranks+q)*per)), ops(at(r, ir.Output, q*per)), joint(k > 1))
		}
	}
	return b.program()
}

func joint(is bool) ir.StepFlags {
	if is {
		return ir.Joint
	}
	return 0
}

// push has rank r fold chunk r, and store the sum into everybody's output, whose launch must have
// begun for that; nobody's ends before it has all.
func push(ranks int, inplace bool) *either.Program {
	b := newOne(fmt.Sprintf("push%d", ranks), allReduce(ranks, ranks, inplace), ir.Simple, 2, ranks, 0, 3*ranks)
	for r := range ranks {
		b.signal(r, ranks, ir.Enter)
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.move(r, 1, q, ops(at(r, ir.Input, q)), ops(at(q, ir.Scratch, r)), joint(k > 1))
		}
		b.signal(r, 0, 0)
		b.await(r, 0, 1, 0)
		b.await(r, ranks, 1, ir.Enter)
		src := append(ops(at(r, ir.Input, r)), b.each(r, func(q int) onesided.Operand { return at(r, ir.Scratch, q) })...)
		b.move(r, 1, r, src,
			append(ops(at(r, ir.Output, r)), b.each(r, func(q int) onesided.Operand { return at(q, ir.Output, r) })...),
			ir.Final)
		b.signal(r, 2*ranks, ir.Leave)
		b.await(r, 2*ranks, 1, ir.Leave)
	}
	return b.program()
}

// pull has everybody read all inputs, or the switch do so.
func pull(ranks int, via ir.Via) *either.Program {
	b := newOne(fmt.Sprintf("pull%d", ranks), allReduce(ranks, 1, false), ir.Simple, 1, 0, 0, 2*ranks)
	for r := range ranks {
		b.signal(r, 0, ir.Enter)
		b.await(r, 0, 1, ir.Enter)
		src := append(ops(at(r, ir.Input, 0)), b.each(r, func(q int) onesided.Operand { return at(q, ir.Input, 0) })...)
		if via == ir.ViaSwitch {
			src = ops(at(ir.AllRanks, ir.Input, 0))
		}
		for i := range src {
			src[i].Via = via
		}
		b.move(r, 1, 0, src, ops(at(r, ir.Output, 0)), ir.Final)
		b.signal(r, ranks, ir.Leave)
		b.await(r, ranks, 1, ir.Leave)
	}
	return b.program()
}

// throughSwitch has rank r reduce chunk r of all, and write all ranks'.
func throughSwitch(ranks int, inplace bool) *either.Program {
	b := newOne(fmt.Sprintf("switch%d", ranks), allReduce(ranks, ranks, inplace), ir.Simple, 1, 0, 0, 2*ranks)
	for r := range ranks {
		b.signal(r, 0, ir.Enter)
		b.await(r, 0, 1, ir.Enter)
		b.move(r, 1, r, ops(at(ir.AllRanks, ir.Input, r)), ops(at(ir.AllRanks, ir.Output, r)), ir.Final)
		b.signal(r, ranks, ir.Leave)
		b.await(r, ranks, 1, ir.Leave)
	}
	return b.program()
}

// gather sends everybody's pieces of several chunks, from a block for each peer.
func gather(ranks, chunks int, inplace bool) *either.Program {
	b := newOne(fmt.Sprintf("gather%d", ranks), &ir.Collective{Kind: ir.AllGather, Ranks: ranks, Chunks: chunks,
		Inplace: inplace}, ir.LL128, 2, 0, ranks*chunks, 0)
	for r := range ranks {
		for k := 1; k < ranks; k++ {
			q := (r + k) % ranks
			b.block(r)
			b.move(r, chunks, 0, ops(at(r, ir.Input, 0)), ops(at(q, ir.Packets, r*chunks)), 0)
			b.move(r, chunks, 0, ops(at(r, ir.Packets, q*chunks)), ops(at(r, ir.Output, q*chunks)), ir.Joint)
		}
		if !inplace {
			b.block(r)
			b.move(r, chunks, 0, ops(at(r, ir.Input, 0)), ops(at(r, ir.Output, r*chunks)), 0)
		}
	}
	return b.program()
}
