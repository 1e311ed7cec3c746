package property

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// checkMatched: each send has one receive, and the two agree on their ranks,
// count, class and channel; in a DAG that is ordered, the n-th send of a
// connection meets its n-th receive.
func checkMatched(d *ir.InstDAG, _ *Options) diag.List {
	var p ir.Problems
	for i := range d.Insts {
		in := &d.Insts[i]
		info := in.Op.Info()
		if info.Sends {
			checkEnds(d, int32(i), &p)
		} else if in.SendPeer >= 0 {
			p.Add(d.Problem(int32(i), diag.Unmatched, "%s sends nothing, and has a peer to send to", d.Label(int32(i))))
		}
		if !info.Receives && in.RecvPeer >= 0 {
			p.Add(d.Problem(int32(i), diag.Unmatched, "%s receives nothing, and has a peer to receive from", d.Label(int32(i))))
		}
	}
	if len(p.List) == 0 && isOrdered(d) {
		checkFIFO(d, &p)
	}
	return p.Done()
}

// checkEnds compares the send i with its mate. CheckForm has seen that the
// mate exists, is mutual and moves as many chunks.
func checkEnds(d *ir.InstDAG, i int32, p *ir.Problems) {
	in := &d.Insts[i]
	m := &d.Insts[in.SendMate]
	a, b := func() string { return d.Label(i) }, func() string { return d.Label(in.SendMate) }
	if in.Rank == m.Rank {
		p.Add(d.Problem(i, diag.Unmatched, "%s sends to its own rank", a()))
	}
	if in.SendPeer != m.Rank {
		p.Add(d.Problem(i, diag.Unmatched, "%s sends to rank %d, and its mate is %s", a(), in.SendPeer, b()))
	}
	if m.RecvPeer != in.Rank {
		p.Add(d.Problem(in.SendMate, diag.Unmatched, "%s receives from rank %d, and its mate is %s", b(), m.RecvPeer, a()))
	}
	if in.Class != m.Class && !d.Even {
		p.Add(d.Problem(i, diag.Uneven, "%s sends chunks of classes from %d on, and %s receives them as classes from %d on",
			a(), in.Class, b(), m.Class))
	}
	if in.Channel != m.Channel {
		p.Add(d.Problem(i, diag.Unmatched, "%s sends on channel %d, and %s receives on channel %d", a(), in.Channel,
			b(), m.Channel))
	}
}

// isOrdered reports whether every instruction has a block and a step.
func isOrdered(d *ir.InstDAG) bool {
	for i := range d.Insts {
		if in := &d.Insts[i]; in.Step < 0 || in.Block < 0 || int(in.Block) >= len(d.Blocks) {
			return false
		}
	}
	return true
}

// checkFIFO: a block's sends, in their order, are received by one block in
// that order.
func checkFIFO(d *ir.InstDAG, p *ir.Problems) {
	rows, _ := blockRows(d)
	for b := range d.Blocks {
		last := int32(-1) // the send before
		for _, i := range rows.Of(b) {
			if !d.Insts[i].Op.Info().Sends {
				continue
			}
			mate := &d.Insts[d.Insts[i].SendMate]
			if last >= 0 {
				before := &d.Insts[d.Insts[last].SendMate]
				switch {
				case mate.Block != before.Block:
					p.Add(d.Problem(i, diag.Unmatched,
						"%s and %s send one after the other, and different blocks receive them: %d and %d", d.Label(last), d.Label(i),
						before.Block, mate.Block))
				case mate.Step <= before.Step:
					p.Add(d.Problem(i, diag.Unmatched, "%s is sent before %s and received after it", d.Label(last), d.Label(i)))
				}
			}
			last = i
		}
	}
}

// blockRows returns the instructions of each block in the order of their
// steps, and whether the steps of each are 0, 1, 2 and so on.
func blockRows(d *ir.InstDAG) (ir.Edges, bool) {
	rows := ir.Edges{Start: make([]int32, len(d.Blocks)+1), To: make([]int32, len(d.Insts))}
	for i := range d.Insts {
		rows.Start[d.Insts[i].Block+1]++
	}
	for b := range d.Blocks {
		rows.Start[b+1] += rows.Start[b]
	}
	for k := range rows.To {
		rows.To[k] = -1
	}
	dense := true
	for i := range d.Insts {
		in := &d.Insts[i]
		at := rows.Start[in.Block] + in.Step
		if in.Step < 0 || at >= rows.Start[in.Block+1] || rows.To[at] >= 0 {
			dense = false
			continue
		}
		rows.To[at] = int32(i)
	}
	if !dense {
		for i := range rows.To {
			rows.To[i] = int32(i)
		}
		slices.SortFunc(rows.To, func(a, b int32) int {
			x, y := &d.Insts[a], &d.Insts[b]
			return cmp.Or(cmp.Compare(x.Block, y.Block), cmp.Compare(x.Step, y.Step), cmp.Compare(a, b))
		})
	}
	return rows, dense
}
