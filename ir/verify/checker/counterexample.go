package checker

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// A Counterexample is what shows one deadlock, race, wrong result or read of what
// nothing wrote, so that it can be replayed. Steps are indices in the
// program's Steps.
type Counterexample struct {
	Problem diag.Diagnostic

	// Step is a step of the waiting cycle, the later of two racing accesses in the
	// run that was judged, the step that wrote the wrong chunk, or the one that
	// reads what nothing wrote. With is what a deadlocked step waits for, or the
	// earlier access. They are -1 where there is none.
	Step, With int32

	// Reader is which of two racing accesses reads, Step or With, or -1 where both write.
	Reader int32

	// Group and WithGroup are the messages of Step and With, from 0, in which the
	// racing accesses lie.
	Group, WithGroup int32

	// Rank, Buf and Index are the chunk, save of a deadlock.
	Rank  int
	Buf   ir.Buf
	Index int

	Waits []ir.Wait // by deadlock: the cycle, or the one wait for what never comes

	// Apart is how many passes of a one-sided program are between two racing accesses.
	Apart int

	// Unmet: of a race, the threads of a block do not synchronise somewhere, and would have to.
	Unmet bool

	Slots, MessageChunks int // that a connection and a message hold

	// OtherPlace: judged with Coll.Inplace the other way round than the program has
	// it, which is for both.
	OtherPlace bool
}

// Counterexample keeps w as the counterexample of d, which must be in its final form.
func (c *Checker) Counterexample(d *diag.Diagnostic, w Counterexample) {
	if c.Lost > 0 { // d is not listed
		return
	}
	w.Problem, w.Slots, w.MessageChunks = *d, c.Opt.Slots, c.Opt.MessageChunks
	if d.Code == diag.Race {
		w.MessageChunks = c.Racing()
	}
	c.Counterexamples = append(c.Counterexamples, w)
}
