package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file says of errors in which calls and loops they are, and with which values.

// A running is a loop or a call that is under way: the other is nil. A stack of these is all that a good run keeps.
type running struct {
	loop *iteration
	call *caller
}

// A frame is a call that is under way with the loops round it, or, as the innermost, loops alone.
type frame struct {
	span  diag.Span // of the call, or zero
	name  string    // of the function
	args  []binding
	loops []binding
}

// A binding is a name with its value as text.
type binding struct{ name, value string }

// Bounds of what notes say.
const (
	frameCalls  = 3  // shown beside the outermost
	frameValues = 8  // of loops, and of a call's arguments
	frameText   = 40 // characters of a string
)

// frames returns the calls that lead to what runs, the innermost first.
func (m *machine) frames() []frame {
	list := []frame{{}}
	for i := len(m.running) - 1; i >= 0; i-- {
		if l := m.running[i].loop; l != nil {
			last := &list[len(list)-1]
			if text := m.text(l.slot); text != l.slot.kind.String() { // which would say nothing of the value
				last.loops = append(last.loops, binding{l.name, text})
			}
			continue
		}
		c := m.running[i].call
		f := frame{span: c.span, name: c.f.def.Name.Text}
		for k, p := range c.f.def.Params {
			f.args = append(f.args, binding{p.Name, m.text(c.f.slots[k])})
		}
		list = append(list, f)
	}
	for i := range list {
		slices.Reverse(list[i].loops) // the outermost first
	}
	return list
}

// notes are frames as notes: all up to a bound, and the outermost.
func notes(frames []frame) (list []diag.Note) {
	for i := range frames {
		f := &frames[i]
		loops := bindings(f.loops)
		switch {
		case i == 0 && loops != "":
			list = append(list, diag.Note{Text: "where " + loops})
		case i > frameCalls && i < len(frames)-1 || i == 0:
		default:
			text := fmt.Sprintf("in this call of %s(%s)", f.name, bindings(f.args))
			if loops != "" {
				text += ", where " + loops
			}
			list = append(list, diag.Note{Span: f.span, Text: text})
		}
	}
	return list
}

// bindings joins the first of list.
func bindings(list []binding) string {
	var values []string
	for _, b := range list[:min(len(list), frameValues)] {
		values = append(values, b.name+" = "+b.value)
	}
	if len(list) > frameValues {
		values = append(values, "...")
	}
	return strings.Join(values, ", ")
}

// common keeps of a what b has too: nothing where other calls lead there.
func common(a, b []frame) []frame {
	if !slices.EqualFunc(a, b, func(x, y frame) bool { return x.span == y.span && x.name == y.name }) {
		return nil
	}
	for i := range a {
		differs := func(in []binding) func(binding) bool {
			return func(x binding) bool { return !slices.Contains(in, x) }
		}
		a[i].args = slices.DeleteFunc(a[i].args, differs(b[i].args))
		a[i].loops = slices.DeleteFunc(a[i].loops, differs(b[i].loops))
	}
	return a
}

// Bounds of what Backtrace looks at: errors, and operations.
const (
	backtraceMost  = 20
	backtraceLooks = 100_000
)

// A trace is what is known of the operations that an error may mean.
type trace struct {
	frames []frame
	found  bool
}

// Backtrace adds to errors that were found after the expansion of f in which calls and loops the operation was made
// that they point at: what all operations of that line, and of that rank where blocks have them, have in common. It
// expands f again, as nothing keeps that while operations are made.
func Backtrace(f *syntax.File, opt Options, list diag.List) {
	at := map[watched]*trace{}
	look := list[:min(len(list), backtraceMost)]
	for i := range look {
		at[watchedAt(&look[i])] = &trace{}
		at[watched{look[i].Span.Pos, -1}] = &trace{}
	}
	looks := 0
	m := &machine{lim: opt.Limits.WithDefaults()}
	m.watch = func(pos diag.Pos, rank int32) {
		for _, r := range []int32{rank, -1} {
			w := at[watched{pos, r}]
			if w != nil {
				looks++
			}
			switch {
			case w == nil:
			case looks > backtraceLooks:
				w.frames, w.found = nil, true
			case !w.found:
				w.frames, w.found = m.frames(), true
			case w.frames != nil:
				w.frames = common(w.frames, m.frames())
			}
			if rank < 0 {
				break
			}
		}
	}
	m.run(f, opt, opt.Inplace)
	for i := range look {
		d := &look[i]
		w := at[watchedAt(d)]
		if !w.found && d.Rank >= 0 { // operations on chunks have no rank
			w = at[watched{d.Span.Pos, -1}]
		}
		if w != nil {
			d.Notes = slices.Concat(notes(w.frames), d.Notes)
		}
	}
}

// A watched is a place in the text that makes operations, and the rank that does them, or -1 for any.
type watched struct {
	pos  diag.Pos
	rank int32
}

func watchedAt(d *diag.Diagnostic) watched { return watched{d.Span.Pos, int32(d.Rank)} }

// text is v as a message shows it.
func (m *machine) text(v *value) string {
	switch v.kind {
	case kInt:
		return strconv.FormatInt(v.n, 10)
	case kBool:
		return strconv.FormatBool(v.n != 0)
	case kString:
		if s := []rune(m.strings[v.n]); len(s) > frameText {
			return strconv.Quote(string(s[:frameText])) + "..."
		}
		return strconv.Quote(m.strings[v.n])
	case kBuffer:
		return m.prog.bufName(ir.Buf(v.n))
	case kRef:
		if v.ref.count > 0 {
			return m.prog.refName(&v.ref)
		}
	case kList:
		return "a list of " + diag.Counted(len(*v.list), "element")
	}
	return v.kind.String()
}

// A look is what a second run looks for: an operation by its number, or, if made is set, the chunk() that made a
// reference after that operation. What it finds becomes notes of an error.
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
	if _, asked := m.where[m.prog.now()+1]; asked {
		m.where[m.prog.now()+1] = notes(m.frames())
	}
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
