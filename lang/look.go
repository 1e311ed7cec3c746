package lang

import (
	"slices"

	"mscclc/ir/diag"
)

// This file finds where operations and references were made that an error is about. The calls and loops of an operation
// are not kept, nor where a reference was made: after an error, a second run of the file looks for them.

// A look is what a second run looks for: an operation by its number, or, if made is set, the chunk() that made a
// reference behind that operation. What it finds becomes notes of an error.
type look struct {
	err, at int // the notes go into errs[err].Notes, before note at
	op      int32
	made    bool
	ref     ref
	found   []diag.Note
}

// noteOp adds a note to d, the last error if it is one, that points at operation op, and its calls and loops.
func (m *machine) noteOp(d *diag.Diagnostic, op int32, format string, args ...any) {
	*d = d.WithNote(m.prog.spans[m.prog.ops[op-1].Pos], format, args...)
	m.addLook(d, &look{op: op})
}

// noteMade adds notes to d, the last error if it is one, that say where r was made.
func (m *machine) noteMade(d *diag.Diagnostic, r ref) {
	m.addLook(d, &look{op: r.time, made: true, ref: r})
}

// addLook asks for notes at the end of those of d. Only the first error that asks gets them.
func (m *machine) addLook(d *diag.Diagnostic, l *look) {
	l.err, l.at = len(m.errs)-1, len(d.Notes)
	if d.Code != "" && (len(m.looks) == 0 || m.looks[0].err == l.err) {
		m.looks = append(m.looks, l)
	}
}

// lookAgain runs the file again for what errors ask for.
func (m *machine) lookAgain(run func(again *machine)) {
	if len(m.looks) == 0 {
		return
	}
	run(&machine{lim: m.lim, looks: m.looks, looking: true})
	e := &m.errs[m.looks[0].err]
	for _, l := range slices.Backward(m.looks) {
		if l.made && len(l.found) == 0 && l.op > 0 {
			l.found = []diag.Note{{Span: m.prog.spans[m.prog.ops[l.op-1].Pos], Text: madeHere}}
		}
		e.Notes = slices.Insert(slices.Clip(e.Notes), l.at, l.found...)
	}
}

const madeHere = "the reference was made here"

// sawOp sees that the next operation is made: of operations that make none the last counts.
func (m *machine) sawOp() {
	for _, l := range m.looks {
		if l.op == m.prog.now()+1 && !l.made {
			l.found = notes(m.frames())
		}
	}
}

// sawChunk sees that chunk() at span made r. What is made after the error does not count.
func (m *machine) sawChunk(span diag.Span, r ref) {
	for _, l := range m.looks {
		x := &l.ref
		holds := r.buf == x.buf && r.cell <= x.cell && x.cell+x.count <= r.cell+r.count
		if l.made && len(m.errs) <= l.err && r.time == x.time && holds {
			l.found = append([]diag.Note{{Span: span, Text: madeHere}}, notes(m.frames())...)
		}
	}
}
