package ir

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The text form of a Program has, after the header, the blocks in their order,
// each followed by its steps:
//
//	channels 2                 default 1
//	scratch 4                  as in the text form of an InstDAG
//	even
//	for inplace outofplace     the calls that the program is for, where its format said so
//	block 2.0 send 3 recv 1 ch 0          block 0 of rank 2
//	  0 rrcs input[3] dep 1.4 hasdep      waits for step 4 of block 1 of its rank
//	  1 r output[0]*2 final class 1 pos 3
//
// Operands are as in the text form of an InstDAG; the class left out is that of
// the operand in input or output, else 0. Of one-sided programs see text_onesided.go.

// WriteProgram writes the text form of p.
func WriteProgram(w io.Writer, p *Program) error {
	return writeText(w, func(b *bufio.Writer) {
		writeHeader(b, "program", &p.Header, nil)
		if p.Channels != 1 {
			fmt.Fprintf(b, "channels %d\n", p.Channels)
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
				b.Write(append(line, '\n'))
				steps := p.StepsOf(t)
				for i := range steps {
					line = p.appendStep(line[:0], t.Rank, i, &steps[i])
					b.Write(line)
				}
			}
		}
	})
}

func (p *Program) appendStep(b []byte, rank int32, i int, s *Step) []byte {
	b = strconv.AppendInt(append(b, "  "...), int64(i), 10)
	b = append(append(b, ' '), s.Op.String()...)
	if p.OneSided != nil {
		b = p.appendOneSidedOperands(b, rank, s)
	} else {
		b = appendOperands(b, s.Op, s.SrcBuf, s.Src, s.DstBuf, s.Dst, s.Count)
		if hasSrc, hasDst := operands(s.Op); !hasSrc && !hasDst {
			b = appendField(b, "count", s.Count, 0)
		}
	}
	if s.DepBlock >= 0 || s.DepStep >= 0 {
		b = fmt.Appendf(b, " dep %d.%d", s.DepBlock, s.DepStep)
	}
	for i, name := range stepFlagNames {
		if s.Flags&(1<<i) != 0 {
			b = append(append(b, ' '), name...)
		}
	}
	b = appendField(b, "class", s.Class, p.usualStepClass(s))
	b = appendField(b, "pos", s.Pos, -1)
	return append(b, '\n')
}

// stepFlagNames are the words of StepFlags, by bit.
var stepFlagNames = [...]string{"hasdep", "final", "joint", "enter", "leave", "relaxed", "loose"}

// usualStepClass is the class that a step has where its line says nothing.
func (p *Program) usualStepClass(s *Step) int32 {
	c := p.Coll
	if o := p.OneSided; o != nil {
		for _, list := range [][]Operand{o.Sources(s), o.Dests(s)} {
			for _, x := range list {
				if x.Buf <= Output && x.Index >= 0 {
					return int32(c.Class(int(x.Index)))
				}
			}
		}
		return 0
	}
	hasSrc, hasDst := operands(s.Op)
	switch {
	case hasSrc && s.SrcBuf <= Output && s.Src >= 0:
		return int32(c.Class(int(s.Src)))
	case hasDst && s.DstBuf <= Output && s.Dst >= 0:
		return int32(c.Class(int(s.Dst)))
	}
	return 0
}

// ParseProgram reads the text form of a Program. Its error is a diag.List. The
// program has well-formed tables, and may be wrong in every other way.
func ParseProgram(name string, src []byte) (*Program, error) {
	p := &textParser{file: name, rest: string(src)}
	g := &Program{Channels: 1}
	var hints []Hint
	if !p.header("program", &g.Header, &hints) {
		return nil, p.list.Err()
	}
	g.Rank = make([]Range, 0, g.Coll.Ranks)
	for more := p.line != ""; more; more = p.nextLine() {
		switch w := p.next(); w {
		case "channels":
			g.Channels = int(p.int(0))
		case "scratch":
			g.Scratch = p.perRank(w, g.Coll.Ranks)
		case "even":
			g.Even = true
		case "for":
			g.InPlace = p.take("inplace")
			g.OutOfPlace = p.take("outofplace")
		case "onesided":
			p.oneSided(g)
		case "packets", "flags":
			p.oneSidedSizes(g, w)
		case "block":
			p.programBlock(g)
		default:
			p.step(g, w)
		}
		p.end()
	}
	if len(p.list) > 0 {
		return nil, p.list
	}
	g.endRanks(g.Coll.Ranks)
	return g, nil
}

// endRanks closes the block ranges of all ranks below n.
func (p *Program) endRanks(n int) {
	end := int32(len(p.Blocks))
	for len(p.Rank) < n {
		p.Rank = append(p.Rank, Range{end, end})
	}
}

// programBlock reads what follows the word in "block 2.0 send 3 recv 1 ch 0".
func (p *textParser) programBlock(g *Program) {
	first, second, ok := strings.Cut(p.next(), ".")
	rank, number := p.number32(first, 0), p.number32(second, 0)
	if !ok || int(rank) >= g.Coll.Ranks || int(rank)+1 < len(g.Rank) {
		p.errorf("blocks are numbered as rank.block, and stand by rank")
	}
	if p.bad {
		return
	}
	g.endRanks(int(rank))
	if len(g.Rank) == int(rank) {
		g.Rank = append(g.Rank, Range{int32(len(g.Blocks)), int32(len(g.Blocks))})
	}
	own := &g.Rank[rank]
	if number != own.End-own.First {
		p.errorf("this is block %d of rank %d", own.End-own.First, rank)
	}
	own.End++
	at := int32(len(g.Steps))
	t := TB{Block: Block{Rank: rank, SendPeer: -1, RecvPeer: -1}, Steps: Range{at, at}}
	p.blockFields(&t.Block)
	if t.Rank != rank {
		p.errorf("the block is of rank %d", rank)
	}
	g.Blocks = append(g.Blocks, t)
}

// step reads a step, whose number has been read.
func (p *textParser) step(g *Program, number string) {
	if len(g.Blocks) == 0 {
		p.errorf("%q stands where a block should begin", number)
		return
	}
	t := &g.Blocks[len(g.Blocks)-1]
	if p.number32(number, 0) != t.Steps.End-t.Steps.First {
		p.errorf("this is step %d", t.Steps.End-t.Steps.First)
	}
	s := Step{SrcBuf: NoBuf, DstBuf: NoBuf, DepBlock: -1, DepStep: -1, Pos: -1}
	s.Op = p.op(g.OneSided != nil)
	if g.OneSided != nil {
		p.oneSidedOperands(g.OneSided, t.Rank, &s)
	} else {
		p.operands(s.Op, &s.SrcBuf, &s.Src, &s.DstBuf, &s.Dst, &s.Count)
	}
	s.Class = g.usualStepClass(&s)
	p.stepFields(&s)
	t.Steps.End++
	g.Steps = append(g.Steps, s)
}

// stepFields reads what follows the operands of a step.
func (p *textParser) stepFields(s *Step) {
	for p.peek() != "" && !p.bad {
		switch key := p.next(); key {
		case "count":
			s.Count = p.int(0)
		case "dep":
			block, step, _ := strings.Cut(p.next(), ".")
			s.DepBlock, s.DepStep = p.number32(block, -1), p.number32(step, -1)
		case "class":
			s.Class = p.int(0)
		case "pos":
			s.Pos = p.int(0)
		default:
			i := slices.Index(stepFlagNames[:], key)
			if i < 0 {
				p.errorf("%q is no field of a step", key)
			}
			s.Flags |= 1 << max(i, 0)
		}
	}
}
