package fifo

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file decides into how many parts Lower cuts each chunk, and how the parts are numbered.

// mostMoved bounds the sub-chunks of all operations, since all passes visit each.
const mostMoved = 1 << 28

// commonWays returns the number of sub-chunks that every part of every operation is
// a whole number of: the least common multiple of their degrees.
func commonWays(c *ir.ChunkDAG, instances int) (int, error) {
	ways := instances
	for i := range c.Ops {
		w := int(c.Ops[i].Ways) * instances
		if ways%w != 0 {
			ways = ways / ir.GCD(ways, w) * w
		}
		if ways > 4096 {
			return 0, diag.List{diag.New(diag.Limit, c.Span(c.Ops[i].Pos),
				"parallelize and instances cut a chunk into %d parts; at most 4096 are possible", ways)}
		}
	}
	chunks := 0
	for r, s := range c.ScratchChunks() {
		chunks += c.Coll.InChunks(r) + c.Coll.OutChunks(r) + int(s)
	}
	if chunks > ir.MostCells/ways {
		return 0, diag.List{diag.New(diag.Limit, diag.Span{},
			"the buffers of all ranks have %d chunks, too many to cut each into %d", chunks, ways)}
	}
	moved := 0
	for i := range c.Ops {
		op := &c.Ops[i]
		if moved += int(op.Count) * int(op.NSrc); moved > mostMoved/ways {
			return 0, diag.List{diag.New(diag.Limit, c.Span(op.Pos),
				"up to here the operations move %d chunks, too many to cut each into %d", moved, ways).
				WithHint("use one degree of parallelize, or such as divide each other: all chunks are cut into as many parts as a multiple of all degrees has")}
		}
	}
	return ways, nil
}

// chooseSplit decides how a chunk is cut. Blocked keeps a run of neighbouring
// chunks one run in each part; interleaved keeps a chunk one run for the
// operations that are done in fewer parts than others. What makes fewer runs
// wins, blocked where they tie: then parts never meet in one author's chunk.
func chooseSplit(c *ir.ChunkDAG, ways, instances int) ir.Split {
	blocked := ir.Split{Ways: ways, Blocked: true}
	if ways == 1 {
		return blocked
	}
	if k := c.Coll.Kind; (k == ir.Custom || k == ir.Opaque) && (c.Coll.In != c.Coll.Out || c.Coll.PerRank != nil) {
		return ir.Split{Ways: ways} // chunk i of either buffer must stay of one class
	}
	runsBlocked, runsInterleaved := 0, 0
	for i := range c.Ops {
		w := int(c.Ops[i].Ways) * instances
		runsBlocked += ways
		if w == 1 {
			runsInterleaved++
		} else {
			runsInterleaved += w * int(c.Ops[i].Count)
		}
	}
	return ir.Split{Ways: ways, Blocked: runsBlocked <= runsInterleaved}
}
