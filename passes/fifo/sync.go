package fifo

import (
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
	mid := len(ranks) / 2
	var low, high []wait
	ir.AtOnce(func() { low = waitsOf(d, deps, ranks[:mid]) }, func() { high = waitsOf(d, deps, ranks[mid:]) })
	waits := append(low, high...)
	start := make([]int32, len(d.Insts)+1)
	for _, w := range waits {
		start[w.inst+1]++
	}
	for i := range d.Insts {
		start[i+1] += start[i]
	}
	d.Waits = ir.Edges{Start: start, To: make([]int32, len(waits))}
	next := slices.Clone(start)
	for _, w := range waits {
		d.Waits.To[next[w.inst]] = w.on
		next[w.inst]++
	}
	return len(waits), nil
}

// A wait says that an instruction waits for another one's flag.
type wait struct{ inst, on int32 }

// waitsOf returns the waits of the instructions of ranks, in their order.
func waitsOf(d *ir.InstDAG, deps *ir.Edges, ranks [][]int32) (waits []wait) {
	c := newClocks(d, deps)
	for _, insts := range ranks {
		c.begin(insts)
		for _, i := range insts {
			c.step(i, func(j int32) { waits = append(waits, wait{i, j}) })
		}
	}
	return waits
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
		bySeq = make([]int32, len(d.Insts))
		for i := range bySeq {
			bySeq[i] = int32(i)
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
	top, keys := int32(-1), make([]int32, len(list))
	for k, i := range list {
		keys[k] = key(i)
		top = max(top, keys[k])
	}
	at := make([]int32, top+2)
	for _, key := range keys {
		at[key+1]++
	}
	for k := range top + 1 {
		at[k+1] += at[k]
	}
	sorted := make([]int32, len(list))
	for k, i := range list {
		sorted[at[keys[k]]] = i
		at[keys[k]]++
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
	seen := make([]int32, len(d.Insts)) // seen[j] == i+1: j is in row i already
	for i := range d.Insts {
		add := func(j int32) {
			if seen[j] != int32(i)+1 {
				seen[j] = int32(i) + 1
				e.To = append(e.To, j)
			}
		}
		for _, j := range d.Deps.Of(i) {
			if !moved[int32(i)] || d.Insts[j].Block == d.Insts[i].Block {
				add(j)
			}
		}
		for _, j := range extra[int32(i)] {
			add(j)
		}
		e.Start[i+1] = int32(len(e.To))
	}
	return e
}
