// Package onesided explores one-sided programs, for tests. A program becomes accesses to single chunks (program.go), in
// several launches of several tile iterations each. Between the launches of a rank, a caller reads and overwrites the
// rank's input and output.
//
// Memory is weak (world.go, memory.go). A block sees what it wrote in earlier groups of steps. It also sees what it
// acquired by flags, or by the end of a launch. An access races if another block has written the same chunk, and
// nothing guarantees that the accessing block sees that write.
//
// Nothing that runs takes away what another block waits for. So Explore makes one run for each access H, which holds H
// back until nothing else can run. If an access A runs before the held H, A need not come after H. If H also runs
// before the held A, in the run for A, nothing orders A and H, and they race if they conflict. These runs find every
// race. As a check, Explore also makes runs with random schedules, which must not find anything else.
//
// The package makes random programs, which have more flags than they need (random.go). It also makes single changes to
// programs (faults.go): some break a program, and some only remove what it does not need.
package onesided

import (
	"fmt"
	"math/rand"
	"slices"

	"mscclc/ir/onesided"
	"mscclc/ir/verify/explore"
)

// A Verdict is what runs of a one-sided program show.
type Verdict struct {
	Found [explore.NumKinds]string // of a kind: the first that shows, or ""
	Runs  int
	Moves int // micros run

	pairs     map[[2]int32]bool // steps that race; the caller is -1
	unwritten map[int32]bool    // steps that read what nothing wrote
	outputs   map[[2]int]bool   // rank and index of what is wrong
}

// Good says that no run shows a fault.
func (v *Verdict) Good() bool { return v.Found == [explore.NumKinds]string{} }

// Has reports whether a run shows a fault of a kind.
func (v *Verdict) Has(k explore.Kind) bool { return v.Found[k] != "" }

// Races reports whether some run shows that two steps race; one is -1 where it is
// what a rank's caller does between launches.
func (v *Verdict) Races(i, j int32) bool {
	return v.pairs[[2]int32{i, j}] || v.pairs[[2]int32{j, i}]
}

// ReadsNothing reports whether a step is seen to read what nothing wrote.
func (v *Verdict) ReadsNothing(step int32) bool { return v.unwritten[step] }

// Wrong reports whether an output is seen to be wrong.
func (v *Verdict) Wrong(rank, index int) bool { return v.outputs[[2]int{rank, index}] }

func (v *Verdict) String() string {
	text := fmt.Sprintf("%d runs, %d accesses", v.Runs, v.Moves)
	for k, s := range v.Found {
		if s != "" {
			text += fmt.Sprintf("\n%v: %s", explore.Kind(k), s)
		}
	}
	return text
}

func (v *Verdict) found(k explore.Kind, format string, args ...any) {
	if v.Found[k] == "" {
		v.Found[k] = fmt.Sprintf(format, args...)
	}
}

func (v *Verdict) race(i, j int32, format string, args ...any) {
	v.pairs[[2]int32{i, j}] = true
	v.found(explore.Race, format, args...)
}

func (v *Verdict) nothing(step int32) {
	v.unwritten[step] = true
	v.found(explore.Uninitialized, "step %d reads what nothing wrote", step)
}

func (v *Verdict) wrong(rank, index int) {
	v.outputs[[2]int{rank, index}] = true
	v.found(explore.WrongResult, "rank %d output[%d]", rank, index)
}

// plans returns the launches that Explore runs a program in, by
// their tile iterations: enough of one launch that a pass that is neither first nor last
// meets the next of its copy, launches of one pass, and others.
func plans(o *onesided.Program) [][]int {
	depth := int(o.Depth)
	if o.OnePass {
		return [][]int{slices.Repeat([]int{1}, depth+2)}
	}
	return [][]int{{depth + 3}, {1, 1, 1}, {2, 1, 2}}
}

// mostMicros bounds the accesses of one run.
const mostMicros = 4000

// Explore runs p, whose tables must be well formed. Deadlock is decided by one run, in which blocks are slow. In the
// others each access, and each call, is held in its turn until nothing else can run: since no run takes away what
// another waits for, all that need not come after it has then run, and conflicts with it show. As many runs by chance
// as `chance` says must show nothing that these do not.
func Explore(p *onesided.Program, chance int, rnd *rand.Rand) (*Verdict, error) {
	return ExploreOver(p, nil, chance, rnd)
}

