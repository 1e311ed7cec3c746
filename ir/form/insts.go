package form

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file checks what every other check and every pass relies on: numbers
// in range. It is no property, since no pass may ever break it.

// CheckInsts reports what is out of range in d.
func CheckInsts(d *ir.InstDAG) diag.List {
	var p ir.Problems
	if d.Scratch != nil && len(d.Scratch) != d.Coll.Ranks {
		p.Add(diag.New(diag.Malformed, diag.Span{}, "scratch is given for %d ranks of %d", len(d.Scratch), d.Coll.Ranks))
		return p.Done()
	}
	n := int32(len(d.Insts))
	for i := range d.Insts {
		in := &d.Insts[i]
		if in.Op == ir.Nop || in.Op >= ir.NumOps || in.Op.Info().OneSided {
			p.Add(d.Problem(int32(i), diag.Malformed, "i%d has operation %d, which no instruction has", i, in.Op))
			continue
		}
		if in.Rank < 0 || int(in.Rank) >= d.Coll.Ranks {
			p.Add(d.Problem(int32(i), diag.OutOfBounds, "i%d is of rank %d of %d", i, in.Rank, d.Coll.Ranks))
			continue
		}
		if in.Count < 1 {
			p.Add(d.Problem(int32(i), diag.Malformed, "%s moves %d chunks", d.Label(int32(i)), in.Count))
			continue
		}
		checkOperands(d, int32(i), &p)
		if in.Seq < 0 {
			p.Add(d.Problem(int32(i), diag.Malformed, "%s has no place in the source order", d.Label(int32(i))))
		}
		info := in.Op.Info()
		checkMate(d, int32(i), info.Sends, in.SendMate, func(m *ir.Inst) int32 { return m.RecvMate }, &p)
		checkMate(d, int32(i), info.Receives, in.RecvMate, func(m *ir.Inst) int32 { return m.SendMate }, &p)
	}
	if len(p.List) == 0 {
		checkSeq(d, &p)
	}
	for _, e := range []*ir.Edges{&d.Deps, &d.Waits} {
		if len(e.Start) > 0 && !wellFormed(e, n) {
			p.Add(diag.New(diag.Malformed, diag.Span{}, "the dependences are not edges among %d instructions", n))
		}
	}
	return p.Done()
}

func checkOperands(d *ir.InstDAG, i int32, p *ir.Problems) {
	in := &d.Insts[i]
	info := in.Op.Info()
	check := func(role string, b ir.Buf, index int32, used bool) {
		if !used {
			return
		}
		size := chunks(d, int(in.Rank), b)
		switch {
		case size < 0:
			p.Add(d.Problem(i, diag.Malformed, "%s has no buffer as its %s", d.Label(i), role))
		case index < 0 || int64(index)+int64(in.Count) > int64(size):
			p.Add(d.Problem(i, diag.OutOfBounds, "%s has %v[%d]*%d as its %s, and %v has %d chunks", d.Label(i), b, index,
				in.Count, role, b, size))
		}
	}
	check("source", in.SrcBuf, in.Src, info.ReadsSrc)
	check("destination", in.DstBuf, in.Dst, info.ReadsDst || info.Writes)
	if in.Class < 0 || int(in.Class) >= max(d.Coll.Chunks, 1) {
		p.Add(d.Problem(i, diag.OutOfBounds, "%s begins at class %d of %d", d.Label(i), in.Class, d.Coll.Chunks))
	}
}

// chunks returns the length of a buffer of rank, or -1 where there is none such.
func chunks(d *ir.InstDAG, rank int, b ir.Buf) int {
	switch {
	case b == ir.Input:
		return d.Coll.InChunks(rank)
	case b == ir.Output:
		return d.Coll.OutChunks(rank)
	case b == ir.Scratch && d.Scratch != nil:
		return int(d.Scratch[rank])
	case b == ir.Scratch:
		return 0
	}
	return -1
}

// checkMate says that the other end of a transfer exists, agrees that it is
// one, and moves as many chunks: what evaluation needs to carry a message.
func checkMate(d *ir.InstDAG, i int32, has bool, mate int32, back func(*ir.Inst) int32, p *ir.Problems) {
	in := &d.Insts[i]
	switch {
	case !has && mate >= 0:
		p.Add(d.Problem(i, diag.Unmatched, "%s has a mate, i%d, for a transfer that it does not make", d.Label(i), mate))
	case has && (mate < 0 || int(mate) >= len(d.Insts) || mate == i):
		p.Add(d.Problem(i, diag.Unmatched, "%s has no mate", d.Label(i)))
	case has:
		m := &d.Insts[mate]
		if back(m) != i {
			p.Add(d.Problem(i, diag.Unmatched, "%s has the mate %s, whose own is another", d.Label(i), d.Label(mate)))
		} else if m.Count != in.Count {
			p.Add(d.Problem(i, diag.Unmatched, "%s moves %d chunks, and its mate %s moves %d", d.Label(i), in.Count,
				d.Label(mate), m.Count))
		}
	}
}

// checkSeq says that no two instructions share a place in the source order.
func checkSeq(d *ir.InstDAG, p *ir.Problems) {
	order := d.BySeq()
	if len(order) < len(d.Insts) {
		p.Add(diag.New(diag.Malformed, diag.Span{}, "%d instructions share their places in the source order with others",
			len(d.Insts)-len(order)))
		return
	}
	for k := 1; k < len(order); k++ {
		if a, b := order[k-1], order[k]; d.Insts[a].Seq == d.Insts[b].Seq {
			p.Add(d.Problem(b, diag.Malformed, "%s and %s have the same place %d in the source order", d.Label(a), d.Label(b),
				d.Insts[b].Seq))
		}
	}
}

// wellFormed says that e are edges among n nodes.
func wellFormed(e *ir.Edges, n int32) bool {
	if len(e.Start) != int(n)+1 || e.Start[0] != 0 || int(e.Start[n]) != len(e.To) {
		return false
	}
	for i := range n {
		if e.Start[i] > e.Start[i+1] {
			return false
		}
	}
	for _, t := range e.To {
		if t < 0 || t >= n {
			return false
		}
	}
	return true
}
