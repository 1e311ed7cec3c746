package property

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/vclock"
)

// checkSynced: every dependence across blocks follows from the order of steps
// and the flags that instructions wait for.
func checkSynced(d *ir.InstDAG, _ *Options) diag.List {
	var p ir.Problems
	for i := range d.Insts {
		for _, w := range d.Waits.Of(i) {
			if a, b := &d.Insts[i], &d.Insts[w]; a.Rank != b.Rank || a.Block == b.Block {
				p.Add(d.Problem(int32(i), diag.Malformed, "%s waits for the flag of %s, which is not in another block of its rank",
					d.Label(int32(i)), d.Label(w)))
			}
		}
	}
	rows, dense := blockRows(d)
	if !dense {
		checkDense(d, &rows, &p)
	}
	if len(p.List) > 0 {
		return p.Done()
	}
	order, stuck := schedule(d, &rows, ir.Unbounded, 1, &d.Waits).Run()
	if len(stuck) > 0 {
		p.Add(deadlock(d, stuck, func(step int32) int32 { return rows.To[step] }))
		return p.Done()
	}
	checkFlags(d, byRank(d, order, &rows), &p)
	return p.Done()
}

// byRank returns the instructions of each rank in the order of a run.
func byRank(d *ir.InstDAG, order []int32, rows *ir.Edges) ir.Edges {
	r := ir.Edges{Start: make([]int32, d.Coll.Ranks+1), To: make([]int32, len(order))}
	for i := range d.Insts {
		r.Start[d.Insts[i].Rank+1]++
	}
	for k := range d.Coll.Ranks {
		r.Start[k+1] += r.Start[k]
	}
	next := append([]int32(nil), r.Start...)
	for _, step := range order {
		i := rows.To[step]
		rank := d.Insts[i].Rank
		r.To[next[rank]] = i
		next[rank]++
	}
	return r
}

func checkFlags(d *ir.InstDAG, ranks ir.Edges, p *ir.Problems) {
	first, end := 0, 0 // the blocks of a rank
	clocks := vclock.NewClocks(len(d.Insts))
	for _, w := range d.Waits.To {
		clocks.Expect(w)
	}
	for r := range d.Coll.Ranks {
		for first = end; end < len(d.Blocks) && int(d.Blocks[end].Rank) == r; {
			end++
		}
		clocks.Begin(end - first)
		for _, i := range ranks.Of(r) {
			in := &d.Insts[i]
			b := in.Block - int32(first)
			for _, w := range d.Waits.Of(int(i)) {
				clocks.Wait(b, w)
			}
			for _, j := range d.Deps.Of(int(i)) {
				before := &d.Insts[j]
				if before.Block != in.Block && !clocks.Covers(b, before.Block-int32(first), before.Step) {
					p.Add(d.Problem(i, diag.Race, "%s depends on %s, and no flag makes it wait", d.Label(i), d.Label(j)))
				}
			}
			clocks.End(b, in.Step, i)
		}
	}
}
