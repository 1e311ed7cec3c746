package explore

import (
	"math/rand"
	"slices"

	"mscclc/ir/fifo"
)

// Adverse runs p, of any size, in some schedules that are meant to break it,
// and stops at the first that does: once with opt.Slots, which decides
// deadlock; then with unbounded slots, once watched for races by clocks, which
// are the same in every schedule, and a number of times by uniform chance, by
// priorities that change, with one block starved, and with blocks delayed. The
// result of each is judged.
func Adverse(p *fifo.Program, opt Options, schedules int, rnd *rand.Rand) (*Verdict, error) {
	opt = opt.withDefaults()
	x, err := expand(p, opt, 1<<24)
	if err != nil {
		return nil, err
	}
	v := &Verdict{Events: len(x.actions), cells: map[int32]bool{}}
	x.bounded(v, opt.Slots)
	if !v.Good() {
		return v, nil
	}
	a := &adversary{world: newWorld(x, unbounded), v: v, random: rnd.Uint64() | 1, wakes: x.wakes(),
		waiting: make([]bool, len(p.Blocks))}
	a.priority, a.clocks = make([]int, len(p.Blocks)), newClocks(x)
	for n := 0; n < schedules && v.Good(); n++ {
		a.restart(policy(n % int(policies)))
		a.run()
		v.Schedules++
		a.clocks = nil
	}
	return v, nil
}

// A policy is a way to choose who moves next.
type policy uint8

const (
	byChance   policy = iota
	byPriority        // of some, the first of an order, in which now and then the mover goes last
	starving          // a block moves only where no other can
	delaying          // blocks that moved rest a while
	policies
)

// An adversary runs schedules one after the other.
type adversary struct {
	*world
	v      *Verdict
	random uint64  // of a generator that costs less than choosing well
	clocks *clocks // of the first schedule
	wakes  [][]int32

	policy   policy
	waiting  []bool  // by block: it is in one of the lists
	may      []int32 // blocks that may be able to move
	resting  []int32 // blocks that are held back
	priority []int
	victim   int32
}

func (a *adversary) restart(p policy) {
	copy(a.cell, a.start)
	clear(a.pos)
	clear(a.sent)
	clear(a.took)
	a.trace, a.schedule, a.log = a.trace[:0], a.schedule[:0], a.log[:0]
	a.policy, a.victim = p, int32(a.below(len(a.pos)))
	for b := range a.priority {
		a.priority[b] = a.below(1 << 20)
	}
	a.may, a.resting = a.may[:0], a.resting[:0]
	clear(a.waiting)
	for b := range int32(len(a.pos)) {
		a.wake(b)
	}
}

// below returns a number from 0 to n-1 by xorshift.
func (a *adversary) below(n int) int {
	a.random ^= a.random << 13
	a.random ^= a.random >> 7
	a.random ^= a.random << 17
	return int((a.random >> 33) * uint64(n) >> 31)
}

// wake puts a block into one of the lists.
func (a *adversary) wake(b int32) {
	if a.waiting[b] || a.next(b) < 0 {
		return
	}
	a.waiting[b] = true
	if a.policy == starving && b == a.victim || a.policy == delaying && a.below(4) == 0 {
		a.resting = append(a.resting, b)
	} else {
		a.may = append(a.may, b)
	}
}

// choose takes a block out of the lists, or returns -1.
func (a *adversary) choose() int32 {
	if n := len(a.resting); n > 0 && (len(a.may) == 0 || a.policy == delaying && a.below(20) == 0) {
		i := a.below(n)
		a.may = append(a.may, a.resting[i])
		a.resting = slices.Delete(a.resting, i, i+1)
	}
	if len(a.may) == 0 {
		return -1
	}
	i := a.below(len(a.may))
	if a.policy == byPriority {
		for k := i; k < min(i+16, len(a.may)); k++ {
			if a.priority[a.may[k]] > a.priority[a.may[i]] {
				i = k
			}
		}
		if b := a.may[i]; a.below(30) == 0 {
			a.priority[b] = -len(a.trace) - 1
		}
	}
	b := a.may[i]
	a.may[i] = a.may[len(a.may)-1]
	a.may = a.may[:len(a.may)-1]
	a.waiting[b] = false
	return b
}

// run runs one schedule to its end.
func (a *adversary) run() {
	for b := a.choose(); b >= 0; b = a.choose() {
		if !a.ready(b) {
			continue // who ends its wait wakes it
		}
		e, wrong := a.do(b)
		switch a.v.Moves++; wrong {
		case Mismatch:
			a.v.found(Mismatch, nil, "%s takes a message of %s", a.name(e), a.name(a.actions[e].mate))
			return
		case Uninitialized:
			a.v.found(Uninitialized, nil, "%s reads what nothing wrote", a.name(e))
		}
		if a.clocks != nil {
			if f := a.clocks.enter(e); f >= 0 {
				a.v.found(Race, nil, "%s and %s race", a.name(e), a.name(f))
			}
		}
		a.log = a.log[:0]
		a.wake(b)
		for _, o := range a.wakes[b] {
			a.wake(o)
		}
	}
	a.schedule = a.schedule[:0] // nobody reads a schedule of that many actions
	a.end(a.v)
}

// wakes lists, for each block, those that may wait for it.
func (x *program) wakes() [][]int32 {
	list := make([][]int32, len(x.Blocks))
	for e := range x.actions {
		a := &x.actions[e]
		for _, n := range a.needs {
			list[n.block] = append(list[n.block], a.block)
		}
		if a.mate >= 0 {
			sender := x.actions[a.mate].block
			list[sender] = append(list[sender], a.block)
		}
	}
	for b := range list {
		slices.Sort(list[b])
		list[b] = slices.Compact(list[b])
	}
	return list
}
