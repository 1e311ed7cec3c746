package onesided

import (
	"slices"

	"mscclc/ir"
)

// A world is the state of a run of a oneSided. Memory is weak: what a block
// writes is seen by others only by way of flags, and of the end of a launch.
type world struct {
	*program
	v    *Verdict
	held int32 // a micro that is not to run while another can, or -1
	slow bool  // a Move waits for all it reads before it writes, and for the moves before it

	done   []bool // of a micro
	atoms  []atomState
	cells  []cellState
	slots  []slotState
	raised [][]clock // by flag: what each signal released
	at     []blockState
	called []int // by rank: the calls that are done
	way    transit
	filled [][]view // by rank: its cells' writes when each launch began, counted from its first cell in each tile
}

// A clock is what a signal releases: what is seen, and of which launch of each rank signals say that it began, counted
// from 1; and signals or packets, which allows to write what the caller did, but does not show it.
type clock struct {
	sees    view
	begun   []int32
	started []int32
}

// A view is, of each cell, how many of its writes are seen.
type view []int32

func (v view) join(w view) {
	for k, n := range w {
		v[k] = max(v[k], n)
	}
}

type slotState struct {
	value   cellValue
	started []int32 // what its sender knew
	pass    int32   // that was written last, or -1
	left    int32   // reads of it that are yet to come
}

type blockState struct {
	at       int       // its group
	left     int       // micros of that
	clock              // at the group's beginning; shared, and never changed
	wrote    []written // since
	acquired []clock   // since
	byThread []threadClock
}

// A threadClock is what a thread acquired in a group.
type threadClock struct {
	thread int32
	clock
}

// A written says which of a cell's writes a block has made.
type written struct{ cell, writes int32 }

func newWorld(x *program, v *Verdict) *world {
	w := &world{program: x, v: v, held: -1, done: make([]bool, len(x.micros)), atoms: make([]atomState, len(x.reads)),
		cells:  make([]cellState, (x.tiles+int(x.p.Depth))*x.mem.Len()),
		slots:  make([]slotState, int(x.p.Depth)*len(x.readers)),
		raised: make([][]clock, len(x.signals)), at: make([]blockState, len(x.p.Blocks)), called: make([]int, len(x.p.Rank)),
		filled: make([][]view, len(x.p.Rank)), way: newTransit(x.net.lanes)}
	for f := range w.raised {
		w.raised[f] = make([]clock, 0, x.raises[f])
	}
	for a, n := range x.reads {
		w.atoms[a] = atomState{reads: n}
	}
	for c := range w.cells {
		w.cells[c] = cellState{pass: -1, fresh: true}
	}
	for s := range w.slots {
		w.slots[s].pass = -1
	}
	none := make(view, len(w.cells))
	for b := range w.at {
		w.at[b] = blockState{clock: clock{none, make([]int32, len(x.p.Rank)), make([]int32, len(x.p.Rank))}}
		w.begin(int32(b))
	}
	return w
}

// begin lets block b begin the group that it is at, after groups of no steps.
func (w *world) begin(b int32) {
	s := &w.at[b]
	if s.at < len(w.blocks[b]) {
		s.left = len(w.blocks[b][s.at].micros)
	}
}

// ready reports whether micro i, of the group that its block is at, can run.
func (w *world) ready(i int32) bool {
	m := &w.micros[i]
	if w.done[i] || i == w.held {
		return false
	}
	if m.kind == call {
		return w.mayCall(int(m.block), int(m.launch))
	}
	if m.kind >= land {
		return w.mayArrive(i, m)
	}
	if w.slow && w.waits(m) || m.kind >= raise && w.busy(m) {
		return false
	}
	switch m.kind {
	case readPacket:
		return w.slots[m.place].pass >= m.pass
	case writePlain, writePacket:
		return w.atoms[m.atom].reads == 0
	case await:
		return len(w.raised[m.place]) >= int(m.needs)
	}
	return true
}

// waits reports whether m waits for others of its group where blocks are slow.
func (w *world) waits(m *micro) bool {
	for _, j := range w.blocks[m.block][m.group].micros {
		n := &w.micros[j]
		if !w.done[j] && (n.member < m.member || n.member == m.member && m.kind >= writePlain && n.kind < writePlain) {
			return true
		}
	}
	return false
}

// busy reports whether the thread that does m, at a flag, is yet to do what is before it in the group.
func (w *world) busy(m *micro) bool {
	for _, j := range w.blocks[m.block][m.group].micros {
		if n := &w.micros[j]; !w.done[j] && n.kind >= raise && n.member < m.member && n.thread == m.thread {
			return true
		}
	}
	return false
}

