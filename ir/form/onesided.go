package form

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// maxDepth bounds the copies of scratch and packets.
const maxDepth = 1 << 16

// oneSided checks the tables that only a one-sided program has: the lengths of
// its buffers and, as ir.OneSided says of their form, the rows of its operands.
func (f *checker) oneSided() bool {
	p, o := f.p, f.p.OneSided
	n := p.Coll.Ranks
	if o.Depth < 1 || o.Depth > maxDepth || len(o.Packets) > n || len(o.Flags) > n {
		return f.bad("one-sided program of %d ranks has %d copies of packets of %d and flags of %d", n, o.Depth, len(o.Packets), len(o.Flags))
	}
	for r := range n {
		if o.PacketsOf(r) < 0 || o.FlagsOf(r) < 0 {
			return f.bad("rank %d has packets or flags of a negative number", r)
		}
	}
	next := int64(0)
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.NSrc < 0 || s.NDst < 0 || int64(s.Src) != next || int64(s.Dst) != next+int64(s.NSrc) {
			return f.bad("step %d of the program does not hold the operands from %d", i, next)
		}
		if next = int64(s.Dst) + int64(s.NDst); next > int64(len(o.Operands)) {
			return f.bad("step %d of the program has operands up to %d of %d", i, next, len(o.Operands))
		}
	}
	if next != int64(len(o.Operands)) {
		return f.bad("program has %d operands that belong to no step", int64(len(o.Operands))-next)
	}
	return true
}

// oneSidedCells is what the buffers of rank r that only one-sided programs have
// add to its cells: packets and flags, and the copies of them and of scratch.
func oneSidedCells(p *ir.Program, r int) int64 {
	o := p.OneSided
	if o == nil {
		return 0
	}
	return (int64(o.PacketsOf(r))+int64(p.ScratchOf(r)))*int64(o.Depth) + int64(o.FlagsOf(r)) - int64(p.ScratchOf(r))
}

// oneSidedStepFault says what is wrong with a step of rank r, or nothing.
func (f *checker) oneSidedStepFault(r int, s *ir.Step) (string, diag.Code) {
	p := f.p
	if s.Op >= ir.NumOps || !s.Op.Info().OneSided || s.Flags&^(ir.Final|ir.Joint|ir.Enter|ir.Leave|ir.Relaxed|ir.Loose) != 0 {
		return fmt.Sprintf("operation %d with flags %d is none of a one-sided program", s.Op, s.Flags), diag.Malformed
	}
	moves := s.Op == ir.Move
	switch {
	case s.SrcBuf != ir.NoBuf || s.DstBuf != ir.NoBuf || s.DepBlock != -1 || s.DepStep != -1:
		return fmt.Sprintf("%s has a buffer or a wait of two-sided steps", s.Op), diag.Malformed
	case s.Pos < -1 || int(s.Pos) >= len(p.Spans):
		return fmt.Sprintf("source position %d is none", s.Pos), diag.Malformed
	case s.Class < 0 || s.Class > 0 && (!moves || int(s.Class) >= p.Coll.Chunks):
		return fmt.Sprintf("%s of class %d is none of %d", s.Op, s.Class, p.Coll.Chunks), diag.Malformed
	case (s.Count < 1) == moves || s.Count < 0:
		return fmt.Sprintf("%s moves %d chunks", s.Op, s.Count), diag.Malformed
	case (s.NSrc > 0) != (s.Op != ir.Signal) || (s.NDst > 0) != (s.Op != ir.Await):
		return fmt.Sprintf("%s has %d sources and %d destinations", s.Op, s.NSrc, s.NDst), diag.Malformed
	}
	for _, list := range [][]ir.Operand{p.OneSided.Sources(s), p.OneSided.Dests(s)} {
		for i := range list {
			if text, code := f.oneSidedOperandFault(r, s, &list[i]); text != "" {
				return text, code
			}
		}
	}
	return "", ""
}

// oneSidedOperandFault says what is wrong with an operand of s, or nothing.
func (f *checker) oneSidedOperandFault(r int, s *ir.Step, x *ir.Operand) (string, diag.Code) {
	p := f.p
	count := s.Count
	if s.Op != ir.Move {
		count = 1
	}
	switch {
	case x.Buf > ir.Flags || (x.Buf == ir.Flags) == (s.Op == ir.Move):
		return fmt.Sprintf("%s has an operand in buffer %d", s.Op, x.Buf), diag.Malformed
	case x.Via > ir.ViaSwitch || x.Via != ir.ViaAny && s.Op != ir.Move || x.Nth != 0 && s.Op != ir.Await:
		return fmt.Sprintf("%s has an operand by way %d and %d times", s.Op, x.Via, x.Nth), diag.Malformed
	case (x.Rank == ir.AllRanks) != (x.Via == ir.ViaSwitch):
		return fmt.Sprintf("an operand of rank %d goes by way %d: all ranks are the switch's", x.Rank, x.Via), diag.Malformed
	case x.Rank != ir.AllRanks && (x.Rank < 0 || int(x.Rank) >= p.Coll.Ranks):
		return fmt.Sprintf("rank %d is beyond the last of %d ranks", x.Rank, p.Coll.Ranks), diag.OutOfBounds
	case s.Op == ir.Await && int(x.Rank) != r:
		return fmt.Sprintf("a flag of rank %d is awaited by rank %d", x.Rank, r), diag.Malformed
	}
	size := f.lengthOf(x)
	if x.Index < 0 || int64(x.Index)+int64(count) > size {
		return fmt.Sprintf("%s %d to %d are outside the %d of rank %d", x.Buf, x.Index, int64(x.Index)+int64(count)-1, size, x.Rank), diag.OutOfBounds
	}
	return "", ""
}

// lengthOf is the length of the buffer of x, the shortest of all ranks' where it
// is all ranks'.
func (f *checker) lengthOf(x *ir.Operand) int64 {
	if x.Rank != ir.AllRanks {
		return lengthAt(f.p, int(x.Rank), x.Buf)
	}
	if f.shortest == nil {
		f.shortest = new([ir.Flags + 1]int64)
		for b := range f.shortest {
			f.shortest[b] = math.MaxInt32
			for r := range f.p.Coll.Ranks {
				f.shortest[b] = min(f.shortest[b], lengthAt(f.p, r, ir.Buf(b)))
			}
		}
	}
	return f.shortest[x.Buf]
}

func lengthAt(p *ir.Program, rank int, b ir.Buf) int64 {
	switch b {
	case ir.Input:
		return int64(p.Coll.InChunks(rank))
	case ir.Output:
		return int64(p.Coll.OutChunks(rank))
	case ir.Scratch:
		return int64(p.ScratchOf(rank))
	case ir.Packets:
		return int64(p.OneSided.PacketsOf(rank))
	}
	return int64(p.OneSided.FlagsOf(rank))
}
