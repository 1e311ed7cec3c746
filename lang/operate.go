package lang

import (
	"cmp"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/lang/syntax"
)

// This file makes operations. It is what a run spends its time on.

// A site is one place of the source that makes operations.
type site struct {
	span diag.Span // the whole call
	pos  int32     // span's number in spans
	src  diag.Span // what is copied or reduced
	dst  diag.Span // where to
	hint int32

	operands []ref    // of the reduction being made
	words    []string // the variables that they are in the source, "" for another expression
}

// usable judges whether r still says what it refers to, and reads it into prog.read. It returns false after a fault,
// and where a chunk is poisoned.
func (m *machine) usable(s *site, r ref) bool {
	p := &m.prog
	cell, n := int(r.cell), int(r.count)
	p.read = p.cells.Read(p.read[:0], cell, n)
	if !eval.Nothing(p.read) && !p.cells.Later(cell, n, r.time) {
		return true
	}
	k := p.cells.Find(cell, n, func(x eval.Value, writer int32) bool { return x == eval.None || writer > r.time })
	m.unusable(s, r, int32(k))
	return false
}

// unusable says why chunk k of r cannot be used.
func (m *machine) unusable(s *site, r ref, k int32) {
	x, writer := m.prog.cells.At(int(r.cell + k))
	switch {
	case x == eval.None && writer == poisoned || m.lost || m.lostIn[r.buf]:
	case x == eval.None:
		m.unwritten(s, r, k)
	default:
		m.stale(s, r, k, writer)
	}
	m.bad = true
}

// target checks that count chunks may be written at index of b, and returns
// the first cell, or -1 where there is none.
func (m *machine) target(s *site, rank int64, b ir.Buf, index int64, count int32) (to int32, ok bool) {
	p := &m.prog
	if uint64(rank) >= uint64(p.coll.Ranks) {
		m.inRange(s.dst, rank, b, index, int64(count))
		return -1, false
	}
	at := p.at(int32(rank), b)
	if index < 0 || int64(count) > int64(at.chunks)-index {
		m.inRange(s.dst, rank, b, index, int64(count))
		return -1, false
	}
	to = at.cell + int32(index)
	if b == ir.Input {
		w := p.write[rank]
		if !p.coll.Inplace {
			m.readOnly(s, rank, index)
			return to, false
		}
		if int32(index) < w.from || int32(index)+count > w.to {
			p.strays = true
		}
	}
	return to, true
}

// fail ends an operation on b that cannot be done: what it would have written
// is not known from now on. It returns what the operation is worth.
func (m *machine) fail(b ir.Buf, at, count int32) ref {
	m.bad = true
	if at < 0 {
		m.lose(b)
		return ref{}
	}
	if count > 0 {
		m.prog.cells.Write(int(at), int(count), poisoned, []eval.Run{{Value: eval.None, Count: count}})
	}
	return ref{}
}

// copyTo copies r to index of b of rank.
func (m *machine) copyTo(s *site, r ref, rank int64, b ir.Buf, index int64) ref {
	p := &m.prog
	failed := m.bad // r is not to be had
	m.bad = false
	errs := len(m.errs)
	to, ok := m.target(s, rank, b, index, r.count)
	if to < 0 && b == ir.Output && !failed && len(m.errs) > errs {
		m.errs[errs].Hint = cmp.Or(m.matched(r, rank), m.errs[errs].Hint)
	}
	if failed && ok { // nor is its count
		return m.fail(b, to, p.at(int32(rank), b).chunks-int32(index))
	}
	if ok && !failed && r.empty() {
		return ref{spot{to, int32(rank), int32(index)}, 0, emptyTime, holds{buf: b}}
	}
	if !ok || failed || !m.spend(s, 1, int64(r.count)) {
		return m.fail(b, to, r.count)
	}
	if !m.usable(s, r) {
		return m.fail(b, to, r.count)
	}
	if r.then > 0 && b != ir.Output {
		m.elsewhere(s, r, "this copies %s to %s", p.refName(&r), p.bufName(b))
		return m.fail(b, to, r.count)
	}
	dst := ref{spot{to, int32(rank), int32(index)}, r.count, 0, holds{buf: b}}
	if r.cell != to {
		if r.overlaps(dst) {
			m.overlap(s, r, dst)
			return m.fail(b, to, r.count)
		}
		p.source(r)
		now := p.emit(s, dst, 1)
		p.cells.Write(int(to), int(r.count), now, p.read)
		if r.then > 0 {
			p.copyFinished(r, now)
		}
	}
	dst.time = p.now()
	return dst
}

