package abi

import "mscclc/ir"

// Flags of a row beside ir.StepFlags: src is fresh, and what it is combined with.
const stepFresh, stepFreshWith = 64, 128

// step turns step number of the program into its row.
func (b *imageBuilder) step(s *ir.Step, number int) Step {
	info, flags := s.Op.Info(), s.Flags
	if info.ReadsSrc {
		b.operand(s, s.SrcBuf, s.Src)
	}
	if info.Writes {
		b.operand(s, s.DstBuf, s.Dst)
	}
	b.img.Final = b.img.Final || flags&ir.Final != 0
	if s.Op == ir.Nop {
		flags &^= ir.HasDep // it is one with the step after it, and says nothing of its own
	}
	row := uint8(flags)
	if b.fresh != nil && b.fresh.Src[number] {
		row |= stepFresh
	}
	if b.fresh != nil && b.fresh.With[number] {
		row |= stepFreshWith
	}
	return Step{Op: uint8(s.Op), SrcBuf: uint8(s.SrcBuf), DstBuf: uint8(s.DstBuf), Flags: row,
		Count: uint32(s.Count), Src: uint32(s.Src), Dst: uint32(s.Dst), Class: uint32(s.Class),
		DepBlock: s.DepBlock, DepStep: s.DepStep, Chain: 1}
}

// operand notes where the classes of an operand of s are not the step's.
func (b *imageBuilder) operand(s *ir.Step, buf ir.Buf, index int32) {
	if buf != ir.Scratch && b.p.Coll.Class(int(index)) != int(s.Class) {
		b.img.Even = true
	}
}

// chain finds the runs of re that one multi-source reduction does: steps that ir.Chained chains, cut after one that is
// final, and before one of another class.
func chain(steps []Step) {
	const ends = uint8(ir.HasDep | ir.Final)
	for i := 0; i < len(steps); {
		head := &steps[i]
		j := i + 1
		for head.Op == uint8(ir.Reduce) && j < len(steps) && steps[j-1].Flags&ends == 0 && joins(head, &steps[j]) {
			j++
		}
		head.Chain = uint32(j - i)
		i = j
	}
}

func joins(head, s *Step) bool {
	return s.Op == head.Op && s.DepBlock < 0 && s.SrcBuf == head.SrcBuf && s.DstBuf == head.DstBuf && s.Dst == head.Dst &&
		s.Class == head.Class
}
