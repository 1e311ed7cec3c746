package explore

import "math/bits"

// A reducer runs one schedule of each class of schedules that differ in the
// order of actions that do not depend on each other: source-set dynamic
// partial-order reduction (Abdulla, Aronis, Jonsson, Sagonas, POPL 2014).
// Actions depend on each other where one conflicts with or enables the other.
type reducer struct {
	*world
	v       *Verdict
	monitor *monitor
	moves   int
	cut     bool // too many moves, or nothing further is defined

	todo    []blockSet // of each point of the trace: blocks to move there
	before  []set      // of an action that ran: all that it depends on
	ahead   []set      // by action: all that ran before it in some schedule
	running set        // the trace as a set
}

func newReducer(x *program, v *Verdict, moves int) *reducer {
	n := len(x.actions)
	return &reducer{world: newWorld(x, unbounded), v: v, monitor: newMonitor(x), moves: moves, before: make([]set, n),
		ahead: make([]set, n)}
}

// visit explores what follows the trace, but for what begins with a block
// that sleeps: that has been explored elsewhere.
func (r *reducer) visit(asleep blockSet) {
	var ready blockSet
	for b := range int32(len(r.pos)) {
		if r.ready(b) {
			ready |= 1 << b
		}
	}
	if ready == 0 {
		r.v.Schedules++
		r.end(r.v)
		return
	}
	if ready&^asleep == 0 {
		return
	}
	depth := len(r.trace)
	r.todo = append(r.todo, 1<<(ready&^asleep).first())
	for r.todo[depth]&^asleep != 0 {
		b := (r.todo[depth] &^ asleep).first()
		still := r.independent(asleep, b)
		if r.move(b); !r.cut {
			r.visit(still)
		}
		if r.cut {
			return
		}
		r.back()
		asleep |= 1 << b
	}
	r.todo = r.todo[:depth]
}

// independent returns the blocks of s whose next action does not conflict with
// that of b.
func (r *reducer) independent(s blockSet, b int32) blockSet {
	e := r.next(b)
	for q := range int32(len(r.pos)) {
		if s.has(q) && r.conflict(e, r.next(q)) {
			s &^= 1 << q
		}
	}
	return s
}

// move runs the next action of b, and finds what else must be explored because
// of it.
func (r *reducer) move(b int32) {
	e, wrong := r.do(b)
	if r.v.Moves++; r.v.Moves >= r.moves {
		r.cut = true
	}
	switch wrong {
	case Mismatch:
		r.v.found(Mismatch, r.schedule, "%s takes a message of %s", r.name(e), r.name(r.actions[e].mate))
		r.cut = true
		return
	case Uninitialized:
		r.v.found(Uninitialized, r.schedule, "%s reads what nothing wrote", r.name(e))
		r.v.readers[r.actions[e].step] = true
	}
	conflicts, race := r.monitor.enter(e)
	if race >= 0 {
		r.v.found(Race, r.schedule, "%s and %s race", r.name(e), r.name(race))
	}
	r.ahead[e].union(&r.running)
	r.depend(e, &conflicts)
	r.running.add(e)
}

func (r *reducer) back() {
	e := r.trace[len(r.trace)-1]
	r.undo()
	r.monitor.leave(e)
	r.running.remove(e)
}

// depend computes what e depends on, and asks for the other order of each
// action that e directly conflicts with and that does not enable it.
func (r *reducer) depend(e int32, conflicts *set) {
	a := &r.actions[e]
	var before set
	after := func(f int32) {
		before.union(&r.before[f])
		before.add(f)
	}
	if e > r.first[a.block] {
		after(e - 1)
	}
	for _, n := range a.needs {
		after(r.first[n.block] + n.pos - 1)
	}
	if a.recv >= 0 {
		after(a.mate)
	}
	// From the last on: what a later conflict depends on is not direct.
	for i := len(r.trace) - 2; i >= 0; i-- {
		if f := r.trace[i]; conflicts.has(f) {
			if !before.has(f) {
				r.reverse(i, e, &before)
			}
			after(f)
		}
	}
	r.before[e] = before
}

// reverse makes sure that before action i of the trace something is explored
// that leads to e before it. What e depends on is known of those after i.
func (r *reducer) reverse(i int, e int32, before *set) {
	f := r.trace[i]
	var between set
	var initials blockSet
	for _, g := range r.trace[i+1 : len(r.trace)-1] {
		if r.before[g].has(f) {
			continue
		}
		if !r.before[g].meets(&between) {
			initials |= 1 << r.actions[g].block
		}
		between.add(g)
	}
	own := blockSet(1) << r.actions[e].block
	if !before.meets(&between) {
		initials |= own
	}
	switch {
	case r.todo[i]&initials != 0:
	case initials&own != 0:
		r.todo[i] |= own
	default:
		r.todo[i] |= 1 << initials.first()
	}
}

// maxEvents and maxBlocks bound the actions and blocks of programs whose
// schedules are explored.
const (
	maxEvents = 64 * words
	maxBlocks = 32
	words     = 5
)

// A set is a set of actions.
type set [words]uint64

func (s *set) add(e int32)      { s[e>>6] |= 1 << (e & 63) }
func (s *set) remove(e int32)   { s[e>>6] &^= 1 << (e & 63) }
func (s *set) has(e int32) bool { return s[e>>6]>>(e&63)&1 != 0 }

func (s *set) union(t *set) {
	for i := range s {
		s[i] |= t[i]
	}
}

func (s *set) meets(t *set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// A blockSet is a set of blocks.
type blockSet uint32

func (s blockSet) has(b int32) bool { return s>>b&1 != 0 }
func (s blockSet) first() int32     { return int32(bits.TrailingZeros32(uint32(s))) }
