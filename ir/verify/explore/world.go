package explore

// A world is the state of a program that runs: where every block stands, what
// is on its way, and what the cells hold. Actions can be undone, last first.
type world struct {
	*program
	slots      int
	pos        []int32 // by block: actions done
	sent, took []int32 // by connection: messages
	cell       []value
	message    [][]value // of an action that sends: what it sent
	trace      []int32   // actions done
	schedule   []int32   // their blocks
	log        []value   // what was overwritten
	result     []value   // of the action that runs
}

// unbounded is a number of slots that nothing fills.
const unbounded = never

func newWorld(x *program, slots int) *world {
	w := &world{program: x, slots: slots, pos: make([]int32, len(x.Blocks)), sent: make([]int32, x.conns),
		took: make([]int32, x.conns)}
	w.cell = append(w.cell, x.start...)
	w.message = make([][]value, len(x.actions))
	total := int32(0)
	for e := range x.actions {
		if x.actions[e].send >= 0 {
			total += x.actions[e].n
		}
	}
	slab := make([]value, total)
	for e := range x.actions {
		if a := &x.actions[e]; a.send >= 0 {
			w.message[e], slab = slab[:a.n], slab[a.n:]
		}
	}
	return w
}

// next returns the action that block b would do, or -1 at its end.
func (w *world) next(b int32) int32 {
	if e := w.first[b] + w.pos[b]; e < w.first[b+1] {
		return e
	}
	return -1
}

// ready reports whether block b can move.
func (w *world) ready(b int32) bool {
	e := w.next(b)
	if e < 0 {
		return false
	}
	a := &w.actions[e]
	for _, n := range a.needs {
		if w.pos[n.block] < n.pos {
			return false
		}
	}
	if a.recv >= 0 && w.sent[a.recv] == w.took[a.recv] {
		return false
	}
	return a.send < 0 || int(w.sent[a.send]-w.took[a.send]) < w.slots
}

// advance moves the positions only.
func (w *world) advance(b int32) {
	a := &w.actions[w.next(b)]
	w.pos[b]++
	if a.recv >= 0 {
		w.took[a.recv]++
	}
	if a.send >= 0 {
		w.sent[a.send]++
	}
}

// do runs the next action of block b, and returns what is wrong with it as the
// kind of the fault, or NumKinds. After a Mismatch nothing is defined.
func (w *world) do(b int32) (e int32, wrong Kind) {
	e = w.next(b)
	a := &w.actions[e]
	w.advance(b)
	w.trace, w.schedule = append(w.trace, e), append(w.schedule, b)
	wrong = NumKinds
	var in []value
	if a.recv >= 0 {
		in = w.message[a.mate]
		if m := &w.actions[a.mate]; m.group != a.group || w.Steps[m.step].Count != w.Steps[a.step].Count {
			return e, Mismatch
		}
	}
	w.result = w.result[:0]
	for i := range a.n {
		var r value
		if a.recv >= 0 {
			r = in[i]
		}
		unwritten := false
		if a.op.ReadsSrc {
			s := w.cell[a.src+i]
			unwritten = s == nothing
			if r = s; a.recv >= 0 {
				r = w.values.sum(s, in[i])
			}
		}
		if a.op.ReadsDst {
			d := w.cell[a.dst+i]
			unwritten = unwritten || d == nothing
			r = w.values.sum(d, r)
		}
		if unwritten {
			wrong = Uninitialized
		}
		if r == nothing {
			r = spoiled
		}
		w.result = append(w.result, r)
	}
	if a.send >= 0 {
		copy(w.message[e], w.result)
	}
	if a.op.Writes {
		cells := w.cell[a.dst : a.dst+a.n]
		w.log = append(w.log, cells...)
		copy(cells, w.result)
	}
	return e, wrong
}

// undo takes back the last action, which do did without a Mismatch.
func (w *world) undo() {
	e := w.trace[len(w.trace)-1]
	a := &w.actions[e]
	w.trace, w.schedule = w.trace[:len(w.trace)-1], w.schedule[:len(w.schedule)-1]
	w.pos[a.block]--
	if a.recv >= 0 {
		w.took[a.recv]--
	}
	if a.send >= 0 {
		w.sent[a.send]--
	}
	if a.op.Writes {
		old := w.log[len(w.log)-int(a.n):]
		copy(w.cell[a.dst:], old)
		w.log = w.log[:len(w.log)-int(a.n)]
	}
}

// end judges a state in which no block can move.
func (w *world) end(v *Verdict) {
	if b := w.stuck(); b >= 0 {
		v.found(Deadlock, w.schedule, "%s can never run, however many slots there are", w.name(w.next(b)))
		return
	}
	for c := range w.conns {
		if w.sent[c] != w.took[c] {
			v.found(Leftover, w.schedule, "connection %d holds a message at the end", c)
		}
	}
	for k := range w.opt.Tiles * w.opt.Launches {
		for _, o := range w.want {
			if got := w.cell[k*w.mem.Len()+int(o.cell)]; got != o.want {
				v.found(WrongResult, w.schedule, "cell %d holds %v, and should hold %v", o.cell, w.values.lists[got],
					w.values.lists[o.want])
				v.cells[o.cell] = true
			}
		}
	}
}

// stuck returns a block that has not ended, or -1.
func (w *world) stuck() int32 {
	for b := range w.pos {
		if w.next(int32(b)) >= 0 {
			return int32(b)
		}
	}
	return -1
}

// bounded runs one schedule with a number of slots, and reports where it ends
// early. One decides: a block waits for one thing at a time, and nothing takes
// away what it waits for. (Plain does not rely on this.)
func (x *program) bounded(v *Verdict, slots int) {
	w := newWorld(x, slots)
	for moved := true; moved; {
		moved = false
		for b := range int32(len(w.pos)) {
			for w.ready(b) {
				w.advance(b)
				w.schedule = append(w.schedule, b)
				moved = true
			}
		}
	}
	v.pos = w.pos
	if b := w.stuck(); b >= 0 {
		v.found(Deadlock, w.schedule, "%s never runs with %d slots", w.name(w.next(b)), slots)
	}
}
