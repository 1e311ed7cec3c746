package parse

import (
	"strings"

	"mscclc/ir"
	"mscclc/ir/text"
)

// An instLine is one instruction as it is written, before what is left out is
// known.
type instLine struct {
	ir.Inst
	name                             int32
	recvKnown, sendKnown, classKnown bool
	deps, waits                      []int32
}

// peerOfMate is a peer that is known by its mate alone.
const peerOfMate = -2

// Insts reads the text form of an InstDAG. Its error is a diag.List. What
// it returns may lack every property, which Check checks.
func Insts(name string, src []byte) (*ir.InstDAG, error) {
	p := &textParser{file: name, rest: string(src)}
	d := &ir.InstDAG{}
	if !p.header("insts", &d.Header, &d.Hints) {
		return nil, p.list.Err()
	}
	var lines []instLine
	hasDeps, hasWaits := false, false
	for more := p.line != ""; more; more = p.nextLine() {
		switch w := p.next(); w {
		case "scratch":
			d.Scratch = p.perRank(w, d.Coll.Ranks)
		case "even":
			d.Even = true
		case "deps", "waits":
			if !p.take("none") {
				p.errorf("%q is followed by none", w)
			}
			hasDeps, hasWaits = hasDeps || w == "deps", hasWaits || w == "waits"
		case "block":
			p.block(d)
		default:
			in := p.inst(w, int32(len(lines)))
			hasDeps, hasWaits = hasDeps || in.deps != nil, hasWaits || in.waits != nil
			lines = append(lines, in)
		}
		p.end()
	}
	if len(p.list) == 0 {
		p.resolve(d, lines, hasDeps, hasWaits)
	}
	if len(p.list) > 0 {
		return nil, p.list
	}
	return d, nil
}

// block reads what follows the word in "block 0 rank 2 send 3 recv 1 ch 0".
func (p *textParser) block(d *ir.InstDAG) {
	b := ir.Block{SendPeer: -1, RecvPeer: -1}
	if n := int(p.int(0)); n != len(d.Blocks) {
		p.errorf("this is block %d", len(d.Blocks))
	}
	p.blockFields(&b, nil)
	d.Blocks = append(d.Blocks, b)
}

// blockFields reads the fields of a block. That of together is one where together is not nil.
func (p *textParser) blockFields(b *ir.Block, together *int32) {
	for p.peek() != "" && !p.bad {
		key := p.next()
		switch {
		case key == "rank":
			b.Rank = p.int(0)
		case key == "send":
			b.SendPeer = p.int(0)
		case key == "recv":
			b.RecvPeer = p.int(0)
		case key == "ch":
			b.Channel = p.int(-1)
		case key == "together" && together != nil:
			*together = p.int(0)
		default:
			p.errorf("%q is no field of a block", key)
		}
	}
}

// inst reads an instruction, whose name has been read, as the line'th.
func (p *textParser) inst(name string, line int32) instLine {
	in := instLine{Inst: ir.Inst{SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, SendPeer: -1, RecvPeer: -1, SendMate: -1,
		RecvMate: -1, Seq: line, SendSeq: line, Pos: -1, Channel: -1, Block: -1, Step: -1}}
	in.name = p.name(name)
	if !p.take("rank") {
		p.next()
		p.errorf("after its name stands the rank of an instruction")
	}
	in.Rank = p.int(0)
	in.Op = p.op(false)
	p.operands(in.Op, &in.SrcBuf, &in.Src, &in.DstBuf, &in.Dst, &in.Count)
	p.instFields(&in)
	return in
}

func (p *textParser) op(oneSided bool) ir.Op {
	w := p.next()
	op, ok := ir.OpByMnemonic(w)
	switch {
	case !ok:
		p.errorf("%q is no operation", w)
	case op.Info().OneSided != oneSided:
		p.errorf("%q is an operation of %s programs", w, map[bool]string{true: "two-sided", false: "one-sided"}[oneSided])
	}
	return op
}

// Operands reads the operands that op has.
func (p *textParser) operands(op ir.Op, srcBuf *ir.Buf, src *int32, dstBuf *ir.Buf, dst, count *int32) {
	hasSrc, hasDst := text.Operands(op)
	if !hasSrc && !hasDst {
		return
	}
	name, index, n := p.splitRef(p.next())
	b := p.bufByName(name)
	if hasSrc {
		*srcBuf, *src = b, index
	}
	if hasSrc && hasDst && p.take("=>") {
		if n != 1 {
			p.errorf("the count stands at the destination")
		}
		name, index, n = p.splitRef(p.next())
		b = p.bufByName(name)
	}
	if hasDst {
		*dstBuf, *dst = b, index
	}
	*count = n
}

