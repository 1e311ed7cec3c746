package core

import "mscclc/ir"

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

// all reports whether f holds for every cell of count chunks from x on.
func (l *layout) all(x spot, count int32, f func(cell int32) bool) bool {
	ok := true
	l.each(x, count, func(first, end int32) {
		for c := first; ok && c < end; c++ {
			ok = f(c)
		}
	})
	return ok
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
