package parse

import (
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/text"
)

// programBlock reads what follows the word in "block 2.0 send 3 recv 1 ch 0".
func (p *textParser) programBlock(g *either.Program) {
	first, second, ok := strings.Cut(p.next(), ".")
	rank, number := p.number32(first, 0), p.number32(second, 0)
	if !ok || int(rank) >= g.Coll.Ranks || int(rank)+1 < len(g.Rank) {
		p.errorf("blocks are numbered as rank.block, and stand by rank")
	}
	if p.bad {
		return
	}
	endRanks(g, int(rank))
	if len(g.Rank) == int(rank) {
		g.Rank = append(g.Rank, ir.Range{First: int32(len(g.Blocks)), End: int32(len(g.Blocks))})
	}
	own := &g.Rank[rank]
	if number != own.End-own.First {
		p.errorf("this is block %d of rank %d", own.End-own.First, rank)
	}
	own.End++
	at := int32(len(g.Steps))
	t := ir.TB{Block: ir.Block{Rank: rank, SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{First: at, End: at}}
	p.blockFields(&t.Block, &t.Together)
	if t.Rank != rank {
		p.errorf("the block is of rank %d", rank)
	}
	g.Blocks = append(g.Blocks, t)
}

// step reads a step, whose number has been read.
func (p *textParser) step(g *either.Program, number string) {
	if len(g.Blocks) == 0 {
		p.errorf("%q stands where a block should begin", number)
		return
	}
	t := &g.Blocks[len(g.Blocks)-1]
	if p.number32(number, 0) != t.Steps.End-t.Steps.First {
		p.errorf("this is step %d", t.Steps.End-t.Steps.First)
	}
	s := ir.Step{SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: -1, DepStep: -1, Pos: -1}
	s.Op = p.op(g.OneSided != nil)
	if g.OneSided != nil {
		p.oneSidedOperands(g.OneSided, t.Rank, &s)
	} else {
		p.operands(s.Op, &s.SrcBuf, &s.Src, &s.DstBuf, &s.Dst, &s.Count)
	}
	s.Class = text.UsualStepClass(g, &s)
	p.stepFields(&s)
	t.Steps.End++
	g.Steps = append(g.Steps, s)
}

// stepFields reads what follows the operands of a step.
func (p *textParser) stepFields(s *ir.Step) {
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
			i := slices.Index(text.StepFlagNames[:], key)
			if i < 0 {
				p.errorf("%q is no field of a step", key)
			}
			s.Flags |= 1 << max(i, 0)
		}
	}
}

// Program reads the text form of a Program. Its error is a diag.List. The
// program has well-formed tables, and may be wrong in every other way.
func Program(name string, src []byte) (*either.Program, error) {
	p := &textParser{file: name, rest: string(src)}
	g := either.OfFifo(&fifo.Program{Channels: 1})
	var hints []ir.Hint
	if !p.header("program", &g.Header, &hints) {
		return nil, p.list.Err()
	}
	g.Rank = make([]ir.Range, 0, g.Coll.Ranks)
	for more := p.line != ""; more; more = p.nextLine() {
		switch w := p.next(); w {
		case "channels":
			if n := int(p.int(0)); g.Fifo != nil {
				g.Fifo.Channels = n
			}
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
	endRanks(g, g.Coll.Ranks)
	return g, nil
}

// endRanks closes the block ranges of all ranks below n.
func endRanks(p *either.Program, n int) {
	end := int32(len(p.Blocks))
	for len(p.Rank) < n {
		p.Rank = append(p.Rank, ir.Range{First: end, End: end})
	}
}
