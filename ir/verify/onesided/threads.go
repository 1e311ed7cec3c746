package onesided

import (
	"slices"

	"mscclc/ir"
)

// This file is what one thread of a block releases of what it acquired, though the threads do not synchronise
// (onesided.Program.Relayed).

// A threadClock is what one thread acquired.
type threadClock struct{ done, visible clock }

// splitSignals finds the Signals whose destinations do not all release the same.
func (c *clocks) splitSignals() {
	steps := c.o.P.Steps
	c.passedOn, c.apart = c.o.P.Relayed(), make([]int32, len(steps))
	for i := range steps {
		c.apart[i] = 1
		if s := &steps[i]; c.passedOn != nil && s.Op == ir.Signal &&
			slices.Contains(c.passedOn[s.Dst:s.Dst+int32(s.NDst)], true) {
			c.apart[i] = int32(s.NDst)
		}
	}
}

// slotOf returns which of `slots` slots of Signal i has what its destination n released in a pass.
func (c *clocks) slotOf(i, n int32, pass, slots int) int {
	apart := int(c.apart[i])
	return pass%(slots/apart)*apart + int(n)
}

// raises returns the first destination of Signal i that is a flag, where these differ, else 0.
func (c *clocks) raises(i, flag int32) int32 {
	for n, x := range c.o.P.Dests(&c.o.P.Steps[i]) {
		if c.apart[i] == 1 || c.o.links.Flag(x.Rank, x.Index) == flag {
			return int32(n)
		}
	}
	return 0
}

// acquireByThread notes what the thread of source n of Await s acquires, if it releases that later.
func (c *clocks) acquireByThread(k *blockState, s *ir.Step, n int, by *released) {
	if c.passedOn == nil || !c.passedOn[s.Src+int32(n)] {
		return
	}
	if k.byThread == nil {
		k.byThread = map[int]threadClock{}
	}
	h := k.byThread[n]
	c.add(&h.done, by.done)
	if c.shows(s) {
		c.add(&h.visible, by.visible)
	}
	k.byThread[n] = h
}

// passOn adds what the thread of destination n of Signal s acquired to what that releases.
func (c *clocks) passOn(k *blockState, s *ir.Step, n int32, of *released) {
	h, is := k.byThread[int(n)]
	if !is || !c.passedOn[s.Dst+n] {
		return
	}
	of.left = -1
	c.add(&of.done, h.done)
	if c.shows(s) {
		c.add(&of.visible, h.visible)
	}
}

// endThreads has the threads of a block release nothing more, after a group.
func (c *clocks) endThreads(k *blockState) {
	if len(k.byThread) == 0 {
		return
	}
	for _, h := range k.byThread {
		c.rows.Drop(h.done.row)
		c.rows.Drop(h.visible.row)
	}
	clear(k.byThread)
}
