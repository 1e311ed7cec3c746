package verify

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// nonNil tells an empty program's order from none.
func nonNil(order []int32) []int32 {
	if order == nil {
		return []int32{}
	}
	return order
}

// counterexampleLength bounds the waits that a deadlock is shown by.
const counterexampleLength = 16

func (c *checker) deadlock(stuck []ir.Wait, when string) {
	first := stuck[0].Step
	d := c.step(first, diag.Deadlock, "%s waits for itself through %s%s", c.name(first), diag.Counted(len(stuck), "wait"), when)
	if stuck[len(stuck)-1].At < 0 {
		d.Text = c.name(first) + " waits for what never comes" + when
	}
	for _, s := range stuck[:min(len(stuck), counterexampleLength)] {
		c.note(d, s.Step, "%s", c.waitText(s))
	}
	if n := len(stuck) - counterexampleLength; n > 0 {
		*d = d.WithNote(diag.Span{}, "and so on through %s more", diag.Counted(n, "wait"))
	}
	c.counterexample(d, Counterexample{Step: first, With: stuck[0].On, Waits: stuck})
}

// waitText returns one link of a chain of waits.
func (c *checker) waitText(w ir.Wait) string {
	what, ends := "a flag", "raise"
	switch w.Cause {
	case ir.ForMessage:
		what, ends = "a message", "send"
		if c.p.OneSided != nil {
			what = "packets"
		}
	case ir.ForSlot:
		what, ends = "a free slot", "make"
	}
	text := fmt.Sprintf("%s waits for %s", c.name(w.Step), what)
	if w.On >= 0 {
		text += fmt.Sprintf(", which %s would %s", c.name(w.On), ends)
	}
	if w.At >= 0 && w.At != w.On {
		text += fmt.Sprintf("; that block is still at %s", c.p.OpName(w.At))
	}
	return text
}
