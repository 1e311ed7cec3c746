package fifo

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/vclock"
)

// clocks runs the clocks of one rank after the other over what instructions
// wait for.
type clocks struct {
	*vclock.Clocks
	d     *ir.InstDAG
	edges *ir.Edges // what instructions wait for
	first int32     // the rank's first block
	row   []int32
}

func newClocks(d *ir.InstDAG, edges *ir.Edges) *clocks {
	return &clocks{Clocks: vclock.NewClocks(len(d.Insts)), d: d, edges: edges}
}

// begin turns to the rank whose instructions are given.
func (c *clocks) begin(insts []int32) {
	d := c.d
	rank := d.Insts[insts[0]].Rank
	first, _ := slices.BinarySearchFunc(d.Blocks, rank, func(b ir.Block, r int32) int { return cmp.Compare(b.Rank, r) })
	end := first
	for end < len(d.Blocks) && d.Blocks[end].Rank == rank {
		end++
	}
	c.first = int32(first)
	c.Begin(end - first)
	for _, i := range insts {
		for _, j := range c.edges.Of(int(i)) {
			if d.Insts[j].Block != d.Insts[i].Block {
				c.Expect(j)
			}
		}
	}
}

// step advances the clock of i's block past i, and returns it. It calls wait
// with each instruction to wait for that the clock does not cover yet.
func (c *clocks) step(i int32, wait func(j int32)) vclock.Clock {
	in := &c.d.Insts[i]
	b := in.Block - c.first
	c.row = append(c.row[:0], c.edges.Of(int(i))...)
	slices.SortFunc(c.row, func(a, b int32) int { return cmp.Compare(c.d.Insts[b].Seq, c.d.Insts[a].Seq) })
	for _, j := range c.row {
		o := &c.d.Insts[j]
		if o.Block == in.Block {
			continue
		}
		if !c.Covers(b, o.Block-c.first, o.Step) {
			wait(j)
		}
		c.Wait(b, j)
	}
	return c.End(b, in.Step, i)
}
