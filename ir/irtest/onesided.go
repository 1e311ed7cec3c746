package irtest

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// A OneSided makes a one-sided program, block by block in the order of ranks.
type OneSided struct{ Program *either.Program }

// NewOneSided begins a program of coll, with numbers of chunks of
// scratch and packets per rank, in depth copies, and a number of flags per rank.
func NewOneSided(coll ir.Collective, protocol ir.Protocol, depth, scratch, packets, flags int) *OneSided {
	p := either.OfOneSided(&onesided.Program{Depth: int32(depth)})
	p.Header = ir.Header{Name: "one-sided", Coll: &coll, Protocol: protocol}
	for range coll.Ranks {
		p.Scratch = append(p.Scratch, int32(scratch))
		p.OneSided.Packets = append(p.OneSided.Packets, int32(packets))
		p.OneSided.Flags = append(p.OneSided.Flags, int32(flags))
	}
	return &OneSided{p}
}

// Block begins a block of a rank.
func (b *OneSided) Block(rank int) {
	for len(b.Program.Rank) <= rank {
		at := int32(len(b.Program.Blocks))
		b.Program.Rank = append(b.Program.Rank, ir.Range{First: at, End: at})
	}
	b.Program.Rank[rank].End++
	at := int32(len(b.Program.Steps))
	b.Program.Blocks = append(b.Program.Blocks, ir.TB{Block: ir.Block{Rank: int32(rank), SendPeer: -1, RecvPeer: -1},
		Steps: ir.Range{First: at, End: at}})
}

// Done returns the program.
func (b *OneSided) Done() *either.Program {
	for len(b.Program.Rank) < b.Program.Coll.Ranks {
		at := int32(len(b.Program.Blocks))
		b.Program.Rank = append(b.Program.Rank, ir.Range{First: at, End: at})
	}
	return b.Program
}

func (b *OneSided) step(op ir.Op, count int, srcs, dsts []onesided.Operand, marks []ir.StepFlags) {
	s := ir.Step{Op: op, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Count: int32(count), DepBlock: -1, DepStep: -1, Pos: -1}
	for _, m := range marks {
		s.Flags |= m
	}
	o := b.Program.OneSided
	s.Src, s.NSrc = int32(len(o.Operands)), int16(len(srcs))
	s.Dst, s.NDst = s.Src+int32(len(srcs)), int16(len(dsts))
	o.Operands = append(append(o.Operands, srcs...), dsts...)
	b.Program.Steps = append(b.Program.Steps, s)
	b.Program.Blocks[len(b.Program.Blocks)-1].Steps.End++
}

// Move moves count chunks; the class is that of the first operand in input or output.
func (b *OneSided) Move(count int, srcs, dsts []onesided.Operand, marks ...ir.StepFlags) {
	b.step(ir.Move, count, srcs, dsts, marks)
	for _, x := range append(append([]onesided.Operand{}, dsts...), srcs...) {
		if x.Buf <= ir.Output {
			b.Program.Steps[len(b.Program.Steps)-1].Class = int32(b.Program.Coll.Class(int(x.Index)))
		}
	}
}

// Signal raises flags.
func (b *OneSided) Signal(flags []onesided.Operand, marks ...ir.StepFlags) {
	b.step(ir.Signal, 0, nil, flags, marks)
}

// Await waits for flags.
func (b *OneSided) Await(flags []onesided.Operand, marks ...ir.StepFlags) {
	b.step(ir.Await, 0, flags, nil, marks)
}

// ChunkOf returns a chunk of a rank, or of all ranks by way of the switch.
func ChunkOf(rank int, buf ir.Buf, index int) onesided.Operand {
	x := onesided.Operand{Rank: int32(rank), Buf: buf, Index: int32(index)}
	if rank == ir.AllRanks {
		x.Via = ir.ViaSwitch
	}
	return x
}

// Operands lists operands.
func Operands(list ...onesided.Operand) []onesided.Operand { return list }

// FlagOf returns a flag of a rank; nth is which signal of it an Await waits for.
func FlagOf(rank, index, nth int) onesided.Operand {
	return onesided.Operand{Rank: int32(rank), Buf: ir.Flags, Index: int32(index), Nth: int32(nth)}
}

// ToOthers lists f of each rank but r, from the rank after r on.
func ToOthers(ranks, r int, f func(q int) onesided.Operand) (list []onesided.Operand) {
	for k := 1; k < ranks; k++ {
		list = append(list, f((r+k)%ranks))
	}
	return list
}

// JointFrom returns the marks of move k of a joint group: all but the first are joint.
func JointFrom(k int) []ir.StepFlags {
	if k > 0 {
		return []ir.StepFlags{ir.Joint}
	}
	return nil
}
