package msccl

import (
	"cmp"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// fillStep makes a step of the values of its tag.
func (x *reader) fillStep(t *tag, s *ir.Step) {
	v, b := &x.v, &x.tbs[len(x.tbs)-1]
	if at := int64(len(x.p.Steps)) - int64(b.Steps.First); v.num[stepS] != at {
		x.report(diag.Malformed, t.span(v.attr[stepS]), "step is numbered %d where %d is due", v.num[stepS], at)
	}
	op, known := opOf(v.attr[stepType].value)
	if !known {
		x.report(diag.Malformed, t.span(v.attr[stepType]), "type %q is none of %s", diag.Clip(v.attr[stepType].value),
			mnemonics())
		return
	}
	s.Op = op
	if v.num[stepHasDep] != 0 {
		s.Flags = ir.HasDep
	}
	if v.num[stepDepBlock] >= 0 {
		s.DepBlock, s.DepStep = int32(v.num[stepDepBlock]), int32(v.num[stepDepStep])
		if s.DepStep < 0 {
			x.report(diag.OutOfBounds, t.span(v.attr[stepDepStep]), "step %d of a thread block is none", s.DepStep)
		}
	}
	x.waits(t, s, b)
	src, srcOK := x.buffer(t, v.attr[stepSrcBuf])
	dst, dstOK := x.buffer(t, v.attr[stepDstBuf])
	info := op.Info()
	if op == ir.Nop || !srcOK || !dstOK {
		return
	}
	if info.Sends && b.SendPeer < 0 {
		x.report(diag.Malformed, t.span(v.attr[stepType]), "%s sends, and its thread block has no peer to send to", op)
	}
	if info.Receives && b.RecvPeer < 0 {
		x.report(diag.Malformed, t.span(v.attr[stepType]),
			"%s receives, and its thread block has no peer to receive from", op)
	}
	if s.Count = int32(v.num[stepCount]); s.Count < 1 {
		x.report(diag.Malformed, t.span(v.attr[stepCount]), "step moves %d chunks", s.Count)
		return
	}
	if info.ReadsSrc {
		s.SrcBuf, s.Src = src, int32(v.num[stepSrc])
		x.bounds(t, v.attr[stepSrc], src, s.Src, s.Count)
	}
	if info.ReadsDst || info.Writes {
		s.DstBuf, s.Dst = dst, int32(v.num[stepDst])
		x.bounds(t, v.attr[stepDst], dst, s.Dst, s.Count)
	}
}

// opOf is ir.OpByMnemonic without an allocation.
func opOf(b []byte) (ir.Op, bool) {
	for op := range ir.Ops {
		if ir.Ops[op].Mnemonic == string(b) && !ir.Ops[op].OneSided {
			return ir.Op(op), true
		}
	}
	return 0, false
}

// mnemonics lists the types of steps.
func mnemonics() string {
	var list []string
	for op := range ir.Ops {
		if !ir.Ops[op].OneSided {
			list = append(list, ir.Ops[op].Mnemonic)
		}
	}
	return strings.Join(list, ", ")
}

// waits checks the rule of nops: each carries a wait, and the step after them
// carries one too.
func (x *reader) waits(t *tag, s *ir.Step, b *tbRecord) {
	if s.DepBlock >= 0 {
		return
	}
	if s.Op == ir.Nop {
		x.report(diag.Malformed, t.span(x.v.attr[stepDepBlock]), "nop waits for nothing")
		return
	}
	if n := len(x.p.Steps); n > int(b.Steps.First) && x.p.Steps[n-1].Op == ir.Nop && x.p.Steps[n-1].DepBlock >= 0 {
		x.report(diag.Malformed, t.span(x.v.attr[stepDepBlock]),
			"step after a nop waits for nothing: the runtimes reject such a chain of dependences")
	}
}

func (x *reader) buffer(t *tag, a *attr) (ir.Buf, bool) {
	if len(a.value) == 1 {
		switch a.value[0] {
		case 'i':
			return ir.Input, true
		case 'o':
			return ir.Output, true
		case 's':
			return ir.Scratch, true
		}
	}
	x.report(diag.Malformed, t.span(a), "buffer %q is none of i, o and s", diag.Clip(a.value))
	return ir.NoBuf, false
}

// bounds checks count chunks from index of a buffer of the last rank.
func (x *reader) bounds(t *tag, a *attr, b ir.Buf, index, count int32) {
	g := &x.gpus[len(x.gpus)-1]
	size := g.scratch
	switch b {
	case ir.Input:
		size = g.input
	case ir.Output:
		size = g.output
	}
	switch end := int64(index) + int64(count); {
	case index < 0 || end > int64(size) && count == 1:
		x.report(diag.OutOfBounds, t.span(a), "%s chunk %d is outside rank %d's %d", b, index, g.id, size)
	case end > int64(size):
		x.report(diag.OutOfBounds, t.span(a), "%s chunks %d to %d are outside rank %d's %d", b, index, end-1, g.id, size)
	}
}

// closeGPU checks what concerns the blocks of a rank together, and sorts them
// by id.
func (x *reader) closeGPU(g *gpuRecord) {
	tbs := x.tbs[g.tbs.First:g.tbs.End]
	slices.SortStableFunc(tbs, func(a, b tbRecord) int { return cmp.Compare(a.id, b.id) })
	for i := range tbs {
		if int(tbs[i].id) != i {
			if i > 0 && tbs[i].id == tbs[i-1].id {
				x.report(diag.Malformed, tbs[i].span, "rank %d has thread block %d twice", g.id, tbs[i].id)
			} else {
				x.report(diag.Malformed, tbs[i].span, "rank %d has thread block %d, but no %d", g.id, tbs[i].id, i)
			}
			return
		}
	}
	for i := range tbs {
		for k := tbs[i].Steps.First; k < tbs[i].Steps.End && !x.full(); k++ {
			s := &x.p.Steps[k]
			if s.DepBlock < 0 {
				continue
			}
			x.at = place{int(g.id), i, int(k - tbs[i].Steps.First)}
			if int(s.DepBlock) >= len(tbs) {
				x.report(diag.OutOfBounds, x.p.Span(s.Pos), "step waits for thread block %d, and rank %d has %d", s.DepBlock,
					g.id, len(tbs))
			} else if n := tbs[s.DepBlock].Steps; s.DepStep >= n.End-n.First {
				x.report(diag.OutOfBounds, x.p.Span(s.Pos), "step waits for step %d of thread block %d, which has %d", s.DepStep,
					s.DepBlock, n.End-n.First)
			}
		}
	}
}
