package core

import (
	"slices"

	"mscclc/ir"
)

// mostSources bounds the sources of a fold, so that long chains stay linear.
const mostSources = 256

// fuse makes one Move of several that pass on the same data, and removes what nobody reads any more, until nothing
// changes. The order of the list stays legal.
func fuse(l *State) (int, error) {
	before := len(l.moves)
	f := &oneFuser{State: l, in: l.piecesOf(l.operands), uses: make([]int32, len(l.moves)),
		kept: make([]bool, len(l.moves)), last: make([]int32, len(l.moves))}
	for v := range f.in {
		n := f.in[v].count()
		f.writer, f.reader = append(f.writer, make([]int32, n)), append(f.reader, make([]int32, n))
	}
	f.first = make([]int32, f.in[0].count())
	for range 8 {
		f.begin()
		for i := range l.moves {
			f.visit(int32(i))
		}
		if !f.changed {
			break
		}
		l.dropDead(f.in)
	}
	l.sweep()
	return before - len(l.moves), nil
}

// visit fuses Move i with earlier ones, and records what is left of it.
func (f *oneFuser) visit(i int32) {
	m := &f.moves[i]
	if len(m.dsts) == 0 || f.hoist(i) {
		return
	}
	for k := 0; k < len(m.srcs); {
		if n := f.take(i, k); n > 0 {
			k += n // these were looked at in their own Move; the next round looks at them here
		} else if !f.forward(i, k) {
			k++
		}
	}
	for _, s := range m.srcs {
		for v := range f.in {
			f.in[v].fill(f.reader[v], s, m.count, i+1)
		}
	}
	f.write(i)
	if !f.ported(m) {
		f.first[f.start(m)] = i + 1
	}
}

// start returns the piece at which m's first source begins.
func (f *oneFuser) start(m *oneMove) int32 { return f.in[0].first(m.srcs[0], max(m.srcs[0].rank, 0)) }

// ported reports whether a port moves m, which then has one source and one destination.
func (f *oneFuser) ported(m *oneMove) bool {
	return len(m.srcs) == 1 && len(m.dsts) == 1 && (m.srcs[0].via == ir.ViaPort || m.dsts[0].via == ir.ViaPort)
}

// hoist has an earlier Move of the same rank write i's destinations. The earlier Move has the same sources as i, or it
// makes what i copies. Nothing that i's destinations must wait for may come after it.
func (f *oneFuser) hoist(i int32) bool {
	m := &f.moves[i]
	if f.ported(m) {
		return false
	}
	if x := f.made(i, m.srcs[0]); x >= 0 && len(m.srcs) == 1 && !f.mixed(x, i) && f.free(x, m) {
		f.uses[x]--
		f.join(x, i)
		return true
	}
	x := f.first[f.start(m)] - 1
	if x < 0 {
		return false
	}
	o := &f.moves[x]
	if len(o.dsts) == 0 || o.rank != m.rank || o.count != m.count || !slices.Equal(o.srcs, m.srcs) || f.mixed(x, i) ||
		!f.free(x, m) {
		return false
	}
	for _, s := range m.srcs {
		if !f.wrote(s, m.count, func(w int32) bool { return w <= x }) {
			return false
		}
	}
	f.join(x, i)
	return true
}

// made returns the Move of i's rank that wrote src, a source of i, as one of its destinations, or -1.
func (f *oneFuser) made(i int32, src spot) int32 {
	m := &f.moves[i]
	if src.rank != m.rank {
		return -1
	}
	w := f.writer[0][f.in[0].first(src, src.rank)]
	if w == 0 {
		return -1
	}
	x := &f.moves[w-1]
	if x.rank != m.rank || x.count != m.count || len(x.dsts) == 0 || f.ported(x) ||
		!f.in[0].all(src, m.count, func(k int32) bool { return f.writer[0][k] == w }) {
		return -1
	}
	if !slices.ContainsFunc(x.dsts, func(d spot) bool { return f.same(d, src) }) {
		return -1
	}
	return w - 1
}

// free reports whether Move x could write m's destinations: nobody reads or writes them between x and m, and x reads
// none of them in part.
func (f *oneFuser) free(x int32, m *oneMove) bool {
	o := &f.moves[x]
	for _, d := range m.dsts {
		if slices.ContainsFunc(o.srcs, func(s spot) bool { return f.meet(s, d, m.count) }) {
			return false
		}
		for v := range f.views {
			if !f.keeps(v, o.srcs, d) && !f.freeIn(v, x, d, m.count) {
				return false
			}
		}
	}
	return true
}

