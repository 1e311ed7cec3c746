package passes

import (
	"cmp"
	"slices"

	"mscclc/ir"
)

// clocks knows, for each block of one rank, up to which step of every other
// block of that rank all is known to be done.
//
// These are vector clocks, whose rows have a number for each block. On a rank
// with very many blocks that would be quadratic: there a block knows only what
// it has waited for itself.
type clocks struct {
	d     *ir.InstDAG
	edges *ir.Edges // what instructions wait for
	first int32     // the rank's first block
	now   []clock   // of each block

	// The clock of an instruction is kept until the last that waits for it.
	left []int32 // of an instruction: those of other blocks that have yet to wait for it
	slot []int32 // where its clock is kept
	kept []clock
	free []int32

	direct map[[2]int32]int32 // by block and other block: the step waited for, where there are very many
	row    []int32
}

// veryManyBlocks is the number of blocks of a rank from which on rows are too long.
const veryManyBlocks = 256

// A clock is what a block knows after a step. Its row is never changed, so that
// clocks share it.
type clock struct {
	row         []int32 // steps of all blocks, -1 for none; nil: of no other block
	block, step int32
}

// knows returns up to which step of block all is done; -1 is none.
func (c *clock) knows(block int32) int32 {
	switch {
	case block == c.block:
		return c.step
	case c.row == nil:
		return -1
	}
	return c.row[block]
}

func newClocks(d *ir.InstDAG, edges *ir.Edges) *clocks {
	return &clocks{d: d, edges: edges, left: make([]int32, len(d.Insts)), slot: make([]int32, len(d.Insts))}
}

// begin turns to the rank whose instructions are given.
func (c *clocks) begin(insts []int32) {
	d := c.d
	rank := d.Insts[insts[0]].Rank
	first, _ := slices.BinarySearchFunc(d.Blocks, rank, func(b ir.Block, r int32) int { return cmp.Compare(b.Rank, r) })
	c.first, c.now = int32(first), c.now[:0]
	for k := first; k < len(d.Blocks) && d.Blocks[k].Rank == rank; k++ {
		c.now = append(c.now, clock{nil, int32(k - first), -1})
	}
	if c.direct = nil; len(c.now) > veryManyBlocks {
		c.direct = make(map[[2]int32]int32)
	}
	c.kept, c.free = c.kept[:0], c.free[:0]
	for _, i := range insts {
		for _, j := range c.edges.Of(int(i)) {
			if d.Insts[j].Block != d.Insts[i].Block {
				c.left[j]++
			}
		}
	}
}

// step advances the clock of i's block past i, and returns it. It calls wait
// with each instruction to wait for that the clock does not cover yet.
func (c *clocks) step(i int32, wait func(j int32)) clock {
	in := &c.d.Insts[i]
	mine := &c.now[in.Block-c.first]
	c.row = append(c.row[:0], c.edges.Of(int(i))...)
	slices.SortFunc(c.row, func(a, b int32) int { return cmp.Compare(c.d.Insts[b].Seq, c.d.Insts[a].Seq) })
	shared := true // the row is another clock's, too
	for _, j := range c.row {
		o := &c.d.Insts[j]
		if o.Block == in.Block {
			continue
		}
		if !c.covers(mine, o) {
			wait(j)
			if c.direct != nil {
				c.direct[[2]int32{in.Block, o.Block}] = o.Step
			} else {
				mine.row = joined(mine.row, &c.kept[c.slot[j]], shared, len(c.now))
				shared = false
			}
		}
		if c.left[j]--; c.left[j] == 0 && c.direct == nil {
			c.kept[c.slot[j]].row = nil
			c.free = append(c.free, c.slot[j])
		}
	}
	mine.step = in.Step
	if c.left[i] > 0 && c.direct == nil {
		c.keep(i, *mine)
	}
	return *mine
}

// covers says whether a block that has the clock mine knows that o is done.
func (c *clocks) covers(mine *clock, o *ir.Inst) bool {
	if c.direct != nil {
		step, ok := c.direct[[2]int32{c.first + mine.block, o.Block}]
		return ok && step >= o.Step
	}
	return mine.knows(o.Block-c.first) >= o.Step
}

// joined returns row with all that with knows; it changes row itself only where
// that is not shared.
func joined(row []int32, with *clock, shared bool, blocks int) []int32 {
	switch {
	case row == nil:
		row = make([]int32, blocks)
		for k := range row {
			row[k] = -1
		}
	case shared:
		row = slices.Clone(row)
	}
	for k, step := range with.row {
		row[k] = max(row[k], step)
	}
	row[with.block] = max(row[with.block], with.step)
	return row
}

func (c *clocks) keep(i int32, now clock) {
	if n := len(c.free); n > 0 {
		c.slot[i] = c.free[n-1]
		c.free = c.free[:n-1]
		c.kept[c.slot[i]] = now
		return
	}
	c.slot[i] = int32(len(c.kept))
	c.kept = append(c.kept, now)
}