// resolve puts the instructions in the places that their names say, and finds
// out what they leave out.
func (p *textParser) resolve(d *ir.InstDAG, lines []instLine, hasDeps, hasWaits bool) {
	n := len(lines)
	at := make([]int32, n) // 1 + the line of each name
	for k := range lines {
		name := lines[k].name
		if int(name) >= n || at[name] != 0 {
			p.bad = false
			p.errorf("i%d is named twice, or there are only %d instructions", name, n)
			return
		}
		at[name] = int32(k + 1)
	}
	d.Insts = make([]ir.Inst, n)
	for i, k := range at {
		d.Insts[i] = lines[k-1].Inst
	}
	p.resolveMates(d, lines, at)
	d.Deps = p.edges(lines, at, hasDeps, func(l *instLine) []int32 { return l.deps })
	d.Waits = p.edges(lines, at, hasWaits, func(l *instLine) []int32 { return l.waits })
	if len(p.list) > 0 {
		return
	}
	resolveClasses(d, lines, at)
}

func (p *textParser) resolveMates(d *ir.InstDAG, lines []instLine, at []int32) {
	n := len(lines)
	claims := text.Claims(d)
	for i := range d.Insts {
		in, line := &d.Insts[i], &lines[at[i]-1]
		if int(in.SendMate) >= n || int(in.RecvMate) >= n {
			p.bad = false
			p.errorf("the mate of i%d is none of the %d instructions", i, n)
			return
		}
		if !line.recvKnown && claims.Recv[i] >= 0 {
			in.RecvMate = claims.Recv[i]
			if in.RecvPeer < 0 {
				in.RecvPeer = peerOfMate
			}
		}
		if !line.sendKnown && claims.Send[i] >= 0 {
			in.SendMate = claims.Send[i]
			if in.SendPeer < 0 {
				in.SendPeer = peerOfMate
			}
		}
		if in.RecvPeer == peerOfMate {
			in.RecvPeer = d.Insts[in.RecvMate].Rank
		}
		if in.SendPeer == peerOfMate {
			in.SendPeer = d.Insts[in.SendMate].Rank
		}
	}
}

func (p *textParser) edges(lines []instLine, at []int32, has bool, row func(*instLine) []int32) ir.Edges {
	if !has {
		return ir.Edges{}
	}
	e := ir.Edges{Start: make([]int32, 1, len(at)+1)}
	for _, k := range at {
		for _, t := range row(&lines[k-1]) {
			if int(t) >= len(at) {
				p.bad = false
				p.errorf("i%d is none of the %d instructions", t, len(at))
				return ir.Edges{}
			}
			e.To = append(e.To, t)
		}
		e.Start = append(e.Start, int32(len(e.To)))
	}
	return e
}

// resolveClasses fills in the classes that are left out. Where that is the
// class of what is received, it goes back to the first that says more.
func resolveClasses(d *ir.InstDAG, lines []instLine, at []int32) {
	known := make([]bool, len(at))
	for i := range known {
		known[i] = lines[at[i]-1].classKnown
	}
	var path []int32
	for i := range int32(len(at)) {
		path = path[:0]
		for k := i; !known[k]; {
			known[k] = true
			path = append(path, k)
			in := &d.Insts[k]
			if _, own := text.OwnIndex(in); own || !text.ClassOfMate(d, in) {
				break
			}
			k = in.RecvMate
		}
		for k := len(path) - 1; k >= 0; k-- {
			d.Insts[path[k]].Class = text.UsualClass(d, path[k])
		}
	}
}

// instFields reads what follows the operands of an instruction.
func (p *textParser) instFields(in *instLine) {
	for p.peek() != "" && !p.bad {
		switch key := p.next(); key {
		case "<-":
			p.mate(&in.RecvPeer, &in.RecvMate, &in.recvKnown)
		case "->":
			p.mate(&in.SendPeer, &in.SendMate, &in.sendKnown)
		case "seq":
			seq, send, fused := strings.Cut(p.next(), "/")
			in.Seq = p.number32(seq, 0)
			in.SendSeq = in.Seq
			if fused {
				in.SendSeq = p.number32(send, 0)
			}
		case "class":
			in.Class, in.classKnown = p.int(0), true
		case "part":
			in.Part = p.int(0)
		case "hint":
			in.Hint = p.int(0)
		case "ch":
			in.Channel = p.int(0)
		case "block":
			in.Block = p.int(0)
		case "step":
			in.Step = p.int(0)
		case "pos":
			in.Pos = p.int(0)
		case "deps":
			in.deps = p.names(p.next())
		case "waits":
			in.waits = p.names(p.next())
		default:
			p.errorf("%q is no field of an instruction", key)
		}
	}
}

// mate reads "3", "i8", "3 (i8)" or "3 (-)".
func (p *textParser) mate(peer, mate *int32, known *bool) {
	w := p.next()
	if strings.HasPrefix(w, "i") {
		*peer, *mate, *known = peerOfMate, p.name(w), true
		return
	}
	*peer = p.number32(w, -1)
	if w := p.peek(); strings.HasPrefix(w, "(") {
		p.next()
		*known = true
		if w != "(-)" {
			*mate = p.name(strings.TrimSuffix(w[1:], ")"))
		}
	}
}
