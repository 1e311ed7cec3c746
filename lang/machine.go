package lang

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// A machine is one run of a file: its state, its faults and its budget.
//
// After a fault `bad` is set until the statement that it happened in ends, and
// no further fault is reported meanwhile. A value that could not be computed
// is kBad, a chunk that could not be written holds poison, and both are silent
// when used. `lost` is set where it is not even known what would have been
// written, or lostIn where at least the buffer is; from then on unwritten and
// stale chunks are no errors there.
type machine struct {
	lim     syntax.Limits
	steps   int64
	errs    diag.List
	refused diag.List // by Options.Judge
	seen    map[faultKey]bool
	repeats int // faults that were reported already
	bad     bool
	lost    bool
	lostIn  [256]bool                      // the same for one buffer
	dead    bool                           // run no further
	quiet   bool                           // faults are not reported: expressions are tried while compiling
	looks   []*look                        // what a second run of the file finds
	looking bool                           // it is that run
	where   map[int32][]diag.Note          // of operations from 1 that Where asks for: their calls and loops
	watch   func(pos diag.Pos, rank int32) // sees each operation that is made, with the rank that does it or -1; or nil
	facts   *Facts                         // what it saw, or nil
	running []running                      // the loops and calls that are under way, the innermost last

	custom   bool                  // the block of a custom collective runs
	required map[ir.Part]diag.Span // where each part was named

	strings []string         // all strings that occur, by number
	numbers map[string]int64 // and their numbers
	result  value            // of the last return

	prog expansion // what operations make
}

// maxRepeats is how often a run may repeat its errors before it ends.
const maxRepeats = 100_000

type faultKey struct {
	code diag.Code
	pos  diag.Pos
}

// fault records an error, unless it is a consequence of another or was
// reported before, and marks what is being computed as bad. The caller may add
// notes to the result.
func (m *machine) fault(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	if m.bad || m.quiet || m.dead {
		m.bad = true
		return new(diag.Diagnostic)
	}
	m.bad = true
	return m.report(code, span, format, args...)
}

// Report records an error that does not spoil what is being computed.
func (m *machine) report(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	key := faultKey{code, span.Pos}
	if m.seen[key] || m.dead {
		if m.repeats++; m.repeats > maxRepeats {
			m.dead = true
		}
		return new(diag.Diagnostic)
	}
	if m.seen == nil {
		m.seen = map[faultKey]bool{}
	}
	m.seen[key] = true
	m.errs = append(m.errs, diag.New(code, span, format, args...))
	d := &m.errs[len(m.errs)-1]
	d.Notes = notes(m.frames())
	m.dead = len(m.errs) >= syntax.MaxErrors
	return d
}

// suggest gives d the hint that name may be a slip of one of candidates, and
// says whether there is one.
func suggest(d *diag.Diagnostic, name string, candidates []string) bool {
	if d.Code == "" { // it is not reported
		return true
	}
	near := diag.Nearest(name, candidates)
	if near != "" {
		*d = d.WithHint("did you mean %s?", near).WithFix(name, near)
	}
	return near != ""
}

// lose notes that something unknown would have been written to b.
func (m *machine) lose(b ir.Buf) {
	m.lostIn[b] = true
	if b < ir.Scratch && m.prog.coll != nil && m.prog.coll.Inplace {
		m.lostIn[ir.Input], m.lostIn[ir.Output] = true, true
	}
}

// stop ends the run with an error of its own.
func (m *machine) stop(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic {
	d := m.fault(code, span, format, args...)
	m.bad, m.dead = true, true
	return d
}

// step spends n steps and says whether there were as many left.
func (m *machine) step(n int64, span *diag.Span) bool {
	if m.steps += n; m.steps <= m.lim.Steps {
		return true
	}
	m.exhausted("steps", m.lim.Steps, syntax.MoreHint("steps", m.steps), span,
		"the file takes more than %d evaluation steps")
	return false
}

// exhausted ends the run at a limit, which hint says how to raise.
func (m *machine) exhausted(name string, limit int64, hint string, span *diag.Span, format string) {
	d := m.stop(diag.Limit, *span, format+", the limit "+name, limit)
	d.Hint = hint
}

// recover ends a statement: it says whether the statement failed.
func (m *machine) recover() bool {
	failed := m.bad
	m.bad = false
	return failed
}

// intern gives the number of a string.
func (m *machine) intern(s string) int64 {
	if n, known := m.numbers[s]; known {
		return n
	}
	if m.numbers == nil {
		m.numbers = map[string]int64{}
	}
	n := int64(len(m.strings))
	m.strings, m.numbers[s] = append(m.strings, s), n
	return n
}

// bufName returns a buffer's name in the file.
func (p *expansion) bufName(b ir.Buf) string {
	switch {
	case b == ir.Input:
		return "input"
	case b == ir.Output:
		return "output"
	case int(b-ir.Scratch) < len(p.scratch):
		return p.scratch[b-ir.Scratch].Name
	}
	return "?"
}

// refName says which chunks r refers to.
func (p *expansion) refName(r *ref) string {
	if r.count == 1 {
		return fmt.Sprintf("%s[%d] of rank %d", p.bufName(r.buf), r.index, r.rank)
	}
	return fmt.Sprintf("%s[%d..%d] of rank %d", p.bufName(r.buf), r.index, r.index+r.count, r.rank)
}
