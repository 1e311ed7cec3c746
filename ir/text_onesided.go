package ir

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The text form of a one-sided Program says so before its blocks, and its steps
// have lists of operands:
//
//	onesided depth 2           copies of scratch and packets; behind it onepass where launches have one pass
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

// viaNames are the ways as the language and the text forms name them.
var viaNames = [...]string{ViaMemory: "memory", ViaPort: "port", ViaSwitch: "switch"}

// String names v as the language does, or gives its number.
func (v Via) String() string {
	if v != ViaAny && int(v) < len(viaNames) {
		return viaNames[v]
	}
	return strconv.Itoa(int(v))
}

// ViaByName finds a way by its name in the language.
func ViaByName(s string) (Via, bool) {
	i := slices.Index(viaNames[:], s)
	return Via(max(i, 0)), i > 0
}

func writeOneSided(b *bufio.Writer, o *OneSided) {
	fmt.Fprintf(b, "onesided depth %d", o.Depth)
	if o.OnePass {
		b.WriteString(" onepass")
	}
	b.WriteByte('\n')
	writePerRank(b, "packets", o.Packets)
	writePerRank(b, "flags", o.Flags)
}

// StepText is the operation of s, a step of rank, with its operands, as the text
// form has them.
func (p *Program) StepText(rank int32, s *Step) string {
	b := []byte(s.Op.String())
	if p.OneSided == nil {
		return string(appendOperands(b, s.Op, s.SrcBuf, s.Src, s.DstBuf, s.Dst, s.Count))
	}
	return string(p.appendOneSidedOperands(b, rank, s))
}

// appendOneSidedOperands writes the operands of s, a step of rank.
func (p *Program) appendOneSidedOperands(b []byte, rank int32, s *Step) []byte {
	count, has := s.Count, s.Op == Move && s.NDst > 0
	if !has {
		count = 1
	}
	sign := " "
	for _, o := range p.OneSided.Sources(s) {
		b = o.append(append(b, sign...), rank, 1)
		if s.Op == Move {
			sign = " + "
		}
		if s.Op == Await {
			b = strconv.AppendInt(append(b, " x"...), int64(o.Nth), 10)
		}
	}
	for i, o := range p.OneSided.Dests(s) {
		if i == 0 && s.Op == Move {
			b = append(b, " ->"...)
		}
		b = o.append(append(b, ' '), rank, count)
	}
	if !has {
		b = appendField(b, "count", s.Count, 0)
	}
	return b
}

func (o *Operand) append(b []byte, rank, count int32) []byte {
	switch o.Rank {
	case rank:
	case AllRanks:
		b = append(b, "all:"...)
	default:
		b = append(strconv.AppendInt(b, int64(o.Rank), 10), ':')
	}
	b = appendRef(b, o.Buf.String(), o.Index, count)
	if o.Via != ViaAny {
		b = append(append(b, '@'), o.Via.String()...)
	}
	return b
}

// oneSided reads what follows the first word of "onesided depth 2".
func (p *textParser) oneSided(g *Program) {
	if len(g.Blocks) > 0 || g.OneSided != nil || !p.take("depth") {
		p.errorf(`"onesided depth 2" stands once, before all blocks`)
		return
	}
	g.OneSided = &OneSided{Depth: p.int(1)}
	g.OneSided.OnePass = p.take("onepass")
}

// oneSidedSizes reads what follows the first word of "packets 8" and "flags 4".
func (p *textParser) oneSidedSizes(g *Program, what string) {
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
func (p *textParser) oneSidedOperands(o *OneSided, rank int32, s *Step) {
	at := len(o.Operands)
	s.Src = int32(at)
	if s.Op != Signal {
		p.sources(o, rank, s)
	}
	middle := len(o.Operands)
	s.Dst = int32(middle)
	if s.Op == Signal || s.Op == Move && p.take("->") {
		p.dests(o, rank, s)
	}
	if max(middle-at, len(o.Operands)-middle) > MaxOperands {
		p.errorf("a step has at most %d sources, and as many destinations", MaxOperands)
		return
	}
	s.NSrc, s.NDst = int16(middle-at), int16(len(o.Operands)-middle)
}

func (p *textParser) sources(o *OneSided, rank int32, s *Step) {
	for p.atOperand() {
		x, count := p.operand(rank)
		if count != 1 {
			p.errorf("the count stands at the destination")
		}
		if n, ok := strings.CutPrefix(p.peek(), "x"); ok && s.Op == Await {
			p.next()
			x.Nth = p.signedNumber(n)
		}
		o.Operands = append(o.Operands, x)
		if s.Op == Move && !p.take("+") {
			return
		}
	}
}

func (p *textParser) dests(o *OneSided, rank int32, s *Step) {
	for first := true; p.atOperand(); first = false {
		x, count := p.operand(rank)
		switch {
		case s.Op == Signal && count != 1:
			p.errorf("a flag has no count")
		case !first && s.Op == Move && count != s.Count:
			p.errorf("all destinations have one count")
		case s.Op == Move:
			s.Count = count
		}
		o.Operands = append(o.Operands, x)
	}
}

// atOperand says whether an operand follows: fields are plain words.
func (p *textParser) atOperand() bool {
	return !p.bad && strings.Contains(p.peek(), "[")
}

// operand reads "1:packets[0]*2@port" of a step of rank.
func (p *textParser) operand(rank int32) (Operand, int32) {
	x := Operand{Rank: rank}
	ref, via, has := strings.Cut(p.next(), "@")
	if has {
		ok := false
		if x.Via, ok = ViaByName(via); !ok {
			p.errorf("%q is no way: memory, port or switch", via)
		}
	}
	if owner, rest, ok := strings.Cut(ref, ":"); ok {
		ref = rest
		if owner == "all" {
			x.Rank = AllRanks
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
