package ir

import (
	"fmt"

	"mscclc/ir/diag"
)

// problemLimit bounds the diagnostics of one check; a program can be wrong in
// millions of places, and the first say as much.
const problemLimit = 100

// Problems collects diagnostics up to a limit.
type Problems struct {
	List diag.List
	Lost int // those beyond the limit
}

// Add adds d. It returns a pointer to what was added, for notes, or to a copy
// that is dropped.
func (p *Problems) Add(d diag.Diagnostic) *diag.Diagnostic {
	if p.Full() {
		p.Lost++
		return &d
	}
	p.List = append(p.List, d)
	return &p.List[len(p.List)-1]
}

// Full reports whether the next diagnostic is beyond the limit.
func (p *Problems) Full() bool { return len(p.List) >= problemLimit }

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
