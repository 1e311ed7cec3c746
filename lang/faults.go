package lang

import (
	"fmt"
	"math"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file words the errors of operations on chunks.

// inRange checks that a rank has count chunks from index of b.
func (m *machine) inRange(span diag.Span, rank int64, b ir.Buf, index, count int64) bool {
	p := &m.prog
	if rank < 0 || rank >= int64(p.coll.Ranks) {
		d := m.fault(diag.OutOfBounds, span, "rank %d does not exist: ranks are 0 to %d", rank, p.coll.Ranks-1)
		d.Hint = fmt.Sprintf("to go on at rank 0 after rank %d, write (...) %% %d", p.coll.Ranks-1, p.coll.Ranks)
		if rank < 0 {
			d.Hint = fmt.Sprintf("to go on at rank %d before rank 0, write (...) %% %d", p.coll.Ranks-1, p.coll.Ranks)
		}
		return false
	}
	have := int64(p.at(int32(rank), b).chunks)
	if count < 0 {
		m.fault(diag.OutOfBounds, span, "a reference to %d chunks: a count is 0 or more", count)
		return false
	}
	if index >= 0 && (index < have || count == 0) && count <= have-index {
		return true
	}
	name := p.bufName(b)
	what := fmt.Sprintf("%s[%d]", name, index)
	if count > 1 && index <= math.MaxInt64-count {
		what = fmt.Sprintf("%s[%d..%d]", name, index, index+count)
	} else if count > 1 {
		what = fmt.Sprintf("%s[%d], with %d chunks,", name, index, count)
	}
	d := m.fault(diag.OutOfBounds, span, "%s of rank %d does not exist: %s has %s there", what, rank, name, chunks(have))
	switch {
	case b == ir.Output && have > 0:
		*d = d.WithNote(p.declaration, "in this %s, %s", p.coll.Kind, m.wants(int(rank)))
	case have > 0 || b >= ir.Scratch:
		*d = m.declared(*d, b)
	default:
		*d = d.WithNote(p.declaration, "in this %s, rank %d has no %s", p.coll.Kind, rank, name)
	}
	if count > 1 && index >= 0 && index < have {
		d.Hint = fmt.Sprintf("from index %d on there is room for %s, not for %d", index, chunks(have-index), count)
	}
	return false
}

// mostMatched bounds the pairs of chunks that matched looks at.
const mostMatched = 1 << 16

// matched returns a hint where r holds what the output of a rank must hold: the copies that put it there.
func (m *machine) matched(r ref, rank int64) string {
	p := &m.prog
	if rank < 0 || rank >= int64(p.coll.Ranks) || int64(r.count)*int64(p.coll.OutChunks(int(rank))) > mostMatched {
		return ""
	}
	var copies []string
	for k := range r.count {
		x, _ := p.cells.At(int(r.cell + k))
		one := ref{spot: spot{rank: r.rank, index: r.index + k}, holds: holds{buf: r.buf}, count: 1}
		for i := range p.coll.OutChunks(int(rank)) {
			if w := p.coll.Want(int(rank), i); !w.Any && p.values.Matches(x, w) {
				copies = append(copies, fmt.Sprintf("%s.copy(%d, output, %d)", p.chunkCall(&one), rank, i))
			}
		}
	}
	switch n := len(copies); {
	case n == 0:
		return ""
	case n > wantsShown:
		copies = append(copies[:wantsShown], "and so on")
	}
	return fmt.Sprintf("rank %d needs only this copy from here: %s", rank, strings.Join(copies, ", "))
}

func chunks(n int64) string {
	switch n {
	case 0:
		return "no chunks"
	case 1:
		return "1 chunk"
	}
	return fmt.Sprintf("%d chunks", n)
}

// wantsShown bounds the chunks that wants names.
const wantsShown = 4

// wants says what the output of a rank must hold in the end.
func (m *machine) wants(rank int) string {
	p := &m.prog
	n := p.coll.OutChunks(rank)
	var says []string
	for i := range min(n, wantsShown) {
		says = append(says, fmt.Sprintf("output[%d] must hold %s", i, p.values.DescribeWant(p.coll.Want(rank, i))))
	}
	if n > wantsShown {
		says = append(says, "and so on")
	}
	return fmt.Sprintf("rank %d has %s of output: %s (in[r][i] is input[i] of rank r)", rank, chunks(int64(n)),
		strings.Join(says, ", "))
}

// declared adds a note to d that shows where b is declared.
func (m *machine) declared(d diag.Diagnostic, b ir.Buf) diag.Diagnostic {
	p := &m.prog
	if b < ir.Scratch {
		return d.WithNote(p.declaration, "in this %s, a rank has this many chunks", p.coll.Kind)
	}
	decl := &p.scratch[b-ir.Scratch]
	return d.WithNote(decl.Span, "%s is declared here, with %s", decl.Name, chunks(int64(decl.Chunks)))
}

func (m *machine) unwritten(s *site, r ref, k int32) {
	name := m.prog.bufName(r.buf)
	d := m.fault(diag.Uninitialized, s.src, "rank %d reads %s[%d] before anything writes it", r.rank, name, r.index+k)
	switch {
	case r.buf == ir.Input: // in place: input that lies in output is written; any other has its value
	case r.buf == ir.Output:
		d.Hint = fmt.Sprintf("at the beginning only input holds data: read input, or write %s[%d] of rank %d first",
			name, r.index+k, r.rank)
	default:
		*d = m.declared(*d, r.buf)
		d.Hint = fmt.Sprintf("write %s[%d] of rank %d first", name, r.index+k, r.rank)
	}
}

func (m *machine) stale(s *site, r ref, k, writer int32) {
	p := &m.prog
	d := m.fault(diag.Stale, s.src,
		"the reference to %s[%d] of rank %d is stale: the chunk was overwritten after the reference was made",
		p.bufName(r.buf), r.index+k, r.rank)
	op := &p.ops[writer-1]
	m.noteMade(d, r)
	at := p.spans[op.Pos]
	m.noteOp(d, writer, "this overwrote %s of rank %d", p.bufName(op.Dst.Buf), op.Dst.Rank)
	now := fmt.Sprintf("to use what is there now, make a new reference: %s", p.chunkCall(&r))
	switch {
	case op.NSrc > 1:
		d.Hint = "an operation returns a reference to what it wrote: keep that; " + now
	case op.Dst.Buf != r.buf && (op.Dst.Buf == ir.Output || r.buf == ir.Output):
		d.Hint = "in place, input and output are one memory; " + now
	case at.Filename == s.src.Filename && at.Line < s.src.Line:
		d.Hint = fmt.Sprintf("%s; to use what was there before, move this line above line %d", now, at.Line)
	default:
		d.Hint = now
	}
}

// chunkCall is r as a call of chunk.
func (p *expansion) chunkCall(r *ref) string {
	if r.count == 1 {
		return fmt.Sprintf("chunk(%d, %s, %d)", r.rank, p.bufName(r.buf), r.index)
	}
	return fmt.Sprintf("chunk(%d, %s, %d, %d)", r.rank, p.bufName(r.buf), r.index, r.count)
}

func (m *machine) readOnly(s *site, rank, index int64) {
	d := m.fault(diag.ReadOnlyInput, s.dst, "input[%d] of rank %d cannot be written: the file is written out of place",
		index, rank)
	*d = d.WithNote(m.prog.declaration, "%s is out of place", m.prog.coll.Kind)
	if hasInplace[m.prog.coll.Kind] {
		d.Hint = "inplace = true makes input and output one memory"
	} else {
		d.Hint = "write to output or to scratch"
	}
}

func (m *machine) overlap(s *site, r, dst ref) {
	d := m.fault(diag.Overlap, s.span, "source %s and destination %s overlap in part", m.prog.refName(&r),
		m.prog.refName(&dst))
	if r.buf != dst.buf {
		d.Hint = "in place, input and output are one memory"
	}
}

// counts reports that operand n of a reduction has not as many chunks as the first.
func (m *machine) counts(s *site, refs []ref, n int) {
	first, r := &refs[0], &refs[n]
	one, other := m.operandName(s, refs, 0), m.operandName(s, refs, n)
	d := m.fault(diag.Counts, s.span, "operands have different counts: %s is %s, and %s is %s", one,
		chunks(int64(first.count)), other, chunks(int64(r.count)))
	larger, fewer := n, min(first.count, r.count)
	if first.count > r.count {
		larger = 0
	}
	if name := s.word(refs, larger); name != "" {
		d.Hint = fmt.Sprintf("%s[0..%d] is a part of %s with %s; or give both as many chunks where they are made",
			name, fewer, name, chunks(int64(fewer)))
	} else {
		d.Hint = fmt.Sprintf("[0..%d] after the operand with more chunks takes %s of it", fewer, chunks(int64(fewer)))
	}
}

// operandName says which chunks an operand is, and what the source calls it if it has a name there.
func (m *machine) operandName(s *site, refs []ref, n int) string {
	if name := s.word(refs, n); name != "" {
		return fmt.Sprintf("%s (%s)", name, m.prog.refName(&refs[n]))
	}
	return m.prog.refName(&refs[n])
}

// word returns the variable that operand n of a reduction is in the source, or "".
func (s *site) word(refs []ref, n int) string {
	if len(s.words) != len(refs) { // some are lists
		return ""
	}
	return s.words[n]
}