// overlaps reports whether two references have a cell in common.
func (r ref) overlaps(x ref) bool { return r.cell < x.cell+x.count && x.cell < r.cell+r.count }

// now returns the number of operations made.
func (p *expansion) now() int32 { return int32(len(p.ops)) }

// source adds an operand of the operation to come.
func (p *expansion) source(r ref) {
	p.srcs = append(room(p.srcs, p.likely.srcs), ir.Ref{Rank: r.rank, Index: r.index, Buf: r.buf})
}

// emit adds an operation whose n sources are the last of srcs, and returns its
// number.
func (p *expansion) emit(s *site, dst ref, n int32) int32 {
	now := len(p.ops)
	p.ops = room(p.ops, p.likely.ops)[:now+1]
	op := &p.ops[now]
	op.Dst.Rank, op.Dst.Index, op.Dst.Buf = dst.rank, dst.index, dst.buf
	op.Count, op.Src, op.NSrc = dst.count, int32(len(p.srcs))-n, n
	op.Ways, op.Hint, op.Pos = p.ways, s.hint, s.pos
	return int32(now) + 1
}

// reduceTo writes the reduction of refs, from left to right, to index of b of
// rank.
func (m *machine) reduceTo(s *site, refs []ref, rank int64, b ir.Buf, index int64) ref {
	p := &m.prog
	failed := m.bad
	m.bad = false
	count := refs[0].count
	to, ok := m.target(s, rank, b, index, count)
	if ok && !failed && count == 0 {
		return m.reduceNothing(s, refs, ref{spot{to, int32(rank), int32(index)}, 0, emptyTime, holds{buf: b}})
	}
	if !ok || failed || !m.spend(s, int64(max(1, len(refs)-1)), int64(count)*int64(len(refs))) ||
		!m.operands(s, refs, to) {
		return m.fail(b, to, count)
	}
	dst := ref{spot{to, int32(rank), int32(index)}, count, 0, holds{buf: b}}
	if len(refs) > 1 || refs[0].cell != to {
		for i := range refs {
			p.source(refs[i])
		}
		now := p.emit(s, dst, int32(len(refs)))
		p.cells.Write(int(to), int(count), now, p.made.Runs())
	}
	dst.time = p.now()
	return dst
}

// reduceNothing is reduceTo of references to no chunks.
func (m *machine) reduceNothing(s *site, refs []ref, dst ref) ref {
	for i := range refs {
		if refs[i].count != 0 {
			m.counts(s, refs, i)
			return m.fail(dst.buf, dst.cell, 0)
		}
	}
	return dst
}

// operands checks the sources of a reduction into the cells from to on, and makes prog.made their sum, from left to
// right.
func (m *machine) operands(s *site, refs []ref, to int32) bool {
	m.prog.made.Reset()
	for i := range refs {
		r := refs[i]
		if r.count != refs[0].count {
			m.counts(s, refs, i)
			return false
		}
		if !m.usable(s, r) {
			return false
		}
		if r.then > 0 {
			m.elsewhere(s, r, "this adds up %s", m.prog.refName(&r))
			return false
		}
		if r.cell != to && r.overlaps(ref{spot: spot{cell: to}, count: r.count}) {
			m.overlap(s, r, ref{spot: spot{rank: r.rank, index: r.index + to - r.cell}, holds: r.holds, count: r.count})
			return false
		}
		m.prog.made.Add(m.prog.values, m.prog.read)
	}
	return true
}

// spend pays for an operation.
func (m *machine) spend(s *site, ops, chunks int64) bool {
	if m.custom {
		m.fault(diag.Declaration, s.span, "a custom collective says what must hold: it copies and reduces nothing")
		return false
	}
	if m.prog.channels != nil {
		m.mixedChunks(s.span)
		return false
	}
	if m.prog.spent == 0 {
		m.prog.firstOp = s.span
	}
	if m.looking {
		m.sawOp()
	}
	if m.watch != nil {
		m.watch(s.span.Pos, -1)
	}
	if m.prog.spent += ops; m.prog.spent > m.lim.Ops {
		m.exhausted("ops", m.lim.Ops, syntax.MoreHint("ops", m.lim.Ops), &s.span, "the file makes more than %d operations")
		return false
	}
	return m.step(chunks, &s.span)
}

// ready reports whether there are chunks yet: the lines at the top of the file
// that say how many cannot refer to them.
func (m *machine) ready(span *diag.Span) bool { return m.prog.coll != nil || m.unready(span) }

func (m *machine) unready(span *diag.Span) bool {
	m.fault(diag.Declaration, *span, "there are no chunks before the collective and the scratch buffers are known")
	return false
}