// freeIn is free for one destination, in one view.
func (f *oneFuser) freeIn(v int, x int32, d spot, count int32) bool {
	in, writer, reader := &f.in[v], f.writer[v], f.reader[v]
	own := slices.ContainsFunc(f.moves[x].srcs, func(s spot) bool {
		return s.rank == d.rank && in.cell(s, max(s.rank, 0)) == in.cell(d, max(d.rank, 0))
	})
	return in.all(d, count, func(k int32) bool {
		return (writer[k] <= x || writer[k] == x+1 && f.covered(x, d)) && (reader[k] <= x || own && reader[k] == x+1)
	})
}

// covered reports whether d, which is of all ranks, writes all that a destination of Move x writes. That destination is
// then not needed.
func (f *oneFuser) covered(x int32, d spot) bool {
	if d.rank != ir.AllRanks {
		return false
	}
	return slices.ContainsFunc(f.moves[x].dsts, func(o spot) bool {
		return o.rank != ir.AllRanks && o.user() && f.cell(o, o.rank) == f.cell(d, o.rank)
	})
}

// join gives i's destinations to Move x.
func (f *oneFuser) join(x, i int32) {
	o, m := &f.moves[x], &f.moves[i]
	for _, d := range m.dsts {
		if d.rank == ir.AllRanks {
			o.dsts = slices.DeleteFunc(o.dsts, func(e spot) bool {
				return e.rank != ir.AllRanks && e.user() &&
					f.cell(e, e.rank) == f.cell(d, e.rank)
			})
		}
		o.dsts = append(o.dsts, d)
		f.writes(x, o.srcs, d)
	}
	o.pos = min(o.pos, m.pos)
	f.uses[x] += f.uses[i]
	f.kept[x] = f.kept[x] || f.kept[i]
	m.srcs, m.dsts = nil, nil
	f.changed = true
}

// take replaces source k of Move i by the sources of the Move that made it. Nobody else may read the value between, and
// these sources must still be unchanged. A sum may be taken apart only where folding from left to right gives the same.
// take returns how many sources come in place of k, which then begin at k or at 0.
func (f *oneFuser) take(i int32, k int) int {
	m := &f.moves[i]
	src := m.srcs[k]
	x := f.made(i, src)
	if x < 0 || f.uses[x] != 1 || f.kept[x] || len(f.moves[x].dsts) != 1 || f.ported(m) {
		return 0
	}
	o := &f.moves[x]
	if len(o.srcs) > 1 && k > 0 && (k > 1 || len(m.srcs) > 2) || len(o.srcs)+len(m.srcs) > mostSources {
		return 0
	}
	for j, s := range m.srcs {
		if j != k && !s.beside(src, m.count) && !f.wrote(s, m.count, func(w int32) bool { return w != x+1 }) {
			return 0
		}
	}
	for _, s := range o.srcs {
		if !f.wrote(s, m.count, func(w int32) bool { return w <= x+1 }) ||
			slices.ContainsFunc(m.dsts, func(d spot) bool { return f.meet(s, d, m.count) }) {
			return 0
		}
	}
	if len(o.srcs) > 1 && k == 1 {
		m.srcs[0], m.srcs[1] = m.srcs[1], m.srcs[0]
		k = 0
	}
	n := len(o.srcs)
	if k == 0 {
		m.srcs = append(o.srcs, m.srcs[1:]...)
	} else {
		m.srcs = slices.Concat(m.srcs[:k], o.srcs, m.srcs[k+1:])
	}
	o.srcs, o.dsts = nil, nil
	f.changed = true
	return n
}

// forward replaces source k of Move i, which is in scratch, by the chunks of i's rank that were copied there, if these
// are unchanged.
func (f *oneFuser) forward(i int32, k int) bool {
	m := &f.moves[i]
	if m.srcs[k].buf != ir.Scratch {
		return false
	}
	x := f.made(i, m.srcs[k])
	if x < 0 || f.ported(m) || len(f.moves[x].srcs) > 1 {
		return false
	}
	src := f.moves[x].srcs[0]
	if src.rank != m.rank || src.buf == ir.Packets ||
		!f.wrote(src, m.count, func(w int32) bool { return w <= x }) ||
		slices.ContainsFunc(m.dsts, func(d spot) bool { return f.meet(src, d, m.count) }) {
		return false
	}
	m.srcs[k] = src
	if !slices.ContainsFunc(m.srcs,
		func(s spot) bool { return !f.wrote(s, m.count, func(w int32) bool { return w != x+1 }) }) {
		f.uses[x]--
	}
	f.changed = true
	return true
}
