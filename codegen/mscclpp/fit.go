package mscclpp

import (
	"slices"

	"mscclc/ir"
)

// FitOperands returns p with Moves as MSCCL++ has them, for programs whose author did not count: sums of more sources
// than an operation has room for, or of plain chunks, chunks of others and packets together, become several operations,
// which keep the sum so far in the first destination; what the last of them cannot hand on is copied after it. The
// threads synchronise between. Sums are of the same operands in the same order, rounded once an operation. What MSCCL++
// has no operation for all the same stays as it is, for PlanOf to refuse. p is not changed.
func FitOperands(p *ir.ChannelProgram) *ir.ChannelProgram {
	x := operandFitter{p: p, cells: ir.NewMemory(p.Coll, channelScratch(p))}
	out := *p
	out.Ranks = slices.Clone(p.Ranks)
	for r := range out.Ranks {
		x.maker = maker{p: p, rankID: r}
		blocks := slices.Clone(out.Ranks[r].Blocks)
		for b := range blocks {
			if ops := x.list(blocks[b]); ops != nil {
				blocks[b] = ops
			}
		}
		out.Ranks[r].Blocks = blocks
	}
	return &out
}

// channelScratch lists how much scratch ranks have.
func channelScratch(p *ir.ChannelProgram) []int32 {
	list := make([]int32, len(p.Ranks))
	for r := range list {
		list[r] = p.Ranks[r].Scratch
	}
	return list
}

// An operandFitter rewrites the operations of one rank after another.
type operandFitter struct {
	p     *ir.ChannelProgram
	maker maker // of the rank
	cells *ir.Memory
}

// list returns what stands for the operations of a block or a loop, or nil where they can stay.
func (x *operandFitter) list(ops []ir.ChannelOp) []ir.ChannelOp {
	var out []ir.ChannelOp
	for i := range ops {
		o := &ops[i]
		var instead []ir.ChannelOp
		switch o.Kind {
		case ir.ChMove:
			instead = x.move(o)
		case ir.ChLoop:
			if body := x.list(o.Body); body != nil {
				loop := *o
				loop.Body = body
				instead = []ir.ChannelOp{loop}
			}
		}
		if instead != nil && out == nil {
			out = slices.Clone(ops[:i])
		}
		switch {
		case instead != nil:
			out = append(out, instead...)
		case out != nil:
			out = append(out, *o)
		}
	}
	return out
}

// move returns what stands for a Move, or nil where it can stay or cannot be helped.
func (x *operandFitter) move(o *ir.ChannelOp) []ir.ChannelOp {
	if row, _ := x.maker.row(o); row != nil && len(o.Channels) <= ir.OpChannels {
		return nil
	}
	own := int32(x.maker.rankID)
	to := o.Dsts[0]
	switch {
	case len(o.Srcs) == 1 && o.Srcs[0].Packets && o.Srcs[0].Rank == own && x.sends(o.Dsts):
		return x.sent(o)
	case to.Rank != own || to.Packets || o.Type == ir.PortChannel || o.Type == ir.SwitchChannel:
		return nil
	}
	f := sumFitter{operandFitter: x, o: o, sum: to, left: slices.Clone(o.Dsts[1:])}
	if !f.fold() {
		return nil
	}
	f.copies()
	for i := range f.out {
		if row, _ := x.maker.row(&f.out[i]); row == nil {
			return nil
		}
	}
	return f.out
}

// sends reports whether all destinations are packets of other ranks.
func (x *operandFitter) sends(dsts []ir.ChannelRef) bool {
	return !slices.ContainsFunc(dsts, func(d ir.ChannelRef) bool { return x.maker.letter(&d) != 'q' })
}

// sent hands packets on to as many ranks at once as an operation has room for.
func (x *operandFitter) sent(o *ir.ChannelOp) (out []ir.ChannelOp) {
	for first := 0; first < len(o.Dsts); first += ir.OpChannels {
		end := min(first+ir.OpChannels, len(o.Dsts))
		part := *o
		part.Dsts = o.Dsts[first:end]
		if len(o.Channels) == len(o.Dsts) {
			part.Channels = o.Channels[first:end]
		}
		out = append(out, part)
	}
	return out
}

