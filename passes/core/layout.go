package core

import (
	"iter"
	"math/bits"

	"mscclc/ir"
)

// A layout numbers the cells of memory of a program that is called in place, or out of place: the cells of input and
// output first, then the slots of scratch and packets.
type layout struct {
	n     int32      // ranks
	mem   *ir.Memory // cells of input and output
	input int32      // how many cells input and output have
}

// newLayout returns the layout of c with the placement that c is written for.
func newLayout(c *ir.Collective) layout {
	mem := ir.NewMemory(c, nil)
	return layout{n: int32(c.Ranks), mem: mem, input: int32(mem.Len())}
}

// merged returns the layout whose conflicts are those of all placements. No program writes input that is not output
// too, so that accesses which conflict out of place also conflict in place.
func (l *State) merged() *layout { return &l.views[len(l.views)-1] }

// same reports whether a and b are one cell in l.
func (l *layout) same(a, b spot) bool {
	return a.rank == b.rank && a.rank != ir.AllRanks && l.cell(a, a.rank) == l.cell(b, b.rank)
}

// keeps reports whether a Move that reads srcs and writes d changes nothing in view v, but is a copy in the placement
// that c is written for. It need not be ordered with Moves that read d as input then.
func (l *State) keeps(v int, srcs []spot, d spot) bool {
	return v > 0 && len(srcs) == 1 && l.views[v].same(srcs[0], d)
}

// cell returns the cell at which x begins on rank, which is x's rank, or any if x is of all ranks. A slot is of scratch
// or of packets, never of both, so that it is one cell.
func (l *layout) cell(x spot, rank int32) int32 {
	if !x.user() {
		return l.input + x.index
	}
	return int32(l.mem.Cell(int(rank), x.buf, int(x.index)))
}

// each calls f with the cells, from first to end, of count chunks from x on, for one rank after the other.
func (l *layout) each(x spot, count int32, f func(first, end int32)) {
	if x.rank != ir.AllRanks {
		at := l.cell(x, x.rank)
		f(at, at+count)
		return
	}
	for r := range l.n {
		at := l.cell(x, r)
		f(at, at+count)
	}
}

// output calls f with the cells, from first to end, of each rank's output, of which c has any.
func (l *layout) output(c *ir.Collective, f func(first, end int32)) {
	for r := range l.n {
		if n := int32(c.OutChunks(int(r))); n > 0 {
			l.each(spot{rank: r, buf: ir.Output}, n, f)
		}
	}
}

// fill sets the cells of count chunks from x on in list.
func (l *layout) fill(list []int32, x spot, count, value int32) {
	l.each(x, count, func(first, end int32) {
		for c := first; c < end; c++ {
			list[c] = value
		}
	})
}

// crosses reports whether count chunks from a on and count chunks from b on overlap in part.
func (l *layout) crosses(a, b spot, count int32) bool {
	if a.buf == ir.Packets || b.buf == ir.Packets || a.rank == ir.AllRanks || b.rank == ir.AllRanks {
		return a.rank == ir.AllRanks && b.user() && !l.clear(a, b, count) || b.rank == ir.AllRanks && a.user() &&
			!l.clear(b, a, count)
	}
	if a.rank != b.rank {
		return false
	}
	gap := l.cell(a, a.rank) - l.cell(b, b.rank)
	return gap != 0 && max(gap, -gap) < count
}

// clear reports whether a, which is of all ranks, and b begin at one cell or do not overlap.
func (l *layout) clear(a, b spot, count int32) bool {
	first, end := b.rank, b.rank+1
	if b.rank == ir.AllRanks {
		first, end = 0, l.n
	}
	for r := first; r < end; r++ {
		if gap := l.cell(a, r) - l.cell(b, r); gap != 0 && max(gap, -gap) < count {
			return false
		}
	}
	return true
}

// Pieces are runs of neighbouring cells, each of which every operand of a program covers as a whole or not at all. So a
// pass keeps what it knows of memory by piece. A program that moves thousands of chunks at a time has few pieces.
type pieces struct {
	*layout
	end    int32    // how many cells there are
	starts []uint64 // by cell, a bit: a piece begins there
	before []int32  // by word of starts: how many pieces begin in the words before it
}

// piecesOf returns the pieces of each view by operands, each with its number of chunks. Outputs of ranks are cut too.
func (l *State) piecesOf(operands iter.Seq2[spot, int32]) []pieces {
	list := make([]pieces, len(l.views))
	for v := range list {
		p := &list[v]
		p.layout, p.end, p.starts = &l.views[v], l.cells(), make([]uint64, l.cells()/64+1)
		cut := func(first, end int32) {
			p.starts[first>>6] |= 1 << (first & 63)
			p.starts[end>>6] |= 1 << (end & 63)
		}
		cut(0, p.end)
		for x, count := range operands {
			p.layout.each(x, count, cut)
		}
		p.layout.output(l.c.Coll, cut)
		p.before = make([]int32, len(p.starts))
		for w := 1; w < len(p.starts); w++ {
			p.before[w] = p.before[w-1] + int32(bits.OnesCount64(p.starts[w-1]))
		}
	}
	return list
}

// operands yields the operands of the Moves.
func (l *State) operands(yield func(x spot, count int32) bool) {
	for i := range l.moves {
		m := &l.moves[i]
		for _, list := range [2][]spot{m.srcs, m.dsts} {
			for _, x := range list {
				if !yield(x, m.count) {
					return
				}
			}
		}
	}
}

// count returns how many pieces there are.
func (p *pieces) count() int32 { return p.at(p.end) }

// at returns the piece that begins at a cell, or the number of pieces after the last cell.
func (p *pieces) at(cell int32) int32 {
	return p.before[cell>>6] + int32(bits.OnesCount64(p.starts[cell>>6]&(1<<(cell&63)-1)))
}

// first returns the piece at which x begins on rank, as cell does.
func (p *pieces) first(x spot, rank int32) int32 { return p.at(p.cell(x, rank)) }

// each calls f with the pieces, from first to end, of count chunks from x on, for one rank after the other.
func (p *pieces) each(x spot, count int32, f func(first, end int32)) {
	p.layout.each(x, count, func(first, end int32) { f(p.at(first), p.at(end)) })
}

// all reports whether f holds for every piece of count chunks from x on.
func (p *pieces) all(x spot, count int32, f func(piece int32) bool) bool {
	ok := true
	p.each(x, count, func(first, end int32) {
		for k := first; ok && k < end; k++ {
			ok = f(k)
		}
	})
	return ok
}

// fill sets the pieces of count chunks from x on in list.
func (p *pieces) fill(list []int32, x spot, count, value int32) {
	p.each(x, count, func(first, end int32) {
		for k := first; k < end; k++ {
			list[k] = value
		}
	})
}

// output calls f with the pieces, from first to end, of each rank's output.
func (p *pieces) output(c *ir.Collective, f func(first, end int32)) {
	p.layout.output(c, func(first, end int32) { f(p.at(first), p.at(end)) })
}
