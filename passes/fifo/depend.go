package fifo

import (
	"slices"

	"mscclc/ir"
)

// depend derives the dependences of d from its source order and sets d.Deps:
// a read depends on the last write of each cell it reads, a write on all reads
// since the last write, or where there were none on that write. What these
// imply by a path is left out. Linear in the cells that instructions touch.
//
// A rank's instructions depend on that rank's alone, so two halves of the ranks
// are done at once.
func depend(d *ir.InstDAG) { dependBy(d, d.BySeq()) }

// dependBy is depend of a d whose BySeq is known.
func dependBy(d *ir.InstDAG, bySeq []int32) {
	n := len(d.Insts)
	r := derivation{d: d, bySeq: bySeq, first: make([]int32, n), seen: make([]int32, n)}
	r.edges.Start = make([]int32, n+1)
	mid := int32(d.Coll.Ranks / 2)
	var low, high []int32
	ir.AtOnce(func() { low = r.derive(0, mid) }, func() { high = r.derive(mid, int32(d.Coll.Ranks)) })
	start := r.edges.Start
	for i := range n {
		start[i+1] += start[i]
	}
	r.edges.To = make([]int32, len(low)+len(high))
	for i := range n {
		to := low
		if d.Insts[i].Rank >= mid {
			to = high
		}
		copy(r.edges.To[start[i]:start[i+1]], to[r.first[i]:])
	}
	d.Deps = r.edges
}

// A derivation is the dependences of instructions while they are derived.
type derivation struct {
	d     *ir.InstDAG
	bySeq []int32
	edges ir.Edges // until both halves are done, Start[i+1] is how many dependences i has
	first []int32  // by instruction: where they begin in what derive of its rank returns
	seen  []int32  // seen[j] == i+1: i depends on j already
}

// derive returns the dependences of the instructions of some ranks, one after the other.
func (r *derivation) derive(firstRank, endRank int32) (to []int32) {
	f := newFlow(r.d)
	to = make([]int32, 0, len(r.bySeq)*3/4)
	for _, i := range r.bySeq {
		if rank := r.d.Insts[i].Rank; rank < firstRank || rank >= endRank {
			continue
		}
		r.first[i] = int32(len(to))
		add := func(j int32) {
			if j >= 0 && j != i && r.seen[j] != i+1 {
				r.seen[j] = i + 1
				to = append(to, j)
			}
		}
		f.step(i, add, add)
		r.edges.Start[i+1] = int32(len(to)) - r.first[i]
	}
	return to
}

// A flow follows what each cell holds while instructions are visited in source
// order: who wrote it last, and who has read it since.
type flow struct {
	d     *ir.InstDAG
	mem   *ir.Memory
	cells *ir.Accesses
}

func newFlow(d *ir.InstDAG) *flow {
	m := d.Memory()
	return &flow{d: d, mem: m, cells: ir.NewAccesses(m.Len())}
}

// reads and writes give the first cell of what an instruction reads through
// src, and of what it writes; -1 where it does not.
func (f *flow) reads(in *ir.Inst) int {
	if !in.Op.Info().ReadsSrc {
		return -1
	}
	return f.mem.Cell(int(in.Rank), in.SrcBuf, int(in.Src))
}

func (f *flow) writes(in *ir.Inst) int {
	if !in.Op.Info().Writes {
		return -1
	}
	return f.mem.Cell(int(in.Rank), in.DstBuf, int(in.Dst))
}

// step visits instruction i. It calls read with the last writer of each run of
// cells that i reads, and write with each instruction that i's writes must follow.
func (f *flow) step(i int32, read, write func(j int32)) {
	in, c := &f.d.Insts[i], f.cells
	src, dst, n := f.reads(in), f.writes(in), int(in.Count)
	if src >= 0 {
		c.Cut(src, n)
		for k := src; k < src+n; k = c.End(k) {
			read(c.Writer(k))
		}
	}
	if dst >= 0 {
		readsDst := in.Op.Info().ReadsDst
		c.Cut(dst, n)
		for k := dst; k < dst+n; k = c.End(k) {
			if readsDst {
				read(c.Writer(k))
			}
			if c.HasReader(k) {
				c.Readers(k, write)
			} else {
				write(c.Writer(k))
			}
		}
		c.Write(i, dst, n)
	}
	if src >= 0 {
		c.Cut(src, n)
		for k := src; k < src+n; k = c.End(k) {
			if c.Writer(k) != i {
				c.Read(i, k)
			}
		}
	}
}

