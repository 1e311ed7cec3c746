// Package diag holds source positions and the diagnostics that point at them. Every stage that reads input returns its
// errors as a List. A List is data with permanent codes, from which text and JSON are made.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// A Pos is a place in a source file. Line and Column count from 1, Column in
// bytes; Offset counts from 0. It has the fields of participle's
// lexer.Position, so that grammar structs can embed it.
type Pos struct {
	Filename string
	Offset   int
	Line     int
	Column   int
}

// String gives file:line:col, or the file alone where no line is known.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.Filename
	}
	return fmt.Sprintf("%s:%d:%d", p.Filename, p.Line, p.Column)
}

// A Span is a run of Len bytes on one line.
type Span struct {
	Pos
	Len int
}

// FileSpan returns the span of a file as a whole.
func FileSpan(name string) Span { return Span{Pos: Pos{Filename: name}} }

// A Note is a second place that explains the first. Its Span may be zero.
type Note struct {
	Span Span
	Text string
}

// A Diagnostic says what is wrong, where, and what to do about it. Text is in
// lower case without a full stop, names the object first and then the fact.
// Rank, Block and Step say where in a compiled program, and are -1 where they
// mean nothing.
type Diagnostic struct {
	Span  Span
	Code  Code
	Text  string
	Notes []Note
	Hint  string
	Fix   *Edit // what the hint means, where it is an edit; see Mend

	Rank, Block, Step int
}

// New returns a diagnostic that concerns no rank, block or step.
func New(code Code, span Span, format string, args ...any) Diagnostic {
	return Diagnostic{Span: span, Code: code, Text: Shorten(fmt.Sprintf(format, args...)), Rank: -1, Block: -1, Step: -1}
}

// WithNote returns d with a note added at span.
func (d Diagnostic) WithNote(span Span, format string, args ...any) Diagnostic {
	d.Notes = append(slices.Clip(d.Notes), Note{Span: span, Text: Shorten(fmt.Sprintf(format, args...))})
	return d
}

// WithHint returns d with a hint.
func (d Diagnostic) WithHint(format string, args ...any) Diagnostic {
	d.Hint = Shorten(fmt.Sprintf(format, args...))
	return d
}

// Same reports whether d and x say the same of one step.
func (d Diagnostic) Same(x Diagnostic) bool {
	return d.Code == x.Code && d.Text == x.Text && d.Rank == x.Rank && d.Block == x.Block && d.Step == x.Step
}

// severity returns the word for d before its text.
func (d *Diagnostic) severity() string {
	if d.Code.Warning() {
		return "warning"
	}
	return "error"
}

// Error gives the first line of the diagnostic as the command prints it.
func (d Diagnostic) Error() string {
	where := d.Span.Pos.String()
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("%s%s: %s [%s]", where, d.severity(), d.Text, d.Code)
}

// A List is the error type of every stage that can find several errors.
type List []Diagnostic

func (l List) Error() string {
	switch len(l) {
	case 0:
		return "no errors"
	case 1:
		return l[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", l[0].Error(), len(l)-1)
}

// Err returns l as an error, or nil where nothing in it is one.
func (l List) Err() error {
	if !l.Rejects() {
		return nil
	}
	return l
}

// Rejects reports whether something in l is no warning.
func (l List) Rejects() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return !d.Code.Warning() })
}

// Sort orders l by file and position, stably, and drops repeats of one code
// at one position and one step.
func (l List) Sort() List {
	slices.SortStableFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Span.Filename, b.Span.Filename), cmp.Compare(a.Span.Offset, b.Span.Offset),
			cmp.Compare(a.Span.Line, b.Span.Line), cmp.Compare(a.Span.Column, b.Span.Column))
	})
	return slices.CompactFunc(l, func(a, b Diagnostic) bool {
		return a.Span.Line != 0 && a.Code == b.Code && a.Span.Pos == b.Span.Pos &&
			a.Rank == b.Rank && a.Block == b.Block && a.Step == b.Step
	})
}
