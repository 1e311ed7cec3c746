package checker

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// NonNil distinguishes an empty program's order from none.
func NonNil(order []int32) []int32 {
	if order == nil {
		return []int32{}
	}
	return order
}

// counterexampleLength bounds the waits that a deadlock is shown by.
const counterexampleLength = 16

// Deadlock reports a cycle of waits, or one wait for what never comes. when says in which runs.
func (c *Checker) Deadlock(stuck []ir.Wait, when string) {
	first := stuck[0].Step
	d := c.Step(first, diag.Deadlock, "%s waits for itself through %s%s", c.Name(first), diag.Counted(len(stuck), "wait"), when)
	if stuck[len(stuck)-1].At < 0 {
		d.Text = c.Name(first) + " waits for what never comes" + when
	}
	for _, s := range stuck[:min(len(stuck), counterexampleLength)] {
		c.Note(d, s.Step, "%s", c.waitText(s))
	}
	if n := len(stuck) - counterexampleLength; n > 0 {
		*d = d.WithNote(diag.Span{}, "and so on through %s more", diag.Counted(n, "wait"))
	}
	c.Counterexample(d, Counterexample{Step: first, With: stuck[0].On, Waits: stuck})
}

// waitText returns one link of a chain of waits.
func (c *Checker) waitText(w ir.Wait) string {
	what, ends := "a flag", "raise"
	switch w.Cause {
	case ir.ForMessage:
		what, ends = "a message", "send"
		if c.P.OneSided != nil {
			what = "packets"
		}
	case ir.ForSlot:
		what, ends = "a free slot", "make"
	}
	text := fmt.Sprintf("%s waits for %s", c.Name(w.Step), what)
	if w.On >= 0 {
		text += fmt.Sprintf(", which %s would %s", c.Name(w.On), ends)
	}
	if w.At >= 0 && w.At != w.On {
		text += fmt.Sprintf("; that block is still at %s", c.P.OpName(w.At))
	}
	return text
}
