// Package placement converts a ChunkDAG that works in place into one for separate input and output buffers, and back.
package placement

import (
	"mscclc/ir"
)

// This file rewrites operations for another placement of the buffers than the
// file was written for. In place every chunk of input and output is a cell of
// one memory. Such a cell lives in input until it is first written. What is
// written goes to the cell's place in output or, where it has none, to a
// scratch buffer that is added here: input that is not also output is never
// modified, in place either. Out of place, at the end, output that nobody wrote
// and that has a value is copied from input.

// A relocation is one such rewrite.
type relocation struct {
	old, d  *ir.ChunkDAG
	inplace bool        // input and output stay one memory
	mem     *ir.Memory  // the cells of the old placement, scratch left out
	moved   []bool      // of each cell: it lives in output or in the added scratch
	added   ir.Buf      // the scratch buffer that is added
	need    bool        // something is written there
	pos     int32       // of copies at the end
	home    []homeRange // of each rank
}

// A homeRange is the cells of a rank's input and output, those that have a
// place in output, and those that have one in input.
type homeRange struct{ output, outEnd, input, inEnd int32 }

// Relocate returns the program of d, which is in place, for the placement that
// inplace says. Copies that it adds at the end have position pos.
func Relocate(d *ir.ChunkDAG, inplace bool, pos int32) *ir.ChunkDAG {
	coll := *d.Coll
	coll.Inplace = inplace
	r := &relocation{old: d, d: new(ir.ChunkDAG), inplace: inplace, mem: ir.NewMemory(d.Coll, nil), pos: pos}
	*r.d = *d
	r.d.Coll, r.d.Ops, r.d.Srcs = &coll, make([]ir.ChunkOp, 0, len(d.Ops)), make([]ir.Ref, 0, len(d.Srcs))
	r.added = ir.Scratch + ir.Buf(len(d.Scratch))
	r.moved = make([]bool, r.mem.Len())
	r.home = make([]homeRange, coll.Ranks)
	for k := range r.home {
		out, in := int32(r.mem.Cell(k, ir.Output, 0)), int32(r.mem.Cell(k, ir.Input, 0))
		r.home[k] = homeRange{out, out + int32(d.Coll.OutChunks(k)), in, in + int32(d.Coll.InChunks(k))}
	}
	for i := range d.Ops {
		r.op(&d.Ops[i])
	}
	if !inplace {
		r.finish()
	}
	if r.need {
		r.d.Scratch = append(d.Scratch[:len(d.Scratch):len(d.Scratch)], r.scratch())
	}
	return r.d
}

// scratch declares the buffer that holds what is written to input.
func (r *relocation) scratch() ir.ScratchDecl {
	s := ir.ScratchDecl{Name: "moved", Span: r.old.Span(r.pos)}
	for taken := true; taken; {
		taken = false
		for i := range r.old.Scratch {
			if r.old.Scratch[i].Name == s.Name {
				s.Name += "_"
				taken = true
			}
		}
	}
	for k := range r.home {
		s.Chunks = max(s.Chunks, int(r.home[k].inEnd-r.home[k].input))
	}
	return s
}

// cell returns the cell of a reference to input or output.
func (r *relocation) cell(x ir.Ref) int32 {
	return int32(r.mem.Cell(int(x.Rank), x.Buf, int(x.Index)))
}

// op rewrites one operation, in as many as its operands' places make it.
func (r *relocation) op(op *ir.ChunkOp) {
	srcs := r.old.Sources(op)
	for at := int32(0); at < op.Count; {
		n := r.uniform(op.Dst, at, op.Count)
		for _, s := range srcs {
			n = min(n, r.uniform(s, at, op.Count))
		}
		for again := true; again; { // what is copied for one source may be part of another
			again = false
			for _, s := range srcs {
				again = r.gather(op, s, at, n) || again
			}
		}
		r.part(op, srcs, at, n)
		at += n
	}
}

