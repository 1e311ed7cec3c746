package lang

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file holds the chunks while the program runs and makes operations.

// An expansion is the memory of all ranks on symbolic chunks, and the
// operations made so far. A chunk's value is a number: 0 where nothing was
// written, poison where something failed, 1 + k for the k-th chunk of all
// inputs, and from then on the reductions in the order in which they were
// made. Nothing carries a list of contributions: result.go flattens the final
// values once.
type expansion struct {
	coll    *ir.Collective
	scratch []ir.ScratchDecl
	bufs    int     // input, output and the scratch buffers
	place   []place // of each rank, bufs of them
	write   []span32
	cells   []cell
	leaf    []int32 // the value of each rank's first input chunk
	nodes   []node  // of value firstNode + i
	first   int32

	ops   []ir.ChunkOp
	srcs  []ir.Ref
	from  []int32 // where the operands of the operation being made lie
	spent int64   // operands beyond the first, and copies
	spans []diag.Span

	declaration diag.Span // the line that says the collective
	declared    int32     // its number in spans
	ways        int32
	hints       []ir.Hint
	hintAt      map[ir.Hint]int32
	strays      bool // something wrote to input that is not also output
}

// A place is where a buffer of a rank lies among the cells.
type place struct{ cell, chunks int32 }

// span32 is the part of a rank's input that is also output.
type span32 struct{ from, to int32 }

// A cell is one chunk-sized place of memory: what it holds, and the number of
// the operation that wrote it.
type cell struct{ value, writer int32 }

const poison = -1

// A node is a reduction of two values.
type node struct{ a, b int32 }

// begin lays out memory for coll and fills the inputs.
func (p *expansion) begin(coll *ir.Collective, scratch []ir.ScratchDecl) {
	p.coll, p.scratch, p.bufs, p.ways = coll, scratch, 2+len(scratch), 1
	p.hints = []ir.Hint{ir.NoHint}
	p.spans = append(p.spans, p.declaration)
	p.declared = int32(len(p.spans) - 1)
	p.place = make([]place, coll.Ranks*p.bufs)
	p.write = make([]span32, coll.Ranks)
	p.leaf = make([]int32, coll.Ranks+1)
	perRank := int32(0)
	for i := range scratch {
		perRank += int32(scratch[i].Chunks)
	}
	all := make([]int32, coll.Ranks)
	for r := range all {
		all[r] = perRank
	}
	mem := ir.NewMemory(coll, all)
	p.cells = make([]cell, mem.Len())
	next := int32(1)
	for r := range coll.Ranks {
		in, out := coll.InChunks(r), coll.OutChunks(r)
		places := p.place[r*p.bufs : (r+1)*p.bufs]
		places[0] = place{int32(mem.Cell(r, ir.Input, 0)), int32(in)}
		places[1] = place{int32(mem.Cell(r, ir.Output, 0)), int32(out)}
		at := int32(mem.Cell(r, ir.Scratch, 0))
		for i := range scratch {
			places[2+i] = place{at, int32(scratch[i].Chunks)}
			at += int32(scratch[i].Chunks)
		}
		if coll.Inplace {
			lo := max(0, places[1].cell-places[0].cell)
			hi := min(int32(in), places[1].cell+int32(out)-places[0].cell)
			p.write[r] = span32{min(lo, hi), hi}
		}
		p.leaf[r] = next
		for i := range in {
			p.cells[places[0].cell+int32(i)].value = next + int32(i)
		}
		next += int32(in)
	}
	p.leaf[coll.Ranks] = next
	p.first = next
}

// A site is one place of the source that makes operations.
type site struct {
	span diag.Span // the whole call
	pos  int32     // span's number in spans
	src  diag.Span // what is copied or reduced
	dst  diag.Span // where to
	hint int32
}

// at returns the place of a buffer.
func (p *expansion) at(rank int32, b ir.Buf) place { return p.place[int(rank)*p.bufs+int(b)] }

// usable judges a chunk at a time whether r still says what it refers to. It
// returns false after a fault, and where a chunk holds poison.
func (m *machine) usable(s *site, r *ref, at int32) bool {
	p := &m.prog
	for k := range r.count {
		c := &p.cells[at+k]
		if c.value > 0 && c.writer <= r.time {
			continue
		}
		switch {
		case c.value == poison || m.lost:
		case c.value == 0:
			m.unwritten(s, r, k)
		default:
			m.stale(s, r, k, c.writer)
		}
		m.bad = true
		return false
	}
	return true
}