// ExploreOver is Explore for ranks of these nodes, nil being one. What arrives over the network is held too. Between
// nodes p has nothing but writes to scratch, and signals.
func ExploreOver(p *onesided.Program, node []int32, chance int, rnd *rand.Rand) (*Verdict, error) {
	v := &Verdict{pairs: map[[2]int32]bool{}, unwritten: map[int32]bool{}, outputs: map[[2]int]bool{}}
	for _, plan := range plans(p) {
		x, err := expand(p, node, plan, mostMicros)
		if err != nil {
			return nil, err
		}
		w := newWorld(x, v)
		w.slow = true
		w.run(nil)
		if left := w.stuck(); left >= 0 {
			v.found(explore.Deadlock, "step %d never ends, in launches of %v passes", left, plan)
		}
	}
	if v.Has(explore.Deadlock) {
		return v, nil
	}
	for _, plan := range plans(p) {
		x, _ := expand(p, node, plan, mostMicros)
		x.eachUnsent(func(step int32) { v.race(step, step, "nothing sends what step %d writes at another node", step) })
		for _, c := range x.net.clashes {
			v.race(c[0], c[1], "steps %d and %d of one group write one place at another node", c[0], c[1])
		}
		for held := range x.micros {
			if !x.hold(&x.micros[held]) {
				continue
			}
			w := newWorld(x, v)
			w.held = int32(held)
			w.run(nil)
		}
		seen := v.Found
		for range chance {
			newWorld(x, v).run(rnd)
		}
		for k, s := range v.Found {
			if seen[explore.Race] == "" && s != "" && seen[k] == "" { // what comes of a race is by chance
				return v, fmt.Errorf("by chance, %s, which nothing shows that is held", s)
			}
		}
	}
	return v, nil
}

// hold reports whether m is held in its turn: an access, and not in a pass that
// only repeats others.
func (x *program) hold(m *micro) bool {
	return m.kind == call || (m.kind < raise || m.kind == land) && (m.pass < 2 || m.pass == x.last)
}

// run runs to the end, in an order by chance where rnd is given.
func (w *world) run(rnd *rand.Rand) {
	w.v.Runs++
	for {
		ran := 0
		all := len(w.at) + len(w.called) + 1
		for at := range all {
			if rnd != nil {
				at = rnd.Intn(all)
			}
			ran += w.turn(at, rnd)
		}
		w.v.Moves += ran
		if ran > 0 || rnd != nil && w.canRun() {
			continue
		}
		if w.held < 0 {
			return
		}
		w.held = -1
	}
}

// turn gives a block, a rank's caller, or the network its turn. By chance that is one
// micro, else all that are ready.
func (w *world) turn(at int, rnd *rand.Rand) (ran int) {
	list := w.net.arrives
	if at < len(w.at) {
		list = w.current(int32(at))
	} else if at < len(w.at)+len(w.called) {
		rank := at - len(w.at)
		if n := w.called[rank]; n < len(w.calls[rank]) && w.ready(w.calls[rank][n]) {
			w.do(w.calls[rank][n])
			return 1
		}
		return 0
	}
	if rnd != nil && len(list) > 0 {
		if i := list[rnd.Intn(len(list))]; w.ready(i) {
			w.do(i)
			return 1
		}
		return 0
	}
	for again := true; again; {
		again = false
		for _, i := range list {
			if w.ready(i) {
				w.do(i)
				ran++
				again = true
			}
		}
	}
	return ran
}

// canRun reports whether anything is ready.
func (w *world) canRun() bool {
	for b := range w.at {
		for _, i := range w.current(int32(b)) {
			if w.ready(i) {
				return true
			}
		}
	}
	if slices.ContainsFunc(w.net.arrives, w.ready) {
		return true
	}
	for r, n := range w.called {
		if n < len(w.calls[r]) && w.ready(w.calls[r][n]) {
			return true
		}
	}
	return false
}

// stuck returns a step that has not ended, or -1.
func (w *world) stuck() int32 {
	for i := range w.micros {
		if !w.done[i] && w.micros[i].kind != call {
			return w.micros[i].step
		}
	}
	return -1
}