// mayCall reports whether a rank's launch before this one has ended.
func (w *world) mayCall(rank, launch int) bool {
	if w.called[rank] != launch {
		return false
	}
	for b := w.p.Rank[rank].First; b < w.p.Rank[rank].End; b++ {
		if s := &w.at[b]; !w.p.Loose(b) && s.at < len(w.blocks[b]) && w.blocks[b][s.at].launch < launch {
			return false
		}
	}
	return true
}

// current returns the micros that block b may run next, of those that are ready.
func (w *world) current(b int32) []int32 {
	s := &w.at[b]
	if s.at == len(w.blocks[b]) || w.blocks[b][s.at].launch >= w.called[w.p.Blocks[b].Rank] {
		return nil
	}
	return w.blocks[b][s.at].micros
}

// do runs micro i, which is ready.
func (w *world) do(i int32) {
	m := &w.micros[i]
	w.done[i] = true
	switch m.kind {
	case call:
		w.call(int(m.block), int(m.launch))
		return
	case land, ring:
		w.arrive(i, m)
		return
	case readPlain:
		w.read(m)
	case readPacket:
		s := &w.slots[m.place]
		s.left--
		w.gather(m, s.value)
		a, b := &w.atoms[m.atom], &w.at[m.block]
		a.started = append(a.started, s.started)
		b.acquired = append(b.acquired, clock{started: s.started})
	case writePlain:
		if !w.send(i, clock{}) {
			w.write(m)
		}
	case writePacket:
		s := &w.slots[m.place]
		if s.left > 0 {
			w.v.race(m.step, w.reader(m.place), "step %d writes packets that are yet to be read", m.step)
		}
		*s = slotState{w.result(m), w.started(m), m.pass, w.readers[int(m.place)%len(w.readers)]}
	case raise:
		t := w.at[m.block].clock
		if m.alone {
			for _, h := range w.at[m.block].byThread {
				if h.thread == m.thread {
					t = w.join(t, []clock{h.clock})
				}
			}
		}
		if w.p.Steps[m.step].Flags&ir.Relaxed != 0 {
			t.sees = nil
		}
		if !w.send(i, t) {
			w.raised[m.place] = append(w.raised[m.place], t)
		}
	case await:
		if m.needs > 0 {
			s, t := &w.at[m.block], w.raised[m.place][m.needs-1]
			if w.p.Steps[m.step].Flags&ir.Relaxed != 0 {
				t.sees = nil
			}
			s.acquired = append(s.acquired, t)
			if m.alone {
				s.byThread = append(s.byThread, threadClock{m.thread, t})
			}
		}
	}
	w.end(m.block)
}

// end counts a micro of block b that has run, and lets it begin its next group.
func (w *world) end(b int32) {
	s := &w.at[b]
	if s.left--; s.left == 0 {
		w.acquire(s)
		s.at++
		w.begin(b)
	}
}

// acquire ends a group: what it wrote and acquired is seen from now on, and what the caller wrote of a rank whose
// launch is known to have begun.
func (w *world) acquire(s *blockState) {
	if len(s.wrote)+len(s.acquired) == 0 {
		return
	}
	s.byThread = s.byThread[:0]
	s.clock = w.join(s.clock, s.acquired)
	for _, x := range s.wrote {
		s.sees[x.cell] = max(s.sees[x.cell], x.writes)
	}
	s.wrote, s.acquired = s.wrote[:0], s.acquired[:0]
}

// join returns what is known by t and by others.
func (w *world) join(t clock, others []clock) clock {
	t = clock{slices.Clone(t.sees), slices.Clone(t.begun), slices.Clone(t.started)}
	for _, o := range others {
		for k, n := range o.sees {
			t.sees[k] = max(t.sees[k], n)
		}
		for rank, launch := range o.begun {
			if launch > t.begun[rank] {
				t.begun[rank] = launch
				w.user(rank, func(cell, at int) { t.sees[cell] = max(t.sees[cell], w.filled[rank][launch-1][at]) })
			}
		}
		for rank, launch := range o.started {
			t.started[rank] = max(t.started[rank], launch)
		}
	}
	return t
}

// started is of which launches it is known that they began, where the chunk that m is of has been read: who reads
// packets knows what their senders knew.
func (w *world) started(m *micro) []int32 {
	all := slices.Clone(w.at[m.block].started)
	for _, list := range w.atoms[m.atom].started {
		for rank, launch := range list {
			all[rank] = max(all[rank], launch)
		}
	}
	return all
}

func (w *world) gather(m *micro, x cellValue) {
	a := &w.atoms[m.atom]
	a.reads--
	for int(m.at) >= len(a.read) {
		a.read = append(a.read, cellValue{known: true})
	}
	a.read[m.at] = a.read[m.at].plus(x)
}

// reader returns a step that reads a slot.
func (w *world) reader(slot int32) int32 {
	for i := range w.micros {
		if m := &w.micros[i]; m.kind == readPacket && m.place == slot {
			return m.step
		}
	}
	return -1
}