// remove deletes the instructions that dead marks, and derives dependences.
func remove(d *ir.InstDAG, dead []bool) int {
	name := make([]int32, len(d.Insts))
	kept := int32(0)
	for i := range d.Insts {
		if name[i] = kept; dead[i] {
			name[i] = -1
			continue
		}
		kept++
	}
	gone := len(d.Insts) - int(kept)
	if gone == 0 {
		return 0
	}
	for i := range d.Insts {
		if dead[i] {
			continue
		}
		in := d.Insts[i]
		if in.SendMate >= 0 {
			in.SendMate = name[in.SendMate]
		}
		if in.RecvMate >= 0 {
			in.RecvMate = name[in.RecvMate]
		}
		d.Insts[name[i]] = in
	}
	d.Insts = d.Insts[:kept]
	depend(d)
	return gone
}

// unfuse splits the fused instruction i into its receive and a send, which is
// appended. Where nothing was kept locally (rrs), a new cell of scratch holds
// what is sent. Deps are not up to date afterwards.
func unfuse(d *ir.InstDAG, i int32) {
	in := &d.Insts[i]
	send := *in
	switch in.Op {
	case ir.RecvCopySend:
		in.Op = ir.Recv
	case ir.RecvReduceCopySend:
		in.Op = ir.RecvReduceCopy
	case ir.RecvReduceSend:
		in.Op = ir.RecvReduceCopy
		in.DstBuf, in.Dst = ir.Scratch, d.Scratch[in.Rank]
		d.Scratch[in.Rank] += in.Count
	}
	send.Op, send.Seq = ir.Send, in.SendSeq
	send.SrcBuf, send.Src, send.DstBuf, send.Dst = in.DstBuf, in.Dst, ir.NoBuf, 0
	send.RecvPeer, send.RecvMate = -1, -1
	send.Hint, send.Pos = d.Insts[send.SendMate].Hint, d.Insts[send.SendMate].Pos
	in.SendPeer, in.SendMate, in.SendSeq = -1, -1, in.Seq
	d.Insts[send.SendMate].RecvMate = int32(len(d.Insts))
	d.Insts = append(d.Insts, send)
}

// depths gives each instruction the longest chain of instructions that must
// come before it; bySeq is d.BySeq().
func depths(d *ir.InstDAG, bySeq []int32) []int32 {
	depth := make([]int32, len(d.Insts))
	for _, i := range bySeq {
		least := int32(0)
		for _, j := range d.Deps.Of(int(i)) {
			least = max(least, depth[j]+1)
		}
		if j := d.Insts[i].RecvMate; j >= 0 {
			least = max(least, depth[j]+1)
		}
		depth[i] = least
	}
	return depth
}

// heights gives each instruction the longest chain of instructions that must
// follow it; bySeq is d.BySeq().
func heights(d *ir.InstDAG, bySeq []int32) []int32 {
	height := make([]int32, len(d.Insts))
	for k := len(bySeq) - 1; k >= 0; k-- {
		i := bySeq[k]
		least := height[i] + 1
		for _, j := range d.Deps.Of(int(i)) {
			height[j] = max(height[j], least)
		}
		if j := d.Insts[i].RecvMate; j >= 0 {
			height[j] = max(height[j], least)
		}
	}
	return height
}

// byUrgency returns the instructions in order of depth, then of the longest way to go.
func byUrgency(d *ir.InstDAG) []int32 {
	bySeq := d.BySeq()
	var depth, height []int32
	ir.AtOnce(func() { depth = depths(d, bySeq) }, func() { height = heights(d, bySeq) })
	most := slices.Max(append(height, 0))
	order := sortBy(bySeq, func(i int32) int32 { return most - height[i] })
	return sortBy(order, func(i int32) int32 { return depth[i] })
}
