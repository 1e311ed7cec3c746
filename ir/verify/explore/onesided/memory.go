package onesided

import "mscclc/ir"

// This file is the memory of a oneWorld: what its blocks read and write there, and what the caller of a rank leaves and
// expects.

// user calls f for the cells of a rank's input and output, in each tile, and with their number among them.
func (w *world) user(rank int, f func(cell, at int)) {
	first, _ := w.mem.Rank(rank)
	end, at := w.mem.Cell(rank, ir.Scratch, 0), 0
	for tile := range w.tiles {
		for cell := tile*w.mem.Len() + first; cell < tile*w.mem.Len()+end; cell++ {
			f(cell, at)
			at++
		}
	}
}

type cellState struct {
	value  cellValue
	writes int32
	steps  []int32 // that wrote, in turn; -1 is the caller
	pass   int32   // of that; of user memory, the launch
	fresh  bool    // the caller left something else there
}

// isUser reports whether a cell is of input or output.
func (x *program) isUser(cell int32) bool { return int(cell) < x.tiles*x.mem.Len() }

// stamp returns what a cell that m may read must have been written in.
func (x *program) stamp(m *micro) int32 {
	if x.isUser(m.place) {
		return m.launch
	}
	return m.pass
}

func (w *world) read(m *micro) {
	c := &w.cells[m.place]
	switch {
	case !w.seen(m, c, "reads"):
	case w.isUser(m.place) && c.pass != m.launch:
		w.v.race(m.step, -1, "step %d reads user memory in another launch", m.step)
	case c.pass != w.stamp(m) || c.fresh:
		w.v.nothing(m.step)
		w.gather(m, cellValue{})
		return
	}
	w.gather(m, c.value)
}

// seen reports whether all writes of a cell are seen where m does something to it.
func (w *world) seen(m *micro, c *cellState, does string) bool {
	n := w.at[m.block].sees[m.place]
	for _, step := range c.steps[n:] {
		w.v.race(m.step, step, "step %d %s what step %d wrote, and need not see it", m.step, does, step)
	}
	return n == c.writes
}

func (w *world) write(m *micro) {
	c := &w.cells[m.place]
	s := &w.at[m.block]
	if !w.overwrites(m, c) && w.seen(m, c, "writes") && w.isUser(m.place) && c.pass != m.launch {
		w.v.race(m.step, -1, "step %d writes user memory in another launch", m.step)
	}
	*c = cellState{value: w.result(m), writes: c.writes + 1, steps: append(c.steps, m.step), pass: w.stamp(m)}
	s.wrote = append(s.wrote, written{m.place, c.writes})
}

// overwrites reports whether m writes what the caller of a launch left, which is known to have begun, though that need
// not be seen: all that was written there before is over then.
func (w *world) overwrites(m *micro, c *cellState) bool {
	last := len(c.steps) - 1
	if int(w.at[m.block].sees[m.place]) > last || c.steps[last] != -1 || c.pass != m.launch {
		return false
	}
	return w.started(m)[w.rankOf(m.place)] > c.pass
}

// rankOf returns the rank whose cell it is.
func (w *world) rankOf(cell int32) int {
	for rank := range w.p.Rank {
		if _, end := w.mem.Rank(rank); int(cell)%w.mem.Len() < end {
			return rank
		}
	}
	panic("no rank has the cell")
}

// call looks at what the launch before left in a rank's outputs, and fills its
// memory anew, for a launch.
func (w *world) call(rank, launch int) {
	w.called[rank]++
	sees := make(view, len(w.cells))
	own := func(f func(b *blockState)) {
		for b := w.p.Rank[rank].First; b < w.p.Rank[rank].End; b++ {
			if !w.p.Loose(b) {
				f(&w.at[b])
			}
		}
	}
	own(func(b *blockState) { sees.join(b.sees) })
	w.user(rank, func(cell, at int) {
		if n := len(w.filled[rank]); n > 0 { // what the caller itself left there, if no block acquired that
			sees[cell] = max(sees[cell], w.filled[rank][n-1][at])
		}
		for _, step := range w.cells[cell].steps[sees[cell]:] {
			w.v.race(step, -1, "step %d writes user memory, and the end of the launch need not see it", step)
		}
	})
	for tile := range w.tiles {
		if launch > 0 && tile < w.plan[launch-1] {
			w.judge(rank, launch-1, tile)
		}
	}
	var filled view
	w.user(rank, func(cell, _ int) {
		c := &w.cells[cell]
		*c = cellState{writes: c.writes + 1, steps: append(c.steps, -1), pass: int32(launch), fresh: true}
		sees[cell] = c.writes
		filled = append(filled, c.writes)
	})
	w.filled[rank] = append(w.filled[rank], filled)
	for tile := range w.tiles {
		for k := range w.p.Coll.InChunks(rank) {
			c := &w.cells[tile*w.mem.Len()+w.mem.Cell(rank, ir.Input, k)]
			c.value, c.fresh = cellValue{leaf(launch, tile, rank, k), true}, false
		}
	}
	begun, started := make([]int32, len(w.p.Rank)), make([]int32, len(w.p.Rank))
	own(func(b *blockState) {
		for r := range begun {
			begun[r], started[r] = max(begun[r], b.begun[r]), max(started[r], b.started[r])
		}
	})
	begun[rank], started[rank] = int32(launch+1), int32(launch+1)
	own(func(b *blockState) { b.clock = clock{sees, begun, started} })
}

// leaf returns the hash of a chunk of input of a tile of a launch.
func leaf(launch, tile, rank, index int) uint64 {
	h := uint64(1)
	for _, n := range []int{launch, tile, rank, index} {
		h = (h ^ uint64(n+1)) * 0x9e3779b97f4a7c15
		h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
		h ^= h >> 32
	}
	return h
}

// judge compares a tile of a rank's output with what it should hold.
func (w *world) judge(rank, launch, tile int) {
	for k := range w.p.Coll.OutChunks(rank) {
		want := w.p.Coll.Want(rank, k)
		if want.Any {
			continue
		}
		parts := want.List
		if want.Sum {
			for r := range w.p.Coll.Ranks {
				parts = append(parts, ir.Part{Rank: int32(r), Index: want.Part.Index})
			}
		} else if parts == nil {
			parts = []ir.Part{want.Part}
		}
		sum := uint64(0)
		for _, p := range parts {
			sum += leaf(launch, tile, int(p.Rank), int(p.Index))
		}
		if len(w.p.Then) > 0 {
			sum = finished(sum)
		}
		c := &w.cells[tile*w.mem.Len()+w.mem.Cell(rank, ir.Output, k)]
		if c.fresh || !c.value.known || c.value.sum != sum {
			w.v.wrong(rank, k)
		}
	}
}
