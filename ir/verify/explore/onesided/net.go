package onesided

import (
	"slices"

	"mscclc/ir"
)

// This file is the network between nodes: what blocks write and signal there arrives later, at any time that the rules
// of package verify allow ("Several nodes").

// A network is what is fixed of it. A lane is a block and a rank of another node.
type network struct {
	lanes   int32
	arrives []int32           // the micros of kinds land and ring
	data    map[int32][]int32 // of a ring that carries data: the lands that come before it
	sends   map[int32]int32   // of a write or a raise: its land or ring
	clashes [][2]int32        // steps of one group that write one place
}

// A transit is what is under way in a world.
type transit struct {
	values   map[int32]cellValue // of a land
	sees     map[int32]view      // by land: what its block saw when it wrote
	releases map[int32]clock     // of a ring
	writes   map[int32]int32     // of a land that has arrived: the cell's writes then
	queue    [][]int32           // by lane: its rings, in their order
	carried  [][]written         // by lane: what has arrived before its last ring that carries data
}

func newTransit(lanes int32) transit {
	return transit{map[int32]cellValue{}, map[int32]view{}, map[int32]clock{}, map[int32]int32{}, make([][]int32, lanes),
		make([][]written, lanes)}
}

// connect adds an arrival for each write and each raise at another node.
func (x *program) connect(node []int32) {
	x.net = network{data: map[int32][]int32{}, sends: map[int32]int32{}}
	if node == nil {
		return
	}
	lanes, last := map[[2]int32]int32{}, map[[2]int32]int32{} // last land of a block in a cell
	for i := range int32(len(x.micros)) {
		m := x.micros[i]
		if m.kind != writePlain && m.kind != raise || node[m.rank] == node[x.p.Blocks[m.block].Rank] {
			continue
		}
		key := [2]int32{m.block, m.rank}
		if _, known := lanes[key]; !known {
			lanes[key] = int32(len(lanes))
		}
		at := int32(len(x.micros))
		x.net.sends[i] = at
		m.of, m.lane, m.after = i, lanes[key], -1
		if m.kind == raise {
			m.kind = ring
		} else {
			m.kind = land
			if before, any := last[[2]int32{m.block, m.place}]; any {
				if b := &x.micros[before]; b.group == m.group {
					x.net.clashes = append(x.net.clashes, [2]int32{b.step, m.step})
				}
				m.after = before
			}
			last[[2]int32{m.block, m.place}] = at
		}
		x.net.arrives = append(x.net.arrives, at)
		x.micros = append(x.micros, m)
	}
	x.net.lanes = int32(len(lanes))
	x.load()
}

// load finds what each ring carries.
func (x *program) load() {
	for _, i := range x.net.arrives {
		m := &x.micros[i]
		flags := x.p.Steps[m.step].Flags
		if m.kind != ring || flags&ir.Relaxed != 0 || flags&(ir.Enter|ir.Leave) != 0 && !x.p.OnePass {
			continue
		}
		for _, j := range x.net.arrives {
			if n := &x.micros[j]; n.kind == land && n.lane == m.lane && n.pass == m.pass && n.group < m.group {
				x.net.data[i] = append(x.net.data[i], j)
			}
		}
	}
}

// eachUnsent calls f for the steps that write at another node what no ring sends: none of a later group in each pass.
func (x *program) eachUnsent(f func(step int32)) {
	for _, i := range x.net.arrives {
		n := &x.micros[i]
		if n.kind == land && !slices.ContainsFunc(x.net.arrives, func(j int32) bool {
			m := &x.micros[j]
			each := x.p.OnePass || x.p.Steps[m.step].Flags&(ir.Enter|ir.Leave) == 0
			return m.kind == ring && m.lane == n.lane && m.pass == n.pass && m.group > n.group && each
		}) {
			f(n.step)
		}
	}
}

// send puts what micro i, a write or a raise, does at another node under way, and reports whether it does that.
func (w *world) send(i int32, releases clock) bool {
	at, sends := w.net.sends[i]
	if !sends {
		return false
	}
	m := &w.micros[i]
	if m.kind == raise {
		w.way.releases[at] = releases
		lane := w.micros[at].lane
		w.way.queue[lane] = append(w.way.queue[lane], at)
	} else {
		w.way.values[at], w.way.sees[at] = w.result(m), w.at[m.block].sees
	}
	return true
}

// mayArrive reports whether arrival m, micro i, may be next.
func (w *world) mayArrive(i int32, m *micro) bool {
	if !w.done[m.of] {
		return false
	}
	if m.kind == land {
		return m.after < 0 || w.done[m.after]
	}
	return w.way.queue[m.lane][0] == i &&
		!slices.ContainsFunc(w.net.data[i], func(j int32) bool { return !w.done[j] })
}

// arrive runs arrival m, micro i.
func (w *world) arrive(i int32, m *micro) {
	if m.kind == land {
		w.land(i, m)
		return
	}
	w.way.queue[m.lane] = w.way.queue[m.lane][1:]
	for _, j := range w.net.data[i] {
		w.way.carried[m.lane] = append(w.way.carried[m.lane], written{w.micros[j].place, w.way.writes[j]})
	}
	t := w.way.releases[i]
	if t.sees != nil {
		t.sees = slices.Clone(t.sees)
		for _, x := range w.way.carried[m.lane] {
			t.sees[x.cell] = max(t.sees[x.cell], x.writes)
		}
	}
	w.raised[m.place] = append(w.raised[m.place], t)
}

// land has a write arrive. Of what was written before, its block must have seen all but its own.
func (w *world) land(i int32, m *micro) {
	c := &w.cells[m.place]
	for _, step := range c.steps[w.way.sees[i][m.place]:] {
		if !w.ofBlock(step, m.block) {
			w.v.race(m.step, step, "what step %d writes arrives on what step %d wrote, and need not", m.step, step)
		}
	}
	*c = cellState{value: w.way.values[i], writes: c.writes + 1, steps: append(c.steps, m.step), pass: w.stamp(m)}
	w.way.writes[i] = c.writes
}

func (x *program) ofBlock(step, b int32) bool {
	return step >= x.p.Blocks[b].Steps.First && step < x.p.Blocks[b].Steps.End
}
