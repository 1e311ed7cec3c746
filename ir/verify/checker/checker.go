// Package checker has what the proofs of two-sided and one-sided programs share: the program with its options, the
// problems of steps, counterexamples, the search for conflicting accesses, and the result of a run.
package checker

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/form"
)

// Options are what a judgement depends on besides the program.
type Options struct {
	// Slots is the number of messages that a connection holds; 0 is what the
	// program's protocol has.
	Slots int
	// SlotBytes is the data that one message holds; 0 is what the protocol has.
	SlotBytes int64
	// MessageChunks is the number of chunks that one message holds; 0 is what
	// SlotBytes hold at the largest size that the program is for, or 1 where that
	// has no bound. A program that lives with some number lives with any larger.
	MessageChunks int
	// MostChunks is the largest number of chunks that one message holds: packets of
	// one message arrive one by one, so that they order less than several
	// messages. 0 is what SlotBytes hold at the smallest size that the program is
	// for, where MessageChunks is 0 too and there is one, else
	// ir.MaxMessageChunks.
	MostChunks int
	// Cells bounds the chunks of all ranks' buffers, 0 being 64 million.
	Cells int
	// Moves bounds the chunks that all steps move, 0 being 256 million.
	Moves int
	// Work bounds the search for races, in entries of clocks, 0 being 256 million. A
	// program that needs more is undecided, which is a rejection.
	Work int64
	// Nodes is the node of each rank, by any numbers. Where they differ, the program is proven for ranks that reach
	// memory of their own node only, and send data to others over a network; see "Several nodes". nil is one node.
	Nodes []int32
}

// A Run is an order in which the actions of a program may happen.
type Run struct {
	P     *either.Program
	W     *eval.Wiring
	Links *eval.Links // in place of w, of a one-sided program
	Order []int32
	From  []int32 // of a step of p: the step of the program that is judged, or nil where p is that
}

// Of returns the step of the judged program that step i of the run's is of.
func (r *Run) Of(i int32) int32 {
	if r.From == nil {
		return i
	}
	return r.From[i]
}

// A Checker is a program that is checked, and the problems that were found.
type Checker struct {
	ir.Problems
	P               *either.Program
	Opt             Options
	W               *eval.Wiring
	Mark            bool // sets Final flags
	BySize          bool // MessageChunks follows from the program's sizes
	Ran             bool
	Counterexamples []Counterexample
}

// Budgets fills in the usual bounds, where none are given.
func (c *Checker) Budgets() {
	if c.Opt.Cells <= 0 {
		c.Opt.Cells = 1 << 26
	}
	if c.Opt.Moves <= 0 {
		c.Opt.Moves = 1 << 28
	}
	if c.Opt.Work <= 0 {
		c.Opt.Work = 1 << 28
	}
}

// Bounds returns what the check of form allows.
func (c *Checker) Bounds() form.Bounds {
	return form.Bounds{Cells: int64(c.Opt.Cells), Memory: math.MaxInt64, Moved: int64(c.Opt.Moves)}
}

// A place is a step of the program: block counts within its rank. What means
// nothing is -1.
type place struct{ rank, block, step int }

// Place finds the step numbered i in p.Steps.
func (c *Checker) Place(i int32) (at place) {
	at.rank, at.block, at.step = c.P.SourcePlace(i)
	return at
}

// Name names the step numbered i for a message.
func (c *Checker) Name(i int32) string { return c.P.StepName(i) }

// at reports a problem of a step.
func (c *Checker) at(at place, code diag.Code, pos int32, format string, args ...any) *diag.Diagnostic {
	return c.Add(c.Problem(at, code, pos, format, args...))
}

// Problem returns a problem of a step, which is not reported yet.
func (c *Checker) Problem(at place, code diag.Code, pos int32, format string, args ...any) diag.Diagnostic {
	d := diag.New(code, c.P.Span(pos), format, args...)
	d.Rank, d.Block, d.Step = at.rank, at.block, at.step
	return d
}

// Folded reports problems, of which those that say the same of one source position are one.
func (c *Checker) Folded(found diag.List) {
	for _, d := range found.FoldRanks() {
		c.Add(d)
	}
}

// Step reports a problem of the step numbered i.
func (c *Checker) Step(i int32, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return c.at(c.Place(i), code, c.P.Steps[i].Pos, format, args...)
}

// Note adds a note at the step numbered i.
func (c *Checker) Note(d *diag.Diagnostic, i int32, format string, args ...any) {
	*d = d.WithNote(c.P.Span(c.P.Steps[i].Pos), format, args...)
}
