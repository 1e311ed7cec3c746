package abi

import (
	"math"
	"math/bits"

	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/epilogue"
)

// This file makes launches of few packets (kernels/few/pairs.h) of those that can be: one pass over
// Moves of one block, whose operands are packets and the rank's own memory, where every address is
// aligned and every chunk and every replica has something to move. What the general kernel finds out on its way
// is found out here.

// FewRowUnits is how many units of 16 bytes of a row a thread holds.
const FewRowUnits = launch.FewRowUnits

// Few returns the form that a launch of t has as one of few packets, which are lines if lines is set and else pairs. It
// returns nil where the launch must go the general way. All of p that a GPU reads must be filled in.
func (t *OnePart) Few(p *OneParams, lines bool) *FewParams {
	return t.few(p, lines, false)
}

// FewRows is Few of a launch with an epilogue. A block has `threads` threads, or as many as the row needs if that is 0.
func (t *OnePart) FewRows(p *OneParams, rows *Rows, lines bool, threads int) *FewParams {
	if rows.Ranks != 0 || !launch.FewRow(int(p.ElemSize), threads) || !rows.aligned(p) {
		return nil
	}
	f := t.few(p, lines, true)
	if f == nil {
		return nil
	}
	moves := uint8(0) // those that follow in the group, and finish nothing
	for i := len(t.Steps) - 1; i >= 0; i-- {
		s, few := &t.Steps[i], &f.Steps[i]
		at, ok := t.finishes(s)
		if !ok || lines && at >= 0 && s.Dsts > 1 { // a line has raw sums of two rows, which no block has at once
			return nil
		}
		if at < 0 {
			if s.Group == 1 {
				moves = 0
			}
			moves++
			few.Group = min(moves, few.Group)
			continue
		}
		o, first := &t.Operands[at], s.First+uint32(s.Srcs)
		f.Where[at] = f.Where[first]
		f.Where[first] = uint64(o.A)*p.Elems + uint64(o.B)*p.Chunk
		few.Flags |= fewFold | fewFinish
		few.Group, moves = 1, 0
	}
	return f
}

// finishes returns which operand of t is the output that a step finishes, or -1. ok is false where a step writes
// outputs of other ranks, or reads one.
func (t *OnePart) finishes(s *OneStep) (at int, ok bool) {
	at = -1
	for i, o := range t.Operands[s.First:][:s.Srcs+s.Dsts] {
		if ir.Buf(o.Buf) != ir.Output {
			continue
		}
		if i < int(s.Srcs) || at >= 0 || uint32(o.Rank) != t.Blocks[0].Rank {
			return -1, false
		}
		at = int(s.First) + i
	}
	return at, true
}

// aligned reports whether all that stages read and write is aligned to units, and blocks with a scale suit lanes.
func (r *Rows) aligned(p *OneParams) bool {
	for i := range r.Stage[:r.Stages] {
		s := &r.Stage[i]
		second := r.Rank.Second[i]
		if epilogue.Kind(s.Kind) == epilogue.Quantise {
			second = 0
		}
		if (r.Rank.First[i]|second)%16 != 0 || !launch.FewScales(int(s.Block), data.DType(p.DType).Size()) {
			return false
		}
	}
	return true
}

// few is Few of a launch that may have an epilogue.
func (t *OnePart) few(p *OneParams, lines, rows bool) *FewParams {
	most, chunk := launch.FewMost(lines, rows), p.Chunk*uint64(p.ElemSize)
	switch {
	case len(t.Blocks) != 1 || len(t.Steps) > FewSteps || len(t.Operands) > FewOperands || p.RankCount > OneRanks:
		return nil
	case p.Passes != 1 || p.Trace != 0 || p.All != (OneSwitch{}) || p.Port != 0 || data.RedOp(p.RedOp) != data.Sum:
		return nil
	case p.Elems != p.Chunk*uint64(p.Chunks) || chunk%16 != 0 || uint64(p.Replicas-1)*p.Share >= chunk:
		return nil
	case bits.OnesCount32(p.Depth) != 1 || uint64(p.Replicas)*uint64(p.Depth)*p.PacketCopy > math.MaxUint32 ||
		chunk > launch.FewChunk:
		return nil
	}
	units := min(p.Share, chunk) / 8
	pieces := launch.FewPieces(units, lines)
	f := &FewParams{State: p.States, StatusAt: p.StatusAt, Stride: [2]uint32{uint32(chunk), uint32(p.PacketStride)},
		PacketCopy: uint32(p.PacketCopy), Depth: p.Depth, Share: uint32(p.Share), Units: uint32(units),
		Inverse: uint32((1<<32 + units - 1) / units), Number: t.Blocks[0].Number, StepCount: uint32(len(t.Steps))}
	if lines {
		f.Lines = uint32(pieces)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		group := s.Group
		if lines {
			group = t.sendTogether(i)
		}
		step := FewStep{Srcs: uint8(s.Srcs), Dsts: uint8(s.Dsts), Group: uint8(group), Count: s.Count,
			First: uint16(s.First)}
		runs := uint64(max(group, s.Count))
		if ir.Op(s.Op) != ir.Move || s.Count == 0 || runs*pieces > most || runs*max(chunk, p.PacketStride) > math.MaxUint32 {
			return nil
		}
		if i > 0 && ir.StepFlags(s.Flags)&ir.Joint == 0 {
			step.Flags |= fewMeet
		}
		if s.Srcs > 1 {
			step.Flags |= fewFold
		} else if ir.Buf(t.Operands[s.First].Buf) == ir.Packets {
			step.Flags |= fewTake
		}
		f.Steps[i] = step
	}
	for i := range t.Operands {
		if f.Where[i] = p.where(&t.Operands[i]); f.Where[i] == 0 {
			return nil
		}
	}
	return f
}

// sendTogether returns how many Moves of the group of step i, from it on, store equally many lines. Lanes of a bundle
// may have different Moves of a group, and store the lines of these together: as often, or some wait for ever.
func (t *OnePart) sendTogether(i int) (n uint16) {
	lines := func(s *OneStep) (count int) {
		for _, o := range t.Operands[s.First+uint32(s.Srcs):][:s.Dsts] {
			if ir.Buf(o.Buf) == ir.Packets {
				count++
			}
		}
		return count
	}
	for n = 1; n < t.Steps[i].Group && lines(&t.Steps[i+int(n)]) == lines(&t.Steps[i]); n++ {
	}
	return n
}

// where returns where replica 0 of copy 0 of an operand's first chunk lies, or 0 if a launch of few packets cannot
// have it.
func (p *OneParams) where(o *OneOperand) uint64 {
	if o.Rank < 0 || ir.Via(o.Via&^oneFresh) == ir.ViaPort {
		return 0
	}
	m, base, mark := &p.Rank[o.Rank], uint64(0), uint64(0)
	at := (uint64(o.A)*p.Elems + uint64(o.B)*p.Chunk) * uint64(p.ElemSize)
	switch ir.Buf(o.Buf) {
	case ir.Input:
		base = m.Input
	case ir.Output:
		base = m.Output
	case ir.Packets:
		base, at, mark = m.Packets, uint64(o.Index)*p.PacketStride, fewMark
	}
	if base == 0 || (base+at)%16 != 0 {
		return 0
	}
	return base + at - mark
}
