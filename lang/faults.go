package lang

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file words the errors of operations on chunks.

// A wroteIt is an operation, and a note that points at it. The note is to be followed by the operation's calls and
// loops, which are not kept while operations are made: a second run of the file looks at them.
type wroteIt struct {
	err, note int // places in lists
	op        int32
}

// inRange checks that a rank has count chunks from index of b.
func (m *machine) inRange(span diag.Span, rank int64, b ir.Buf, index, count int64) bool {
	p := &m.prog
	if rank < 0 || rank >= int64(p.coll.Ranks) {
		m.fault(diag.OutOfBounds, span, "rank %d does not exist: ranks are 0 to %d", rank, p.coll.Ranks-1)
		return false
	}
	have := int64(p.at(int32(rank), b).chunks)
	if count < 1 {
		m.fault(diag.OutOfBounds, span, "a reference to %d chunks: there must be at least 1", count)
		return false
	}
	if index >= 0 && index < have && count <= have-index {
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
	*d = m.declared(*d, b)
	return false
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

// declared adds a note to d that shows where b is declared.
func (m *machine) declared(d diag.Diagnostic, b ir.Buf) diag.Diagnostic {
	p := &m.prog
	if b < ir.Scratch {
		return d.WithNote(p.declaration, "%s says which chunks there are", p.coll.Kind)
	}
	decl := &p.scratch[b-ir.Scratch]
	return d.WithNote(decl.Span, "%s is declared here, with %s", decl.Name, chunks(int64(decl.Chunks)))
}

func (m *machine) unwritten(s *site, r ref, k int32) {
	name := m.prog.bufName(r.buf)
	d := m.fault(diag.Uninitialized, s.src, "rank %d reads %s[%d] before anything writes it", r.rank, name, r.index+k)
	if r.buf == ir.Input { // in place: input that lies in output is written; any other has its value
		return
	}
	*d = m.declared(*d, r.buf)
}

func (m *machine) stale(s *site, r ref, k, writer int32) {
	p := &m.prog
	d := m.fault(diag.Stale, s.src, "the reference to %s[%d] of rank %d is stale: the chunk was written after it was made", p.bufName(r.buf), r.index+k, r.rank)
	op := &p.ops[writer-1]
	name := p.bufName(op.Dst.Buf)
	m.wrote(d, writer)
	*d = d.WithNote(p.spans[op.Pos], "this wrote %s of rank %d", name, op.Dst.Rank)
	switch {
	case op.NSrc > 1:
		d.Hint = "an operation returns a reference to what it wrote: c = c.reduce(x)"
	case op.Dst.Buf != r.buf && (op.Dst.Buf == ir.Output || r.buf == ir.Output):
		d.Hint = "in place, input and output are one memory"
	}
}

// wrote notes that the next note of d, which is the last error if it is one, will point at operation op.
func (m *machine) wrote(d *diag.Diagnostic, op int32) {
	if m.writer.op == 0 && d.Code != "" {
		m.writer = wroteIt{len(m.errs) - 1, len(d.Notes), op}
	}
}

func (m *machine) readOnly(s *site, rank, index int64) {
	d := m.fault(diag.ReadOnlyInput, s.dst, "input[%d] of rank %d cannot be written: the file is written out of place", index, rank)
	*d = d.WithNote(m.prog.declaration, "%s is out of place", m.prog.coll.Kind)
	if hasInplace[m.prog.coll.Kind] {
		d.Hint = "inplace = true makes input and output one memory"
	} else {
		d.Hint = "write to output or to scratch"
	}
}

func (m *machine) overlap(s *site, r, dst ref) {
	d := m.fault(diag.Overlap, s.span, "source %s and destination %s overlap in part", m.prog.refName(&r), m.prog.refName(&dst))
	if r.buf != dst.buf {
		d.Hint = "in place, input and output are one memory"
	}
}

func (m *machine) counts(s *site, first, r ref) {
	d := m.fault(diag.Counts, s.span, "operands have different counts: %s is %s, and %s is %s", m.prog.refName(&first), chunks(int64(first.count)), m.prog.refName(&r), chunks(int64(r.count)))
	d.Hint = "c[i..j] is a part of a reference"
}
