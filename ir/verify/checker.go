package verify

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
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

// A run is an order in which the actions of a program may happen.
type run struct {
	p     *ir.Program
	w     *eval.Wiring
	links *eval.Links // in place of w, of a one-sided program
	order []int32
	from  []int32 // of a step of p: the step of the program that is judged, or nil where p is that
}

// of returns the step of the judged program that step i of the run's is of.
func (r *run) of(i int32) int32 {
	if r.from == nil {
		return i
	}
	return r.from[i]
}

type checker struct {
	ir.Problems
	p               *ir.Program
	opt             Options
	w               *eval.Wiring
	mark            bool // sets Final flags
	bySize          bool // MessageChunks follows from the program's sizes
	ran             bool
	counterexamples []Counterexample
}

func (c *checker) budgets() {
	if c.opt.Cells <= 0 {
		c.opt.Cells = 1 << 26
	}
	if c.opt.Moves <= 0 {
		c.opt.Moves = 1 << 28
	}
	if c.opt.Work <= 0 {
		c.opt.Work = 1 << 28
	}
}

// bounds returns what the check of form allows.
func (c *checker) bounds() form.Bounds {
	return form.Bounds{Cells: int64(c.opt.Cells), Memory: math.MaxInt64, Moved: int64(c.opt.Moves)}
}

// A place is a step of the program: block counts within its rank. What means
// nothing is -1.
type place struct{ rank, block, step int }

// place finds the step numbered i in p.Steps.
func (c *checker) place(i int32) (at place) {
	at.rank, at.block, at.step = c.p.SourcePlace(i)
	return at
}

// name names the step numbered i for a message.
func (c *checker) name(i int32) string { return c.p.StepName(i) }

// at reports a problem of a step.
func (c *checker) at(at place, code diag.Code, pos int32, format string, args ...any) *diag.Diagnostic {
	return c.Add(c.problem(at, code, pos, format, args...))
}

// problem returns a problem of a step, which is not reported yet.
func (c *checker) problem(at place, code diag.Code, pos int32, format string, args ...any) diag.Diagnostic {
	d := diag.New(code, c.p.Span(pos), format, args...)
	d.Rank, d.Block, d.Step = at.rank, at.block, at.step
	return d
}

// folded reports problems, of which those that say the same of one source position are one.
func (c *checker) folded(found diag.List) {
	for _, d := range found.FoldRanks() {
		c.Add(d)
	}
}

// step reports a problem of the step numbered i.
func (c *checker) step(i int32, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return c.at(c.place(i), code, c.p.Steps[i].Pos, format, args...)
}

// note adds a note at the step numbered i.
func (c *checker) note(d *diag.Diagnostic, i int32, format string, args ...any) {
	*d = d.WithNote(c.p.Span(c.p.Steps[i].Pos), format, args...)
}
