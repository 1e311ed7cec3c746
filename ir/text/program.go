package text

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// The text form of a Program has, after the header, the blocks in their order,
// each followed by its steps:
//
//	channels 2                 default 1
//	scratch 4                  as in the text form of an InstDAG
//	even
//	for inplace outofplace     the calls that the program is for, where its format said so
//	block 2.0 send 3 recv 1 ch 0          block 0 of rank 2; after it together 4 where 4 replicas share a CTA
//	  0 rrcs input[3] dep 1.4 hasdep      waits for step 4 of block 1 of its rank
//	  1 r output[0]*2 final class 1 pos 3
//
// Operands are as in the text form of an InstDAG; the class left out is that of
// the operand in input or output, else 0. Of one-sided programs see onesided.go.

// WriteProgram writes the text form of p.
func WriteProgram(w io.Writer, p *either.Program) error {
	return writeText(w, func(b *bufio.Writer) {
		WriteHeader(b, "program", &p.Header, nil)
		if p.Channels() != 1 {
			fmt.Fprintf(b, "channels %d\n", p.Channels())
		}
		writePerRank(b, "scratch", p.Scratch)
		if p.Even {
			b.WriteString("even\n")
		}
		if p.InPlace || p.OutOfPlace {
			b.WriteString("for")
			if p.InPlace {
				b.WriteString(" inplace")
			}
			if p.OutOfPlace {
				b.WriteString(" outofplace")
			}
			b.WriteByte('\n')
		}
		if p.OneSided != nil {
			writeOneSided(b, p.OneSided)
		}
		var line []byte
		for r := range p.Rank {
			tbs := p.TBsOf(r)
			for k := range tbs {
				t := &tbs[k]
				line = fmt.Appendf(line[:0], "block %d.%d", r, k)
				line = appendField(line, "send", t.SendPeer, -1)
				line = appendField(line, "recv", t.RecvPeer, -1)
				if p.OneSided == nil || t.Channel != 0 {
					line = fmt.Appendf(line, " ch %d", t.Channel)
				}
				line = appendField(line, "together", t.Together, 0)
				b.Write(append(line, '\n'))
				steps := p.StepsOf(t)
				for i := range steps {
					line = appendStep(p, line[:0], t.Rank, i, &steps[i])
					b.Write(line)
				}
			}
		}
	})
}

func appendStep(p *either.Program, b []byte, rank int32, i int, s *ir.Step) []byte {
	b = strconv.AppendInt(append(b, "  "...), int64(i), 10)
	b = append(append(b, ' '), s.Op.String()...)
	if p.OneSided != nil {
		b = appendOneSidedOperands(p.OneSided, b, rank, s)
	} else {
		b = AppendOperands(b, s.Op, s.SrcBuf, s.Src, s.DstBuf, s.Dst, s.Count)
		if hasSrc, hasDst := Operands(s.Op); !hasSrc && !hasDst {
			b = appendField(b, "count", s.Count, 0)
		}
	}
	if s.DepBlock >= 0 || s.DepStep >= 0 {
		b = fmt.Appendf(b, " dep %d.%d", s.DepBlock, s.DepStep)
	}
	for i, name := range StepFlagNames {
		if s.Flags&(1<<i) != 0 {
			b = append(append(b, ' '), name...)
		}
	}
	b = appendField(b, "class", s.Class, UsualStepClass(p, s))
	b = appendField(b, "pos", s.Pos, -1)
	return append(b, '\n')
}

// StepFlagNames are the words of StepFlags, by bit.
var StepFlagNames = [...]string{"hasdep", "final", "joint", "enter", "leave", "relaxed", "loose"}

// UsualStepClass returns the class that a step has where its line says nothing.
func UsualStepClass(p *either.Program, s *ir.Step) int32 {
	c := p.Coll
	if o := p.OneSided; o != nil {
		for _, list := range [][]onesided.Operand{o.Sources(s), o.Dests(s)} {
			for _, x := range list {
				if x.Buf <= ir.Output && x.Index >= 0 {
					return int32(c.Class(int(x.Index)))
				}
			}
		}
		return 0
	}
	hasSrc, hasDst := Operands(s.Op)
	switch {
	case hasSrc && s.SrcBuf <= ir.Output && s.Src >= 0:
		return int32(c.Class(int(s.Src)))
	case hasDst && s.DstBuf <= ir.Output && s.Dst >= 0:
		return int32(c.Class(int(s.Dst)))
	}
	return 0
}
