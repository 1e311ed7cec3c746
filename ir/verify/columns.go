package verify

import (
	"mscclc/ir/verify/checker"
)

// columns are vector clocks of all blocks of a program over a few of them: how
// many actions of each of these have ended before what a block does now. Where
// messages carry knowledge through all ranks, nearly every action brings some,
// so that flat rows are cheaper than those of ir.Clocks, which are shared.
type columns struct {
	of    []int32 // by block: its column, or -1
	now   []row   // of a block
	waits []int32 // by action: how often it is waited for in a pass
	left  []int32 // in this pass
	slot  []int32 // of an action that is yet waited for: its row in kept
	kept  []row
	early []row // what was known before that action did anything
	free  []int32
}

type row [checker.Width]int32

func newColumns(blocks, actions int) *columns {
	c := &columns{of: make([]int32, blocks), now: make([]row, blocks), waits: make([]int32, actions),
		left: make([]int32, actions), slot: make([]int32, actions)}
	for b := range c.of {
		c.of[b] = -1
	}
	return c
}

// expect announces one wait for an action in each pass; -1 is none.
func (c *columns) expect(action int32) {
	if action >= 0 {
		c.waits[action]++
	}
}

// begin begins a pass that asks for a number of blocks.
func (c *columns) begin(blocks []int32) {
	for b := range c.of {
		c.of[b] = -1
	}
	for k, b := range blocks {
		c.of[b] = int32(k)
	}
	clear(c.now)
	copy(c.left, c.waits)
	c.kept, c.early, c.free = c.kept[:0], c.early[:0], c.free[:0]
}

// wait says that block b has waited for an action; -1 is none.
func (c *columns) wait(b, action int32) {
	if action < 0 {
		return
	}
	c.now[b].join(&c.kept[c.slot[action]])
	if c.left[action]--; c.left[action] == 0 {
		c.free = append(c.free, c.slot[action])
	}
}

// peek says that block b knows what was known where an action began, for
// which it is yet to wait; -1 is none.
func (c *columns) peek(b, action int32) {
	if action >= 0 {
		c.now[b].join(&c.early[c.slot[action]])
	}
}

func (r *row) join(of *row) {
	for k, n := range of {
		r[k] = max(r[k], n)
	}
}

// end says that block b has ended its step, which is an action; early is what it
// knew before it did anything in that.
func (c *columns) end(b, step, action int32, early *row) {
	if k := c.of[b]; k >= 0 {
		c.now[b][k] = step + 1
	}
	if c.left[action] == 0 {
		return
	}
	if n := len(c.free); n > 0 {
		c.slot[action] = c.free[n-1]
		c.free = c.free[:n-1]
		c.kept[c.slot[action]], c.early[c.slot[action]] = c.now[b], *early
		return
	}
	c.slot[action] = int32(len(c.kept))
	c.kept, c.early = append(c.kept, c.now[b]), append(c.early, *early)
}

// asked reports whether this pass asks for a block.
func (c *columns) asked(block int32) bool { return c.of[block] >= 0 }

// known returns up to which step of a block, which is asked for, block b knows
// that all is done; -1 is none.
func (c *columns) known(b, block int32) int32 { return c.now[b][c.of[block]] - 1 }
