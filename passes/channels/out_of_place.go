package channels

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
)

// OutOfPlace makes of p, a program of channels for input and output in one memory, the same for both apart. What reads
// a chunk that nobody has written yet reads it in input; what is written, and read from then on, lies in output, or
// where output has no such chunk, in scratch that is added; and chunks that the result has as they came are copied at
// the end. Which is which shows in a run, since what races is rejected. An operation that reads some chunks of each
// kind in one run of chunks is refused. p is not changed, and the result is not proven.
func OutOfPlace(p *ir.ChannelProgram) (*ir.ChannelProgram, error) {
	u, err := unroll(p, 1)
	if err != nil {
		return nil, err
	}
	x := relocator{u: u, old: p, mem: u.program.Memory(), reads: map[refKey]freshness{}}
	x.written = make([]bool, x.mem.Len())
	order, stuck := eval.Link(u.program).Schedule(u.program).Run()
	if len(stuck) > 0 {
		_, _, found := Check(p, verify.Options{})
		return nil, found.Err()
	}
	for _, i := range order {
		x.step(i)
	}
	x.rewrite()
	return x.p, x.found.Err()
}

// A freshness says of what an operation reads whether it is as it came.
type freshness uint8

const (
	asItCame freshness = 1 << iota // nobody has written it
	written                        // somebody has
)

// A refKey is an operand that is read: of the op of a block, in a loop where inner is not -1.
type refKey struct{ rank, block, op, inner, src int32 }

// A relocator moves what is written out of input.
type relocator struct {
	u       *unroller
	mem     *ir.Memory
	old, p  *ir.ChannelProgram
	written []bool
	reads   map[refKey]freshness
	added   []int32 // by rank: where in scratch its input is that is written, or -1
	found   diag.List
}

// opOf returns the operation of a step.
func (x *relocator) opOf(rank int32, at *source) *ir.ChannelOp {
	o := &x.old.Ranks[rank].Blocks[at.block][at.op]
	if at.inner >= 0 {
		o = &o.Body[at.inner]
	}
	return o
}

// step notes what a step reads and writes.
func (x *relocator) step(i int32) {
	s := &x.u.program.Steps[i]
	if !s.Op.Moves() {
		return
	}
	g, at := x.u.program, x.u.sources[i]
	rank := x.rankOf(i)
	o := x.opOf(rank, &at)
	for _, src := range g.Sources(s) {
		if src.Buf > ir.Output {
			continue
		}
		is := freshness(0)
		x.cells(src, s.Count, func(cell int) {
			if x.written[cell] {
				is |= written
			} else {
				is |= asItCame
			}
		})
		for k := range o.Srcs {
			if r := &o.Srcs[k]; r.Buf == src.Buf && (r.Rank == src.Rank || r.Rank == ir.AllRanks) &&
				src.Index >= r.Index*x.u.parts && src.Index < (r.Index+r.Count)*x.u.parts {
				x.reads[refKey{rank, at.block, at.op, at.inner, int32(k)}] |= is
			}
		}
	}
	for _, dst := range g.Dests(s) {
		if dst.Buf <= ir.Output {
			x.cells(dst, s.Count, func(cell int) { x.written[cell] = true })
		}
	}
}

// rankOf returns the rank whose block has step i.
func (x *relocator) rankOf(i int32) int32 {
	g := x.u.program
	b, _ := slices.BinarySearchFunc(g.Blocks, i, func(b ir.TB, i int32) int {
		switch {
		case b.Steps.End <= i:
			return -1
		case b.Steps.First > i:
			return 1
		}
		return 0
	})
	return g.Blocks[b].Rank
}

// cells calls f with the cells of count chunks of an operand, on each of its ranks.
func (x *relocator) cells(d onesided.Operand, count int32, f func(cell int)) {
	first, end := int(d.Rank), int(d.Rank)+1
	if d.Rank == ir.AllRanks {
		first, end = 0, len(x.old.Ranks)
	}
	for r := first; r < end; r++ {
		cell := x.mem.Cell(r, d.Buf, int(d.Index))
		for k := range int(count) {
			f(cell + k)
		}
	}
}

// rewrite makes the program.
func (x *relocator) rewrite() {
	p := *x.old
	coll := *p.Coll
	coll.Inplace = false
	p.Coll, x.p = &coll, &p
	p.Ranks = slices.Clone(p.Ranks)
	x.added = slices.Repeat([]int32{-1}, len(p.Ranks))
	for r := range p.Ranks {
		c := &p.Ranks[r]
		c.Blocks = slices.Clone(c.Blocks)
		for b := range c.Blocks {
			c.Blocks[b] = slices.Clone(c.Blocks[b])
			for i := range c.Blocks[b] {
				o := &c.Blocks[b][i]
				at := refKey{int32(r), int32(b), int32(i), -1, 0}
				x.operation(o, at)
				o.Body = slices.Clone(o.Body)
				for k := range o.Body {
					at.inner = int32(k)
					x.operation(&o.Body[k], at)
				}
			}
		}
	}
	x.scratch()
	x.switches()
	for r := range p.Ranks {
		x.copies(int32(r))
	}
}