// uniform says how many chunks of x from at on, up to end, all have a place in
// output or all have none.
func (r *relocation) uniform(x ir.Ref, at, end int32) int32 {
	n := end - at
	if x.Buf >= ir.Scratch {
		return n
	}
	h, c := &r.home[x.Rank], r.cell(x)+at
	for _, border := range [2]int32{h.output, h.outEnd} {
		if c < border && border < c+n {
			n = border - c
		}
	}
	return n
}

// gather makes sure that n chunks of x from at on lie together: where some
// have moved, the others are copied after them. It says whether there were any.
func (r *relocation) gather(op *ir.ChunkOp, x ir.Ref, at, n int32) bool {
	if x.Buf >= ir.Scratch {
		return false
	}
	c := r.cell(x) + at
	some, copied := false, false
	for _, m := range r.moved[c : c+n] {
		some = some || m
	}
	if !some || r.stays(x.Rank, c) {
		return false
	}
	for k := int32(0); k < n; k++ {
		from := k
		for k < n && !r.moved[c+k] {
			k++
		}
		if k > from {
			r.move(op, x.Rank, c+from, k-from)
			copied = true
		}
	}
	return copied
}

// stays reports whether cell c is where the author has it: in place, in output.
func (r *relocation) stays(rank, c int32) bool {
	return r.inplace && r.home[rank].output <= c && c < r.home[rank].outEnd
}

// move copies n cells from input to where they live from now on.
func (r *relocation) move(op *ir.ChunkOp, rank, c, n int32) {
	src := ir.Ref{Rank: rank, Buf: ir.Input, Index: c - r.home[rank].input}
	r.d.Srcs = append(r.d.Srcs, src)
	r.d.Ops = append(r.d.Ops, ir.ChunkOp{Dst: r.target(rank, c), Count: n, Src: int32(len(r.d.Srcs)) - 1, NSrc: 1,
		Ways: op.Ways, Pos: op.Pos})
	r.settle(c, n)
}

// target returns the place of cell c after it was written.
func (r *relocation) target(rank, c int32) ir.Ref {
	if h := &r.home[rank]; c < h.output || c >= h.outEnd {
		r.need = true
		return ir.Ref{Rank: rank, Buf: r.added, Index: c - h.input}
	}
	return ir.Ref{Rank: rank, Buf: ir.Output, Index: c - r.home[rank].output}
}

// place returns where n chunks of x from at on lie now.
func (r *relocation) place(x ir.Ref, at int32) ir.Ref {
	y := x
	y.Index += at
	if x.Buf >= ir.Scratch {
		return y
	}
	c := r.cell(x) + at
	switch {
	case r.stays(x.Rank, c):
		return y
	case r.moved[c]:
		return r.target(x.Rank, c)
	}
	return ir.Ref{Rank: x.Rank, Buf: ir.Input, Index: c - r.home[x.Rank].input}
}

func (r *relocation) settle(c, n int32) {
	for k := range n {
		r.moved[c+k] = true
	}
}

// part makes the operation on n chunks from at on.
func (r *relocation) part(op *ir.ChunkOp, srcs []ir.Ref, at, n int32) {
	first := int32(len(r.d.Srcs))
	for _, s := range srcs {
		r.d.Srcs = append(r.d.Srcs, r.place(s, at))
	}
	part := *op
	part.Src, part.Count = first, n
	part.Dst.Index += at
	if op.Dst.Buf < ir.Scratch {
		c := r.cell(op.Dst) + at
		if !r.stays(op.Dst.Rank, c) {
			part.Dst = r.target(op.Dst.Rank, c)
		}
		r.settle(c, n)
	}
	r.d.Ops = append(r.d.Ops, part)
}

// finish copies what belongs in output and still lives in input.
func (r *relocation) finish() {
	last := ir.ChunkOp{Ways: 1, Pos: r.pos}
	for rank := range r.home {
		h := &r.home[rank]
		end := min(h.outEnd, h.inEnd)
		for c := max(h.output, h.input); c < end; c++ {
			from := c
			for c < end && !r.moved[c] {
				c++
			}
			if c > from {
				r.move(&last, int32(rank), from, c-from)
			}
		}
	}
}
