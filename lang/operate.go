package lang

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file makes operations. It is what a run spends its time on.

// A site is one place of the source that makes operations.
type site struct {
	span diag.Span // the whole call
	pos  int32     // span's number in spans
	src  diag.Span // what is copied or reduced
	dst  diag.Span // where to
	hint int32
}

// usable judges a chunk at a time whether r, whose cells begin at at, still
// says what it refers to. It returns false after a fault, and where a chunk
// holds poison.
func (m *machine) usable(s *site, r ref, at int32) bool {
	cells := m.prog.cells[at : at+r.count]
	for k := range cells {
		if c := cells[k]; c.value <= 0 || c.writer > r.time {
			m.unusable(s, r, int32(k), c)
			return false
		}
	}
	return true
}

// unusable says why chunk k of r cannot be used.
func (m *machine) unusable(s *site, r ref, k int32, c cell) {
	switch {
	case c.value == poison || m.lost || m.lostIn[r.buf]:
	case c.value == 0:
		m.unwritten(s, r, k)
	default:
		m.stale(s, r, k, c.writer)
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
func (m *machine) fail(b ir.Buf, at, count int32) value {
	m.bad = true
	if at < 0 {
		m.lose(b)
		return badValue
	}
	for k := range count {
		m.prog.cells[at+k].value = poison
	}
	return badValue
}

// copyTo copies r to index of b of rank.
func (m *machine) copyTo(s *site, r ref, rank int64, b ir.Buf, index int64) value {
	p := &m.prog
	failed := m.bad // r is not to be had
	m.bad = false
	to, ok := m.target(s, rank, b, index, r.count)
	if failed && ok { // nor is its count
		return m.fail(b, to, p.at(int32(rank), b).chunks-int32(index))
	}
	if !ok || failed || !m.spend(s, 1, int64(r.count)) {
		return m.fail(b, to, r.count)
	}
	from := p.at(r.rank, r.buf).cell + r.index
	if !m.usable(s, r, from) {
		return m.fail(b, to, r.count)
	}
	if from != to {
		if from < to+r.count && to < from+r.count {
			m.overlap(s, r, ref{int32(rank), int32(index), r.count, 0, b})
			return m.fail(b, to, r.count)
		}
		*p.srcs.next() = ir.Ref{Rank: r.rank, Index: r.index, Buf: r.buf}
		p.emit(s, int32(rank), b, int32(index), r.count, 1)
		now := int32(p.ops.n)
		src, out := p.cells[from:from+r.count], p.cells[to:to+r.count]
		for k := range out {
			out[k] = cell{src[k].value, now}
		}
	}
	return value{kind: kRef, ref: ref{int32(rank), int32(index), r.count, int32(p.ops.n), b}}
}

// emit adds an operation whose n sources are the last of srcs.
func (p *expansion) emit(s *site, rank int32, b ir.Buf, index, count, n int32) {
	op := p.ops.next()
	op.Dst.Rank, op.Dst.Index, op.Dst.Buf = rank, index, b
	op.Count, op.Src, op.NSrc = count, int32(p.srcs.n)-n, n
	op.Ways, op.Hint, op.Pos = p.ways, s.hint, s.pos
}

// reduceTo writes the reduction of refs, from left to right, to index of b of
// rank.
func (m *machine) reduceTo(s *site, refs []value, rank int64, b ir.Buf, index int64) value {
	p := &m.prog
	failed := m.bad
	m.bad = false
	count := refs[0].count
	to, ok := m.target(s, rank, b, index, count)
	if !ok || failed || !m.spend(s, int64(max(1, len(refs)-1)), int64(count)*int64(len(refs))) || !m.operands(s, refs, to) {
		return m.fail(b, to, count)
	}
	if len(refs) > 1 || p.from[0] != to {
		for i := range refs {
			r := &refs[i]
			*p.srcs.next() = ir.Ref{Rank: r.rank, Index: r.index, Buf: r.buf}
		}
		p.emit(s, int32(rank), b, int32(index), count, int32(len(refs)))
		now := int32(p.ops.n)
		for k := range count {
			v := p.cells[p.from[0]+k].value
			for _, from := range p.from[1:] {
				p.nodes = append(p.nodes, node{v, p.cells[from+k].value})
				v = p.first + int32(len(p.nodes)) - 1
			}
			// Sources overlap the destination entirely or not at all, so that none is read after this.
			p.cells[to+k] = cell{v, now}
		}
	}
	return value{kind: kRef, ref: ref{int32(rank), int32(index), count, int32(p.ops.n), b}}
}

// operands checks the sources of a reduction into the cells from to on, and
// finds theirs.
func (m *machine) operands(s *site, refs []value, to int32) bool {
	p := &m.prog
	p.from = p.from[:0]
	for i := range refs {
		r := &refs[i].ref
		if r.count != refs[0].count {
			m.counts(s, refs[0].ref, *r)
			return false
		}
		from := p.at(r.rank, r.buf).cell + r.index
		p.from = append(p.from, from)
		if !m.usable(s, *r, from) {
			return false
		}
		if from != to && from < to+r.count && to < from+r.count {
			m.overlap(s, *r, ref{rank: r.rank, buf: r.buf, index: r.index + to - from, count: r.count})
			return false
		}
	}
	return true
}

// spend pays for an operation.
func (m *machine) spend(s *site, ops, chunks int64) bool {
	if m.custom {
		m.fault(diag.Declaration, s.span, "a custom collective says what must hold: it copies and reduces nothing")
		return false
	}
	if m.prog.spent += ops; m.prog.spent > m.lim.Ops {
		m.exhausted("ops", m.lim.Ops, &s.span, "the file makes more than %d operations")
		return false
	}
	return m.step(chunks, &s.span)
}
