package program

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// This file has what a plan of a one-sided program has beside that of a
// two-sided one.

// rankSize returns the size of a row of the table of ranks.
func rankSize(oneSided bool) int {
	if oneSided {
		return planOneRankSize
	}
	return planRankSize
}

// featuresOf returns what a reader of p as a plan must know.
func featuresOf(p *either.Program) uint64 {
	o, features := p.OneSided, uint64(planOneSided)
	if o == nil {
		return planTwoSided
	}
	if o.OnePass || slices.ContainsFunc(p.Steps, func(s ir.Step) bool {
		return !s.Op.Moves() && s.Flags&(ir.Joint|ir.Relaxed) != 0
	}) {
		features |= planOrder
	}
	if slices.ContainsFunc(p.Blocks, func(b ir.TB) bool { return b.Together != 0 }) {
		features |= planTogether
	}
	if len(p.Then) > 0 {
		features |= planThen
	}
	return features
}

// operandsOf returns the number of operands of rank's steps.
func operandsOf(p *either.Program, rank int) int {
	n := 0
	if p.OneSided != nil {
		for _, b := range p.TBsOf(rank) {
			for _, s := range p.StepsOf(&b) {
				n += int(s.NSrc) + int(s.NDst)
			}
		}
	}
	return n
}

// putOneSidedRow writes what a row of the table of ranks ends with.
func putOneSidedRow(o []byte, p *either.Program, rank int) {
	le.PutUint32(o, uint32(p.OneSided.PacketsOf(rank)))
	le.PutUint32(o[4:], uint32(p.OneSided.FlagsOf(rank)))
	le.PutUint32(o[8:], uint32(operandsOf(p, rank)))
}

// oneSidedPart writes how many operands each of rank's steps has and where they
// begin, and after the steps the operands.
func (e *layout) oneSidedPart(steps []byte, rank int) {
	operands := steps[stepsOf(e.p, rank)*planStepSize:]
	next := uint32(0)
	for _, b := range e.p.TBsOf(rank) {
		for _, s := range e.p.StepsOf(&b) {
			le.PutUint32(steps[4:], next)
			le.PutUint32(steps[8:], next+uint32(s.NSrc))
			le.PutUint16(steps[20:], uint16(s.NSrc))
			le.PutUint16(steps[22:], uint16(s.NDst))
			le.PutUint32(steps[24:], 0)
			steps = steps[planStepSize:]
			next += uint32(s.NSrc) + uint32(s.NDst)
			for _, list := range [][]onesided.Operand{e.p.OneSided.Sources(&s), e.p.OneSided.Dests(&s)} {
				for i := range list {
					putOperand(operands, &list[i])
					operands = operands[planOperandSize:]
				}
			}
		}
	}
}

func putOperand(o []byte, x *onesided.Operand) {
	le.PutUint32(o, uint32(x.Rank))
	le.PutUint32(o[4:], uint32(x.Index))
	le.PutUint32(o[8:], uint32(x.Nth))
	o[12], o[13] = byte(x.Buf), byte(x.Via)
}

// oneSidedPart reads where the operands of steps, which are rank's, lie, and the
// operands, which fill b.
func (d *reader) oneSidedPart(rank int, steps []ir.Step, b []byte) error {
	o := d.p.OneSided
	base, next := int32(len(o.Operands)), int32(0)
	for i := range steps {
		s := &steps[i]
		s.NSrc, s.NDst = int16(s.DepBlock), int16(s.DepBlock>>16)
		if s.NSrc < 0 || s.NDst < 0 || s.DepStep != 0 || s.Src != next || s.Dst != next+int32(s.NSrc) {
			return d.fail("step %d of rank %d does not hold the operands from %d", i, rank, next)
		}
		next = s.Dst + int32(s.NDst)
		if int64(next)*planOperandSize > int64(len(b)) {
			break
		}
		s.Src, s.Dst = base+s.Src, base+s.Dst
		s.DepBlock, s.DepStep = -1, -1
	}
	if int64(next)*planOperandSize != int64(len(b)) {
		return d.fail("rank %d has %d operands, and its steps %d", rank, len(b)/planOperandSize, next)
	}
	for ; len(b) > 0; b = b[planOperandSize:] {
		n := func(at int) int32 { return int32(le.Uint32(b[at:])) }
		if le.Uint16(b[14:]) != 0 {
			return d.fail("operand %d of rank %d ends in no zero", int32(len(o.Operands))-base, rank)
		}
		o.Operands = append(o.Operands, onesided.Operand{Rank: n(0), Index: n(4), Nth: n(8), Buf: ir.Buf(b[12]),
			Via: ir.Via(b[13])})
	}
	return nil
}
