package abi

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// step checks one step and turns it into its row.
func (b *imageBuilder) step(rank, block, number int, s *ir.Step, tb *Block) (Step, error) {
	fault := func(code diag.Code, format string, args ...any) (Step, error) {
		return Step{}, b.fault(code, rank, block, number, s.Pos, format, args...)
	}
	if s.Op >= ir.NumOps || s.Op.Info().OneSided {
		return fault(diag.Malformed, "has operation %d", s.Op)
	}
	info := s.Op.Info()
	if s.Count < 0 || s.Class < 0 || int(s.Class) >= b.p.Coll.Chunks {
		return fault(diag.Malformed, "(%s) moves %d chunks of class %d", s.Op, s.Count, s.Class)
	}
	if info.Sends && tb.Send < 0 || info.Receives && tb.Recv < 0 {
		return fault(diag.Malformed, "(%s) is in a block without that peer", s.Op)
	}
	src, dst := -1, -1
	if info.ReadsSrc {
		if src = b.operand(rank, s.SrcBuf, s.Src, s); src < 0 {
			return fault(diag.OutOfBounds, "(%s) reads %d chunks from %d of %s", s.Op, s.Count, s.Src, bufName(s.SrcBuf))
		}
	}
	if info.Writes {
		if dst = b.operand(rank, s.DstBuf, s.Dst, s); dst < 0 {
			return fault(diag.OutOfBounds, "(%s) writes %d chunks from %d of %s", s.Op, s.Count, s.Dst, bufName(s.DstBuf))
		}
	}
	if info.ReadsSrc && info.Writes && src != dst && overlap(src, dst, int(s.Count)) {
		return fault(diag.Overlap, "(%s) reads and writes chunks that overlap in part", s.Op)
	}
	if err := b.dep(rank, block, number, s); err != nil {
		return Step{}, err
	}
	b.img.Final = b.img.Final || s.Flags&ir.Final != 0
	flags := s.Flags
	if s.Op == ir.Nop {
		flags &^= ir.HasDep // it is one with the step behind it, and says nothing of its own
	}
	return Step{Op: uint8(s.Op), SrcBuf: uint8(s.SrcBuf), DstBuf: uint8(s.DstBuf), Flags: uint8(flags),
		Count: uint32(s.Count), Src: uint32(s.Src), Dst: uint32(s.Dst), Class: uint32(s.Class),
		DepBlock: max(s.DepBlock, -1), DepStep: s.DepStep, Chain: 1}, nil
}

// operand gives the first cell of an operand, or -1 where it is not inside its
// buffer. It notes where an operand's classes are not the step's.
func (b *imageBuilder) operand(rank int, buf ir.Buf, index int32, s *ir.Step) int {
	if index < 0 || int(index)+int(s.Count) > b.img.Chunks(rank, buf) {
		return -1
	}
	if buf != ir.Scratch && b.p.Coll.Class(int(index)) != int(s.Class) {
		b.img.Even = true
	}
	return b.mem.Cell(rank, buf, int(index))
}

// dep checks what a step waits for.
func (b *imageBuilder) dep(rank, block, number int, s *ir.Step) error {
	if s.DepBlock < 0 {
		return nil
	}
	blocks := b.p.TBsOf(rank)
	if int(s.DepBlock) >= len(blocks) {
		return b.fault(diag.OutOfBounds, rank, block, number, s.Pos, "(%s) waits for block %d of %d", s.Op, s.DepBlock, len(blocks))
	}
	of := blocks[s.DepBlock].Steps
	if s.DepStep < 0 || s.DepStep >= of.End-of.First {
		return b.fault(diag.OutOfBounds, rank, block, number, s.Pos, "(%s) waits for step %d of block %d, which has %d", s.Op, s.DepStep, s.DepBlock, of.End-of.First)
	}
	return nil
}

// chain finds the runs of re that one multi-source reduction does: steps with
// the same dst and the same source buffer, of which only the first waits and
// only the last is waited for or final. A source that is dst itself must see
// what the steps before it made, and so begins a chain of its own.
func (b *imageBuilder) chain(rank int, steps []Step) {
	const ends = uint8(ir.HasDep | ir.Final)
	for i := 0; i < len(steps); {
		head := &steps[i]
		j := i + 1
		for head.Op == uint8(ir.Reduce) && j < len(steps) && steps[j-1].Flags&ends == 0 && b.joins(rank, head, &steps[j]) {
			j++
		}
		head.Chain = uint32(j - i)
		i = j
	}
}

func (b *imageBuilder) joins(rank int, head, s *Step) bool {
	if s.Op != head.Op || s.DepBlock >= 0 || s.SrcBuf != head.SrcBuf || s.DstBuf != head.DstBuf || s.Dst != head.Dst || s.Count != head.Count || s.Class != head.Class {
		return false
	}
	src := b.mem.Cell(rank, ir.Buf(s.SrcBuf), int(s.Src))
	dst := b.mem.Cell(rank, ir.Buf(s.DstBuf), int(s.Dst))
	return !overlap(src, dst, int(s.Count))
}

// overlap says whether runs of n cells from a and from b have one in common.
func overlap(a, b, n int) bool { return a < b+n && b < a+n }

func bufName(b ir.Buf) string {
	switch b {
	case ir.Input:
		return "input"
	case ir.Output:
		return "output"
	case ir.Scratch:
		return "scratch"
	}
	return "no buffer"
}
