package ir

import (
	"fmt"

	"mscclc/ir/diag"
)

// problemLimit bounds the diagnostics of one check; a program can be wrong in
// millions of places, and the first tell as much.
const problemLimit = 100

// Problems collects diagnostics up to a limit.
type Problems struct {
	List diag.List
	Lost int // those beyond the limit
}

// Add adds d. It returns a pointer to what was added, for notes, or to a copy
// that is dropped.
func (p *Problems) Add(d diag.Diagnostic) *diag.Diagnostic {
	if len(p.List) >= problemLimit {
		p.Lost++
		return &d
	}
	p.List = append(p.List, d)
	return &p.List[len(p.List)-1]
}

// Done returns the list, with a last entry that counts what was lost.
func (p *Problems) Done() diag.List {
	if p.Lost > 0 {
		last := p.List[len(p.List)-1]
		last.Notes, last.Hint, last.Span = nil, "", diag.Span{}
		last.Text = fmt.Sprintf("%d more problems are not listed", p.Lost)
		p.List = append(p.List, last)
		p.Lost = 0
	}
	return p.List
}

func (b Buf) String() string {
	switch b {
	case Input:
		return "input"
	case Output:
		return "output"
	case Scratch:
		return "scratch"
	case Packets:
		return "packets"
	case Flags:
		return "flags"
	case NoBuf:
		return "-"
	}
	return fmt.Sprintf("scratch+%d", b-Scratch)
}

// Report reports the chunks of the outputs that m says are wrong: the first in
// full, and the number of the others. Name makes a diagnostic at an action, with
// its name as the text. It returns the diagnostic, the chunk, and the action
// that wrote it or -1; the diagnostic is nil where nothing is wrong.
func (m *Machine) Report(p *Problems, name func(action int32) diag.Diagnostic) (first *diag.Diagnostic, at Part, writer int32) {
	others, ranks, last := 0, 0, -1
	defer func() {
		if m.Values.Over && first == nil {
			d := diag.New(diag.Undecided, diag.Span{}, "the ranks group their sums in so many ways that it is not decided within the work allowed whether all are complete")
			p.Add(d.WithHint("--limit work=N allows more"))
		}
	}()
	m.Wrong(func(rank, index int, got Value, want Want, by int32) {
		if m.Values.Over && want.Sum {
			return
		}
		if rank != last {
			ranks, last = ranks+1, rank
		}
		if first != nil {
			others++
			return
		}
		d := diag.New(diag.WrongResult, diag.Span{}, "")
		d.Rank, at, writer = rank, Part{int32(rank), int32(index)}, by
		if by >= 0 {
			d = name(by)
			d = d.WithNote(d.Span, "%s wrote it last", d.Text)
		} else {
			d = d.WithNote(diag.Span{}, "nothing writes it")
		}
		holds := m.Values.Differs(got, want)
		if got == None && by >= 0 {
			holds = "holds what was made of chunks that nothing has written"
		}
		d.Code, d.Text = diag.WrongResult, fmt.Sprintf("rank %d output[%d] %s", rank, index, holds)
		first = p.Add(d.WithNote(diag.Span{}, "it should hold %s", m.Values.DescribeWant(want)))
	})
	if others > 0 {
		*first = first.WithNote(diag.Span{}, "%d other output chunks are wrong too, on %d ranks in all", others, ranks)
	}
	return first, at, writer
}