// operation has an operation read and write where things now lie.
func (x *relocator) operation(o *ir.ChannelOp, at refKey) {
	o.Srcs, o.Dsts = slices.Clone(o.Srcs), slices.Clone(o.Dsts)
	for k := range o.Srcs {
		at.src = int32(k)
		switch is := x.reads[at]; {
		case o.Srcs[k].Buf > ir.Output:
		case is == asItCame:
			x.input(&o.Srcs[k])
		case is == written:
			x.output(&o.Srcs[k])
		case is != 0:
			d := diag.New(diag.NotInPlace, x.old.Span(o.Pos),
				"out of place this reads in two buffers: some chunks as they came, in input, and some that were written, in output")
			d.Rank, d.Block, d.Step = int(at.rank), int(at.block), int(at.op)
			x.found = append(x.found,
				d.WithHint("one operation for each kind, or write the file for buffers apart, without inplace = true"))
		}
	}
	for k := range o.Dsts {
		if o.Dsts[k].Buf <= ir.Output {
			x.output(&o.Dsts[k])
		}
	}
}

// shift returns the rank of an operand, and how far its input lies in its output: of all ranks that must be equal.
func (x *relocator) shift(r *ir.ChannelRef) (rank int, shift int32) {
	rank = int(max(r.Rank, 0))
	of := func(rank int) int32 {
		inOut, outIn := x.old.Coll.Shift(rank)
		return int32(max(inOut, 0) - max(outIn, 0))
	}
	if r.Rank == ir.AllRanks && of(0) != of(len(x.old.Ranks)-1) && len(x.found) == 0 {
		x.found = append(x.found, diag.New(diag.NotInPlace, diag.Span{},
			"out of place the ranks' parts of what the switch reads or writes lie in places of their own").
			WithHint("write the file for buffers apart, without inplace = true"))
	}
	return rank, of(rank)
}

// input names the chunks of an operand as those of input.
func (x *relocator) input(r *ir.ChannelRef) {
	if r.Buf == ir.Output {
		_, shift := x.shift(r)
		r.Buf, r.Index = ir.Input, r.Index-shift
	}
}

// output names them as those of output, or of scratch.
func (x *relocator) output(r *ir.ChannelRef) {
	if r.Buf == ir.Output {
		return
	}
	rank, shift := x.shift(r)
	index := r.Index + shift
	if index >= 0 && int(index+r.Count) <= x.old.Coll.OutChunks(rank) {
		r.Buf, r.Index = ir.Output, index
		return
	}
	if x.added[rank] < 0 {
		x.added[rank] = x.old.Ranks[rank].Scratch
		if x.old.Protocol != ir.Simple { // after the packets, which have the room of two chunks
			x.added[rank] *= 2
		}
	}
	r.Buf, r.Index = ir.Scratch, x.added[rank]+r.Index
}

// scratch makes room for what was added.
func (x *relocator) scratch() {
	for r, at := range x.added {
		if at >= 0 {
			x.p.Ranks[r].Scratch = at + int32(x.old.Coll.InChunks(r))
		}
	}
}

// copies has a rank's first block copy what the result has as it came.
func (x *relocator) copies(rank int32) {
	inOut, _ := x.old.Coll.Shift(int(rank))
	if inOut < 0 {
		return // output lies in input, and its result is written
	}
	c := &x.p.Ranks[rank]
	var ops []ir.ChannelOp
	for k := range int32(x.old.Coll.InChunks(int(rank))) {
		out := int(k) + inOut
		cell := x.mem.Cell(int(rank), ir.Output, out*int(x.u.parts))
		if out >= x.old.Coll.OutChunks(int(rank)) || x.written[cell] || x.old.Coll.Want(int(rank), out).Any {
			continue
		}
		if n := len(ops); n > 0 && ops[n-1].Srcs[0].Index+ops[n-1].Srcs[0].Count == k {
			ops[n-1].Srcs[0].Count++
			ops[n-1].Dsts[0].Count++
			continue
		}
		ops = append(ops, ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel, Pos: -1,
			Srcs: []ir.ChannelRef{{Rank: rank, Buf: ir.Input, Index: k, Count: 1}},
			Dsts: []ir.ChannelRef{{Rank: rank, Buf: ir.Output, Index: int32(out), Count: 1}}})
	}
	if len(c.Blocks) == 0 && len(ops) > 0 {
		c.Blocks = append(c.Blocks, nil)
	}
	if len(ops) > 0 {
		c.Blocks[0] = slices.Concat(ops, c.Blocks[0])
	}
}
