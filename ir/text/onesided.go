package text

import (
	"bufio"
	"fmt"
	"strconv"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// The text form of a one-sided Program says so before its blocks, and its steps
// have lists of operands:
//
//	onesided depth 2           copies of scratch and packets; after it onepass where launches have one pass
//	packets 8                  chunks of packets of each rank, as scratch
//	flags 4                    flags of each rank, as scratch
//	block 0.0
//	  0 mv input[2] -> 1:packets[0] 3:packets[0] joint pos 0
//	  1 mv input[0] + packets[0] + packets[1] -> output[0]*2 1:output[0]*2 final
//	  2 mv all:input[4]@switch -> all:output[4]@switch
//	  3 signal 1:flags[0] 2:flags[0] leave
//	  4 wait flags[2] x3 flags[3] x0 leave
//
// An operand is of the block's own rank where none is written; all is the
// switch's. The count of a move stands at each destination. How to get there follows @:
// memory, port or switch. A wait's flag has been signalled x times (Operand.Nth).
// Fields follow the operands, as of a two-sided step; joint, enter, leave,
// relaxed and loose are StepFlags.

func writeOneSided(b *bufio.Writer, o *onesided.Program) {
	fmt.Fprintf(b, "onesided depth %d", o.Depth)
	if o.OnePass {
		b.WriteString(" onepass")
	}
	b.WriteByte('\n')
	writePerRank(b, "packets", o.Packets)
	writePerRank(b, "flags", o.Flags)
}

// StepText returns the operation of s, a step of rank, with its operands, as the text
// form has them.
func StepText(p *either.Program, rank int32, s *ir.Step) string {
	b := []byte(s.Op.String())
	if p.OneSided == nil {
		return string(AppendOperands(b, s.Op, s.SrcBuf, s.Src, s.DstBuf, s.Dst, s.Count))
	}
	return string(appendOneSidedOperands(p.OneSided, b, rank, s))
}

// appendOneSidedOperands writes the operands of s, a step of rank.
func appendOneSidedOperands(p *onesided.Program, b []byte, rank int32, s *ir.Step) []byte {
	count, has := s.Count, s.Op.Moves() && s.NDst > 0
	if !has {
		count = 1
	}
	sign := " "
	for _, o := range p.Sources(s) {
		b = AppendOperand(&o, append(b, sign...), rank, 1)
		if s.Op.Moves() {
			sign = " + "
		}
		if s.Op == ir.Await {
			b = strconv.AppendInt(append(b, " x"...), int64(o.Nth), 10)
		}
	}
	for i, o := range p.Dests(s) {
		if i == 0 && s.Op.Moves() {
			b = append(b, " ->"...)
		}
		b = AppendOperand(&o, append(b, ' '), rank, count)
	}
	if !has {
		b = appendField(b, "count", s.Count, 0)
	}
	return b
}

// AppendOperand appends o, an operand of count chunks of a step of rank. The rank of o is left out if it is rank.
func AppendOperand(o *onesided.Operand, b []byte, rank, count int32) []byte {
	switch o.Rank {
	case rank:
	case ir.AllRanks:
		b = append(b, "all:"...)
	default:
		b = append(strconv.AppendInt(b, int64(o.Rank), 10), ':')
	}
	b = appendRef(b, o.Buf.String(), o.Index, count)
	if o.Via != ir.ViaAny {
		b = append(append(b, '@'), o.Via.String()...)
	}
	return b
}
