package core

import (
	"slices"

	"mscclc/ir"
)

// This file is what fuse knows of the Moves that it has gone through.

// A oneFuser goes through the Moves once.
type oneFuser struct {
	*State
	writer [][]int32 // of a cell in a view: 1 + the Move that wrote it last, so far
	reader [][]int32 // of a cell in a view: 1 + the last Move that read it, so far
	first  []int32   // of a cell: 1 + the last Move whose first source begins there, so far
	uses   []int32   // of a Move: how many read what it writes
	kept   []bool    // of a Move: some of it is in an output at the end
	last   []int32   // of a Move: 1 + the last that was counted among its uses

	changed bool
}

// begin counts who reads what each Move writes, before f goes through the Moves once more.
func (f *oneFuser) begin() {
	for _, list := range slices.Concat(f.writer, f.reader, [][]int32{f.first, f.uses, f.last}) {
		clear(list)
	}
	clear(f.kept)
	f.changed = false
	for i := range f.moves {
		f.countUses(int32(i))
	}
	for r := range int(f.n) {
		for k := range f.c.Coll.OutChunks(r) {
			if w := f.writer[0][f.mem.Cell(r, ir.Output, k)]; w > 0 {
				f.kept[w-1] = true
			}
		}
	}
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

// wrote says whether f holds, in every view, of 1 + the Moves that wrote count chunks from x on last, or of 0.
func (f *oneFuser) wrote(x spot, count int32, holds func(w int32) bool) bool {
	for v := range f.views {
		if !f.views[v].all(x, count, func(c int32) bool { return holds(f.writer[v][c]) }) {
			return false
		}
	}
	return true
}

// meet says whether count chunks from a and from b on overlap in part, in any view.
func (f *oneFuser) meet(a, b spot, count int32) bool {
	return slices.ContainsFunc(f.views, func(v layout) bool { return v.crosses(a, b, count) })
}

func (f *oneFuser) write(i int32) {
	m := &f.moves[i]
	for _, d := range m.dsts {
		f.writes(i, m.srcs, d)
	}
}

// writes notes that Move i writes d, of what srcs hold.
func (f *oneFuser) writes(i int32, srcs []spot, d spot) {
	for v := range f.views {
		if !f.keeps(v, srcs, d) {
			f.views[v].fill(f.writer[v], d, f.moves[i].count, i+1)
		}
	}
}
