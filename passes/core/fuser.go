package core

import "slices"

// This file has the tables in which fuse keeps what it knows of the Moves so far.

// A oneFuser goes through the Moves once.
type oneFuser struct {
	*State
	in     []pieces  // by view
	writer [][]int32 // by view and piece: 1 + the last Move so far that wrote it
	reader [][]int32 // by view and piece: 1 + the last Move so far that read it
	first  []int32   // by piece: 1 + the last Move so far whose first source begins there
	uses   []int32   // by Move: how many Moves read what it writes
	kept   []bool    // by Move: some of what it writes is in an output at the end
	last   []int32   // by Move: 1 + the last Move that was counted in uses

	changed bool
}

// begin counts how many Moves read what each Move writes, before f goes through the Moves once more.
func (f *oneFuser) begin() {
	for _, list := range slices.Concat(f.writer, f.reader, [][]int32{f.first, f.uses, f.last}) {
		clear(list)
	}
	clear(f.kept)
	f.changed = false
	for i := range f.moves {
		f.countUses(int32(i))
	}
	f.in[0].output(f.c.Coll, func(first, end int32) {
		for _, w := range f.writer[0][first:end] {
			if w > 0 {
				f.kept[w-1] = true
			}
		}
	})
	for _, list := range f.writer {
		clear(list)
	}
}

func (f *oneFuser) countUses(i int32) {
	m := &f.moves[i]
	for _, s := range m.srcs {
		f.wrote(s, m.count, func(w int32) bool {
			if w > 0 && f.last[w-1] != i+1 {
				f.last[w-1] = i + 1
				f.uses[w-1]++
			}
			return true
		})
	}
	f.write(i)
}

// wrote reports whether f holds, in every view, for 1 + the last Move that wrote each piece of count chunks from x on.
// It is 0 for a piece that no Move wrote.
func (f *oneFuser) wrote(x spot, count int32, holds func(w int32) bool) bool {
	for v := range f.in {
		if !f.in[v].all(x, count, func(k int32) bool { return holds(f.writer[v][k]) }) {
			return false
		}
	}
	return true
}

// meet reports whether count chunks from a on and count chunks from b on overlap in part, in any view.
func (f *oneFuser) meet(a, b spot, count int32) bool {
	return slices.ContainsFunc(f.views, func(v layout) bool { return v.crosses(a, b, count) })
}

func (f *oneFuser) write(i int32) {
	m := &f.moves[i]
	for _, d := range m.dsts {
		f.writes(i, m.srcs, d)
	}
}

// writes records that Move i writes d, of what srcs hold.
func (f *oneFuser) writes(i int32, srcs []spot, d spot) {
	for v := range f.views {
		if !f.keeps(v, srcs, d) {
			f.in[v].fill(f.writer[v], d, f.moves[i].count, i+1)
		}
	}
}