// target checks that count chunks may be written at index of b, and returns
// the first cell, or -1 where there is none.
func (m *machine) target(s *site, rank int64, b ir.Buf, index int64, count int32) (to int32, ok bool) {
	p := &m.prog
	if !m.inRange(s.dst, rank, b, index, int64(count)) {
		return -1, false
	}
	to = p.at(int32(rank), b).cell + int32(index)
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

// spoil marks what a failed operation would have written.
func (m *machine) spoil(at, count int32) {
	if at < 0 {
		m.lost = true
		return
	}
	for k := range count {
		m.prog.cells[at+k].value = poison
	}
}

// copyTo copies r to index of b of rank.
func (m *machine) copyTo(s *site, r *ref, rank int64, b ir.Buf, index int64) value {
	p := &m.prog
	failed := m.bad // r is not to be had
	m.bad = false
	to, ok := m.target(s, rank, b, index, r.count)
	if !ok || failed || !m.spend(s, 1, int64(r.count)) {
		m.spoil(to, r.count)
		m.bad = true
		return badValue
	}
	from := p.at(r.rank, r.buf).cell + r.index
	if !m.usable(s, r, from) {
		m.spoil(to, r.count)
		return badValue
	}
	dst := value{kind: kRef, ref: ref{int32(rank), int32(index), r.count, int32(len(p.ops)), b}}
	if from == to {
		return dst
	}
	if from < to+r.count && to < from+r.count {
		m.overlap(s, r, &dst.ref)
		m.spoil(to, r.count)
		return badValue
	}
	p.srcs = append(roomy(p.srcs), ir.Ref{Rank: r.rank, Index: r.index, Buf: r.buf})
	dst.time = p.emit(s, &dst.ref, 1)
	src, out := p.cells[from:from+r.count], p.cells[to:to+r.count]
	for k := range src {
		out[k] = cell{src[k].value, dst.time}
	}
	return dst
}

// emit adds an operation whose n sources are the last of srcs, and returns its
// number, from 1.
func (p *expansion) emit(s *site, dst *ref, n int32) int32 {
	p.ops = append(roomy(p.ops), ir.ChunkOp{
		Dst: ir.Ref{Rank: dst.rank, Index: dst.index, Buf: dst.buf}, Count: dst.count,
		Src: int32(len(p.srcs)) - n, NSrc: n, Ways: p.ways, Hint: s.hint, Pos: s.pos,
	})
	return int32(len(p.ops))
}

// roomy doubles a full slice. append alone grows large slices by a quarter,
// and would copy everything four times.
func roomy[T any](s []T) []T {
	if len(s) < cap(s) {
		return s
	}
	return slices.Grow(s, max(len(s), 1024))
}

// reduceTo writes the reduction of refs, from left to right, to dst.
func (m *machine) reduceTo(s *site, refs []value, rank int64, b ir.Buf, index int64) value {
	p := &m.prog
	failed := m.bad
	m.bad = false
	count := refs[0].count
	to, ok := m.target(s, rank, b, index, count)
	if !ok || failed || !m.spend(s, int64(max(1, len(refs)-1)), int64(count)*int64(len(refs))) || !m.operands(s, refs, to) {
		m.spoil(to, count)
		m.bad = true
		return badValue
	}
	dst := value{kind: kRef, ref: ref{int32(rank), int32(index), count, int32(len(p.ops)), b}}
	if len(refs) == 1 && p.from[0] == to {
		return dst
	}
	for i := range refs {
		p.srcs = append(roomy(p.srcs), ir.Ref{Rank: refs[i].rank, Index: refs[i].index, Buf: refs[i].buf})
	}
	dst.time = p.emit(s, &dst.ref, int32(len(refs)))
	for k := range count {
		v := p.cells[p.from[0]+k].value
		for _, from := range p.from[1:] {
			p.nodes = append(roomy(p.nodes), node{v, p.cells[from+k].value})
			v = p.first + int32(len(p.nodes)) - 1
		}
		// Sources overlap dst entirely or not at all, so that none is read after this.
		p.cells[to+k] = cell{v, dst.time}
	}
	return dst
}

// operands checks the sources of a reduction into the cells from to on, and
// finds theirs.
func (m *machine) operands(s *site, refs []value, to int32) bool {
	p := &m.prog
	p.from = p.from[:0]
	for i := range refs {
		r := &refs[i].ref
		if r.count != refs[0].count {
			m.counts(s, &refs[0].ref, r)
			return false
		}
		from := p.at(r.rank, r.buf).cell + r.index
		p.from = append(p.from, from)
		if !m.usable(s, r, from) {
			return false
		}
		if from != to && from < to+r.count && to < from+r.count {
			m.overlap(s, r, &ref{rank: r.rank, buf: r.buf, index: r.index + to - from, count: r.count})
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
