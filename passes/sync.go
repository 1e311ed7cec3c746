package passes

import (
	"cmp"
	"slices"

	"mscclc/ir"
)

// syncBlocks decides which flags each instruction waits for: for every
// dependence on another block of its rank a wait, unless an earlier wait or
// what that wait's block had waited for implies it already. A flag stands for
// all steps of its block up to it, and the latest dependences are looked at
// first, so that one wait covers many.
//
// Waits of consecutive reductions into one chunk move to the first of them, so
// that they form a chain of many sources (re in MSCCL-IR). That cannot close a
// cycle as long as what is waited for is listed before the first.
func syncBlocks(s *state) (int, error) {
	d := s.InstDAG
	ranks := byRank(d)
	deps := chains(d, ranks)
	start := make([]int32, len(d.Insts)+1)
	waits := make([][2]int32, 0, len(d.Insts)/4) // (instruction, what it waits for)
	for _, insts := range ranks {
		c := newClocks(d, insts, deps)
		for _, i := range insts {
			c.step(i, func(j int32) {
				waits = append(waits, [2]int32{i, j})
				start[i+1]++
			})
		}
	}
	for i := range d.Insts {
		start[i+1] += start[i]
	}
	d.Waits = ir.Edges{Start: start, To: make([]int32, len(waits))}
	next := slices.Clone(start)
	for _, w := range waits {
		d.Waits.To[next[w[0]]] = w[1]
		next[w[0]]++
	}
	return len(waits), nil
}

// byRank returns the instructions of each rank that has any, in source order.
func byRank(d *ir.InstDAG) [][]int32 {
	sorted := true // as order leaves them
	for i := 1; i < len(d.Insts) && sorted; i++ {
		a, b := &d.Insts[i-1], &d.Insts[i]
		sorted = a.Rank < b.Rank || a.Rank == b.Rank && a.Seq < b.Seq
	}
	var bySeq []int32
	if sorted {
		for i := range d.Insts {
			bySeq = append(bySeq, int32(i))
		}
	} else {
		bySeq = sortBy(d.BySeq(), func(i int32) int32 { return d.Insts[i].Rank })
	}
	var ranks [][]int32
	for len(bySeq) > 0 {
		n := 1
		for n < len(bySeq) && d.Insts[bySeq[n]].Rank == d.Insts[bySeq[0]].Rank {
			n++
		}
		ranks = append(ranks, bySeq[:n])
		bySeq = bySeq[n:]
	}
	return ranks
}

// sortBy sorts list by a key from 0 up, stably and in linear time.
func sortBy(list []int32, key func(i int32) int32) []int32 {
	top := int32(-1)
	for _, i := range list {
		top = max(top, key(i))
	}
	at := make([]int32, top+2)
	for _, i := range list {
		at[key(i)+1]++
	}
	for k := range top + 1 {
		at[k+1] += at[k]
	}
	sorted := make([]int32, len(list))
	for _, i := range list {
		k := key(i)
		sorted[at[k]] = i
		at[k]++
	}
	return sorted
}

// chains returns the dependences with those of a reduction on other blocks
// moved to the head of its chain.
func chains(d *ir.InstDAG, ranks [][]int32) *ir.Edges {
	type last struct{ head, tail int32 }
	ends := make([]last, len(d.Blocks)) // of each block, 1-based
	extra := make(map[int32][]int32)
	moved := make(map[int32]bool)
	for _, i := range slices.Concat(ranks...) {
		in := &d.Insts[i]
		e := &ends[in.Block]
		if in.Op != ir.Reduce {
			*e = last{}
			continue
		}
		if e.head == 0 || !sameChain(&d.Insts[e.tail-1], in) {
			*e = last{i + 1, i + 1}
			continue
		}
		head := e.head - 1
		joins := true
		for _, j := range d.Deps.Of(int(i)) {
			joins = joins && (d.Insts[j].Block == in.Block || d.Insts[j].Seq < d.Insts[head].Seq)
		}
		if !joins {
			*e = last{i + 1, i + 1}
			continue
		}
		e.tail = i + 1
		for _, j := range d.Deps.Of(int(i)) {
			if d.Insts[j].Block != in.Block {
				extra[head] = append(extra[head], j)
				moved[i] = true
			}
		}
	}
	if len(moved) == 0 {
		return &d.Deps
	}
	return moveRows(d, extra, moved)
}

func sameChain(a, b *ir.Inst) bool {
	return a.DstBuf == b.DstBuf && a.Dst == b.Dst && a.Count == b.Count && a.SrcBuf == b.SrcBuf
}

// moveRows returns d.Deps with extra added, and without the other blocks' ones
// in the rows of moved.
func moveRows(d *ir.InstDAG, extra map[int32][]int32, moved map[int32]bool) *ir.Edges {
	e := &ir.Edges{Start: make([]int32, len(d.Insts)+1), To: make([]int32, 0, len(d.Deps.To))}
	for i := range d.Insts {
		for _, j := range d.Deps.Of(i) {
			if !moved[int32(i)] || d.Insts[j].Block == d.Insts[i].Block {
				e.To = append(e.To, j)
			}
		}
		for _, j := range extra[int32(i)] {
			if !slices.Contains(e.To[e.Start[i]:], j) {
				e.To = append(e.To, j)
			}
		}
		e.Start[i+1] = int32(len(e.To))
	}
	return e
}

// clocks knows, for each block of one rank, up to which step of every other
// block of that rank all is known to be done.
type clocks struct {
	d     *ir.InstDAG
	edges *ir.Edges         // what instructions wait for
	first int32             // the rank's first block
	now   [][]int32         // of each block; steps, -1 for none
	at    map[int32][]int32 // the clock of a block after an instruction that another block waits for
	keep  map[int32]bool    // those instructions
	row   []int32
}

func newClocks(d *ir.InstDAG, insts []int32, edges *ir.Edges) *clocks {
	rank := d.Insts[insts[0]].Rank
	first, _ := slices.BinarySearchFunc(d.Blocks, rank, func(b ir.Block, r int32) int { return cmp.Compare(b.Rank, r) })
	n := 0
	for first+n < len(d.Blocks) && d.Blocks[first+n].Rank == rank {
		n++
	}
	c := &clocks{d: d, edges: edges, first: int32(first), now: make([][]int32, n), at: make(map[int32][]int32), keep: make(map[int32]bool)}
	for b := range c.now {
		c.now[b] = make([]int32, n)
		for o := range c.now[b] {
			c.now[b][o] = -1
		}
	}
	for _, i := range insts {
		for _, j := range edges.Of(int(i)) {
			if d.Insts[j].Block != d.Insts[i].Block {
				c.keep[j] = true
			}
		}
	}
	return c
}

// step advances the clock of i's block past i, and returns it. It calls wait
// with each instruction to wait for that the clock does not cover yet.
func (c *clocks) step(i int32, wait func(j int32)) []int32 {
	in := &c.d.Insts[i]
	mine := c.now[in.Block-c.first]
	c.row = append(c.row[:0], c.edges.Of(int(i))...)
	slices.SortFunc(c.row, func(a, b int32) int { return cmp.Compare(c.d.Insts[b].Seq, c.d.Insts[a].Seq) })
	for _, j := range c.row {
		o := &c.d.Insts[j]
		if o.Block == in.Block || mine[o.Block-c.first] >= o.Step {
			continue
		}
		wait(j)
		for b, step := range c.at[j] {
			mine[b] = max(mine[b], step)
		}
	}
	mine[in.Block-c.first] = in.Step
	if c.keep[i] {
		c.at[i] = slices.Clone(mine)
	}
	return mine
}