// A sumFitter rewrites one sum.
type sumFitter struct {
	*operandFitter
	o    *ir.ChannelOp
	sum  ir.ChannelRef
	left []ir.ChannelRef // destinations that have nothing yet
	out  []ir.ChannelOp
}

// add appends an operation, before which the threads synchronise if there is one before it.
func (f *sumFitter) add(kind ir.ChannelOpKind, t ir.ChannelType, srcs, dsts []ir.ChannelRef) {
	if len(f.out) > 0 {
		f.out = append(f.out, ir.ChannelOp{Kind: ir.ChMeet, Type: ir.NoChannel, Pos: f.o.Pos})
	}
	o := *f.o
	o.Kind, o.Type, o.Srcs, o.Dsts, o.Channels = kind, t, srcs, dsts, nil
	f.out = append(f.out, o)
}

// fold makes the operations that sum, and says whether that can be: the sum's place must be no source of any but the
// first.
func (f *sumFitter) fold() bool {
	srcs := f.o.Srcs
	so := srcs[0]
	srcs = srcs[1:]
	if f.maker.letter(&so) == 'p' || len(srcs) == 0 && so != f.sum { // nothing is added to packets, or at all
		f.add(ir.ChMove, ir.NoChannel, []ir.ChannelRef{so}, []ir.ChannelRef{f.sum})
		so = f.sum
	}
	for len(srcs) > 0 {
		letter, n := f.maker.letter(&srcs[0]), 1
		for n < min(len(srcs), ir.OpOperands-1) && f.maker.letter(&srcs[n]) == letter {
			n++
		}
		if len(f.out) > 0 && slices.ContainsFunc(srcs[:n], f.overlaps) {
			return false
		}
		dsts := []ir.ChannelRef{f.sum}
		if n == len(srcs) {
			dsts = append(dsts, f.taken(letter)...)
		}
		t := ir.NoChannel
		if letter == 'r' || len(dsts) > 1 && dsts[len(dsts)-1].Rank != f.sum.Rank {
			t = ir.MemoryChannel
		}
		f.add(ir.ChMove, t, append([]ir.ChannelRef{so}, srcs[:n]...), dsts)
		so, srcs = f.sum, srcs[n:]
	}
	return true
}

// overlaps reports whether a source has bytes of the sum.
func (f *sumFitter) overlaps(r ir.ChannelRef) bool {
	if r.Packets || r.Rank < 0 || r.Rank != f.sum.Rank {
		return r.Rank < 0
	}
	at := func(r *ir.ChannelRef) int { return f.cells.Cell(int(r.Rank), r.Buf, int(r.Index)) }
	gap := at(&r) - at(&f.sum)
	return max(gap, -gap) < int(r.Count)
}

// taken takes from the destinations those that the operation that reads sources of such a letter last can write too.
func (f *sumFitter) taken(letter byte) (dsts []ir.ChannelRef) {
	takes := func(want byte, most int) {
		f.left = slices.DeleteFunc(f.left, func(d ir.ChannelRef) bool {
			if f.maker.letter(&d) != want || len(dsts) >= most {
				return false
			}
			dsts = append(dsts, d)
			return true
		})
	}
	if letter == 'p' {
		takes('p', 1)
		takes('q', ir.OpOperands-1)
	} else {
		takes('r', ir.OpOperands-1)
	}
	return dsts
}

// copies hands the sum on to who has it not yet.
func (f *sumFitter) copies() {
	for len(f.left) > 0 {
		letter, n := f.maker.letter(&f.left[0]), 1
		most := 1
		if letter == 'r' || letter == 'q' {
			most = ir.OpOperands
		}
		for n < min(len(f.left), most) && f.maker.letter(&f.left[n]) == letter {
			n++
		}
		kind, t := ir.ChMove, ir.NoChannel
		switch letter {
		case 'r', 'q':
			kind, t = ir.ChEach, ir.MemoryChannel
		case 'm', 'n':
			t = ir.SwitchChannel
		}
		f.add(kind, t, slices.Repeat([]ir.ChannelRef{f.sum}, n), f.left[:n])
		f.left = f.left[n:]
	}
}
