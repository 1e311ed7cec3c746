package parse

import (
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
)

// oneSided reads what follows the first word of "onesided depth 2".
func (p *textParser) oneSided(g *either.Program) {
	if len(g.Blocks) > 0 || g.OneSided != nil || !p.take("depth") {
		p.errorf(`"onesided depth 2" stands once, before all blocks`)
		return
	}
	*g = *either.OfOneSided(&onesided.Program{Program: *g.Program, Depth: p.int(1)})
	g.OneSided.OnePass = p.take("onepass")
}

// oneSidedSizes reads what follows the first word of "packets 8" and "flags 4".
func (p *textParser) oneSidedSizes(g *either.Program, what string) {
	switch {
	case g.OneSided == nil:
		p.errorf("only a program that says onesided has %s", what)
	case what == "packets":
		g.OneSided.Packets = p.perRank(what, g.Coll.Ranks)
	default:
		g.OneSided.Flags = p.perRank(what, g.Coll.Ranks)
	}
}

// oneSidedOperands reads the operands of s, a step of rank.
func (p *textParser) oneSidedOperands(o *onesided.Program, rank int32, s *ir.Step) {
	at := len(o.Operands)
	s.Src = int32(at)
	if s.Op != ir.Signal {
		p.sources(o, rank, s)
	}
	middle := len(o.Operands)
	s.Dst = int32(middle)
	if s.Op == ir.Signal || s.Op.Moves() && p.take("->") {
		p.dests(o, rank, s)
	}
	if max(middle-at, len(o.Operands)-middle) > onesided.MaxOperands {
		p.errorf("a step has at most %d sources, and as many destinations", onesided.MaxOperands)
		return
	}
	s.NSrc, s.NDst = int16(middle-at), int16(len(o.Operands)-middle)
}

func (p *textParser) sources(o *onesided.Program, rank int32, s *ir.Step) {
	for p.atOperand() {
		x, count := p.operand(rank)
		if count != 1 {
			p.errorf("the count stands at the destination")
		}
		if n, ok := strings.CutPrefix(p.peek(), "x"); ok && s.Op == ir.Await {
			p.next()
			x.Nth = p.signedNumber(n)
		}
		o.Operands = append(o.Operands, x)
		if s.Op.Moves() && !p.take("+") {
			return
		}
	}
}

func (p *textParser) dests(o *onesided.Program, rank int32, s *ir.Step) {
	for first := true; p.atOperand(); first = false {
		x, count := p.operand(rank)
		switch {
		case s.Op == ir.Signal && count != 1:
			p.errorf("a flag has no count")
		case !first && s.Op.Moves() && count != s.Count:
			p.errorf("all destinations have one count")
		case s.Op.Moves():
			s.Count = count
		}
		o.Operands = append(o.Operands, x)
	}
}

// atOperand reports whether an operand follows: fields are plain words.
func (p *textParser) atOperand() bool {
	return !p.bad && strings.Contains(p.peek(), "[")
}

// operand reads "1:packets[0]*2@port" of a step of rank.
func (p *textParser) operand(rank int32) (onesided.Operand, int32) {
	x := onesided.Operand{Rank: rank}
	ref, via, has := strings.Cut(p.next(), "@")
	if has {
		ok := false
		if x.Via, ok = ir.ViaByName(via); !ok {
			p.errorf("%q is no way: memory, port or switch", via)
		}
	}
	if owner, rest, ok := strings.Cut(ref, ":"); ok {
		ref = rest
		if owner == "all" {
			x.Rank = ir.AllRanks
		} else {
			x.Rank = p.number32(owner, 0)
		}
	}
	name, index, count := p.splitRef(ref)
	x.Buf, x.Index = p.bufByName(name), index
	return x, count
}

func (p *textParser) signedNumber(s string) int32 {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		p.errorf("%q is no number", s)
	}
	return int32(n)
}
