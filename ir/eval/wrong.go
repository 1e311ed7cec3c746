package eval

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A WrongList folds the wrong chunks of outputs into a text of bounded length: ranks that have the same ones are named
// together. The zero value is empty.
type WrongList struct {
	N      int       // chunks added
	Source ir.Source // names chunks; nil: by their numbers
	rank   int       // of runs
	runs   [][2]int
	groups []wrongGroup
	lost   int // ranks that are in no group
}

// A wrongGroup is the ranks, as runs, that have the same chunks wrong.
type wrongGroup struct {
	chunks string
	ranks  [][2]int
}

// wrongGroups bounds the groups that a WrongList names.
const wrongGroups = 4

// Add adds a chunk. Chunks come in ascending order of ranks and then of indices.
func (l *WrongList) Add(rank, index int) {
	if l.N > 0 && rank != l.rank {
		l.flush()
	}
	l.N++
	l.rank, l.runs = rank, diag.Extended(l.runs, index)
}

// flush puts the rank at hand into its group.
func (l *WrongList) flush() {
	chunks := diag.RunsText(l.runs, func(run [2]int) string {
		return "output[" + ir.ChunksText(l.Source, run[0], run[1]) + "]"
	})
	l.runs = l.runs[:0]
	i := slices.IndexFunc(l.groups, func(g wrongGroup) bool { return g.chunks == chunks })
	switch {
	case i >= 0:
	case len(l.groups) == wrongGroups:
		l.lost++
		return
	default:
		i = len(l.groups)
		l.groups = append(l.groups, wrongGroup{chunks: chunks})
	}
	l.groups[i].ranks = diag.Extended(l.groups[i].ranks, l.rank)
}

// String names all chunks, as in "output[0..4] and output[6] of ranks 1 to 7; output[2] of rank 8". It ends the list.
func (l *WrongList) String() string {
	if len(l.runs) > 0 {
		l.flush()
	}
	var parts []string
	for _, g := range l.groups {
		parts = append(parts, g.chunks+" of "+diag.RanksText(g.ranks))
	}
	if l.lost > 0 {
		parts = append(parts, fmt.Sprintf("others of %d more ranks", l.lost))
	}
	return strings.Join(parts, "; ")
}

// Problem returns a wrong-result at span: output[index] of rank, the first chunk of l, must hold what w asks for, but
// does what holds says.
func (l *WrongList) Problem(span diag.Span, v *Values, rank, index int, w ir.Want, holds string) diag.Diagnostic {
	d := diag.New(diag.WrongResult, span, "output[%s] of rank %d must hold %s, but %s", v.index(int32(index)), rank,
		v.DescribeWant(w), holds)
	if l.N > 1 {
		d.Text += fmt.Sprintf(" (%d output chunks are wrong)", l.N)
	}
	d.Rank = rank
	return d
}

// Note adds a note to d that names all chunks of l, if these are several.
func (l *WrongList) Note(d *diag.Diagnostic) {
	if l.N > 1 {
		*d = d.WithNote(diag.Span{}, "all that is wrong: %s", l)
	}
}

// judge is Report of a run that nobody else judges: it also reports that the result is undecided.
func (m *Machine) judge(p *ir.Problems, h *ir.Header, name func(action int32) diag.Diagnostic) {
	if first, _, _ := m.Report(p, h, name); first == nil && m.Values.Over {
		p.Add(diag.New(diag.Undecided, diag.Span{},
			"the ranks group their sums in so many ways that it is not decided whether all are complete"))
	}
}

// Report reports the chunks of the outputs that m says are wrong: the first in full, and a list of all. The problem is
// at the action that wrote the chunk last, of which name makes a diagnostic with its name as the text, or else at the
// collective of h. Report returns the diagnostic, the chunk, and the action or -1. The diagnostic is nil where nothing
// is wrong, or where Values.Over says that it is not known what is.
func (m *Machine) Report(p *ir.Problems, h *ir.Header,
	name func(action int32) diag.Diagnostic) (first *diag.Diagnostic, at ir.Part, writer int32) {
	wrong := WrongList{Source: m.Values.Source}
	var got Value
	var want ir.Want
	m.Wrong(func(rank, index int, x Value, w ir.Want, by int32) {
		if m.Values.Over && w.Sum {
			return
		}
		if wrong.N == 0 {
			got, want, at, writer = x, w, ir.Part{Rank: int32(rank), Index: int32(index)}, by
		}
		wrong.Add(rank, index)
	})
	if wrong.N == 0 {
		return nil, at, writer
	}
	holds := m.Values.Differs(got, want)
	if got == None && writer >= 0 {
		holds = "holds what was made of chunks that nothing has written"
	}
	d := wrong.Problem(h.Declaration, m.Values, int(at.Rank), int(at.Index), want, holds)
	if writer >= 0 {
		by := name(writer)
		d.Span, d.Rank, d.Block, d.Step = by.Span, by.Rank, by.Block, by.Step
		d = d.WithNote(by.Span, "%s wrote it last", by.Text)
	} else {
		d = d.WithNote(diag.Span{}, "nothing writes it")
	}
	wrong.Note(&d)
	return p.Add(d), at, writer
}
