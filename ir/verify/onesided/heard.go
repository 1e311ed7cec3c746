package onesided

import (
	"slices"

	"mscclc/ir"
)

// This file is what one thread of a block tells on of what it was told, though the threads do not synchronise
// (ir.Program.ToldOn).

// A heard is what one thread was told.
type heard struct{ done, visible clock }

// tellApart finds the Signals whose destinations do not all tell the same.
func (c *clocks) tellApart() {
	steps := c.o.P.Steps
	c.toldOn, c.apart = c.o.P.ToldOn(), make([]int32, len(steps))
	for i := range steps {
		c.apart[i] = 1
		if s := &steps[i]; c.toldOn != nil && s.Op == ir.Signal &&
			slices.Contains(c.toldOn[s.Dst:s.Dst+int32(s.NDst)], true) {
			c.apart[i] = int32(s.NDst)
		}
	}
}

// slotOf returns which of so many slots of Signal i has what its destination n released in a pass.
func (c *clocks) slotOf(i, n int32, pass, slots int) int {
	apart := int(c.apart[i])
	return pass%(slots/apart)*apart + int(n)
}

// raises returns the first destination of Signal i that is a flag, where they are told apart, else 0.
func (c *clocks) raises(i, flag int32) int32 {
	for n, x := range c.o.P.OneSided.Dests(&c.o.P.Steps[i]) {
		if c.apart[i] == 1 || c.o.links.Flag(x.Rank, x.Index) == flag {
			return int32(n)
		}
	}
	return 0
}

// hear notes what the thread of source n of Await s is told, if it tells that on.
func (c *clocks) hear(k *knower, s *ir.Step, n int, by *told) {
	if c.toldOn == nil || !c.toldOn[s.Src+int32(n)] {
		return
	}
	if k.heard == nil {
		k.heard = map[int]heard{}
	}
	h := k.heard[n]
	c.add(&h.done, by.done)
	if c.shows(s) {
		c.add(&h.visible, by.visible)
	}
	k.heard[n] = h
}

// tellOn adds what the thread of destination n of Signal s tells on to what that tells.
func (c *clocks) tellOn(k *knower, s *ir.Step, n int32, of *told) {
	h, hears := k.heard[int(n)]
	if !hears || !c.toldOn[s.Dst+n] {
		return
	}
	of.left = -1
	c.add(&of.done, h.done)
	if c.shows(s) {
		c.add(&of.visible, h.visible)
	}
}

// unhear has the threads of a block tell nothing on, behind a group.
func (c *clocks) unhear(k *knower) {
	if len(k.heard) == 0 {
		return
	}
	for _, h := range k.heard {
		c.rows.Drop(h.done.row)
		c.rows.Drop(h.visible.row)
	}
	clear(k.heard)
}
