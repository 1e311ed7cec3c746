package explore

import "mscclc/ir"

// An access is one of an action to a cell.
type access struct {
	event int32
	write bool
}

// A monitor carries, for every action that ran, the sets of the actions that
// are visible to it and done before it, and judges each two accesses of one
// cell by different blocks by them:
//
//   - visible: what the action's own block did before, and what is visible to,
//     or is, the action that ends its wait, or whose message it takes where a
//     message orders memory;
//   - done: the same, with every message. Packets of one message arrive one by
//     one: a chunk that came releases what its sender had done before that
//     message, and of the same chunk in it; of the others only when all came.
//
// A read after a write and a write after a write need visible, a write after a
// read done.
type monitor struct {
	x             *program
	visible, done []set
	over          []set      // done, when the action is over
	local         []set      // by program order and flags alone: to find what messages are needed for
	cell          [][]access // by place: its accesses so far
	raced         map[[2]int32]bool
	acquires      bool // a message orders memory
	carried       bool // messages alone order two accesses
}

func newMonitor(x *program) *monitor {
	n := len(x.actions)
	return &monitor{x: x, visible: make([]set, n), done: make([]set, n), over: make([]set, n), local: make([]set, n),
		cell: make([][]access, x.cells()), raced: map[[2]int32]bool{}, acquires: x.Protocol == ir.Simple}
}

// enter notes that action e runs now, and returns the actions that ran before
// and conflict with it, and one that races with it, or -1.
func (m *monitor) enter(e int32) (conflicts set, race int32) {
	a := &m.x.actions[e]
	var visible, done, local set
	after := func(f int32, sees, message bool) {
		if !message {
			local.union(&m.local[f])
			local.add(f)
		}
		if !sees {
			done.union(&m.done[f])
			return
		}
		done.union(&m.over[f])
		done.add(f)
		visible.union(&m.visible[f])
		visible.add(f)
	}
	if e > m.x.first[a.block] {
		after(e-1, true, false)
	}
	for _, n := range a.needs {
		after(m.x.first[n.block]+n.pos-1, true, false)
	}
	if a.recv >= 0 {
		after(a.mate, m.acquires, true)
	}
	m.visible[e], m.done[e], m.over[e], m.local[e] = visible, done, done, local
	if a.recv >= 0 {
		m.over[e].union(&m.over[a.mate])
		m.over[e].add(a.mate)
	}
	race = -1
	m.x.each(a, func(place int32, write bool) {
		for _, f := range m.cell[place] {
			if m.x.actions[f.event].block == a.block || !f.write && !write {
				continue
			}
			conflicts.add(f.event)
			if ordered := f.write && visible.has(f.event) || !f.write &&
				(done.has(f.event) || m.x.carries(f.event, e)); !ordered {
				m.raced[[2]int32{min(e, f.event), max(e, f.event)}] = true
				race = f.event
			} else if !local.has(f.event) {
				m.carried = true
			}
		}
		m.cell[place] = append(m.cell[place], access{e, write})
	})
	return conflicts, race
}

// carries reports whether the message that f sends becomes, hop by hop, the one
// that e takes, and e writes each of its chunks where f read the same one.
func (x *program) carries(f, e int32) bool {
	if x.actions[e].dst != x.actions[f].src || !x.actions[f].op.ReadsSrc {
		return false
	}
	for e != f && x.actions[e].recv >= 0 {
		e = x.actions[e].mate
	}
	return e == f
}

// leave takes back the last enter.
func (m *monitor) leave(e int32) {
	m.x.each(&m.x.actions[e], func(place int32, _ bool) {
		m.cell[place] = m.cell[place][:len(m.cell[place])-1]
	})
}

// each calls f for every access of a.
func (x *program) each(a *action, f func(place int32, write bool)) {
	for i := range a.n {
		if a.op.ReadsSrc {
			f(x.place(a.src+i), false)
		}
		if a.op.ReadsDst {
			f(x.place(a.dst+i), false)
		}
		if a.op.Writes {
			f(x.place(a.dst+i), true)
		}
	}
}

// conflict reports whether two actions of different blocks touch one cell, and
// one of them writes it.
func (x *program) conflict(e, f int32) bool {
	a, b := &x.actions[e], &x.actions[f]
	if a.block == b.block || x.Blocks[a.block].Rank != x.Blocks[b.block].Rank {
		return false
	}
	overlap := func(p, q int32) bool {
		p, q = x.place(p), x.place(q)
		return p < q+b.n && q < p+a.n
	}
	reads := func(a *action) bool { return a.op.ReadsSrc }
	aDst, bDst := a.op.Writes, b.op.Writes // what reads dst writes it
	return aDst && bDst && overlap(a.dst, b.dst) || aDst && reads(b) && overlap(a.dst, b.src) || reads(a) && bDst &&
		overlap(a.src, b.dst)
}

// reversed returns the conflicting pairs of which both orders occurred: ahead,
// of an action, is what ran before it in some schedule.
func (x *program) reversed(ahead *[]set) map[[2]int32]bool {
	pairs := map[[2]int32]bool{}
	for e := range int32(len(x.actions)) {
		for f := range e {
			if (*ahead)[e].has(f) && (*ahead)[f].has(e) && x.conflict(e, f) {
				pairs[[2]int32{f, e}] = true
			}
		}
	}
	return pairs
}
