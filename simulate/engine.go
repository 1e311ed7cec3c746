package simulate

import "math"

// An engine runs blocks: each does one action at a time, in the order of their times, so that what comes first is
// served first.
type engine struct {
	actor  actor
	queue  queue
	heads  []int32   // of what can be waited for: the first block that does, or -1
	next   []int32   // of a block that waits: the next one for the same
	from   []float64 // of a block that waits: when it goes on at the soonest
	woken  []event   // by the action that is being done
	passes []float64 // when all blocks had ended each pass
	end    float64
	events int64
}

// An actor is the blocks of a program of one kind.
type actor interface {
	// act does the next action of a block at a time, and says what the block does then.
	act(block int32, now float64) verdict
}

// A verdict is what a block does after an action: it goes on at a time, or waits for something, from a time on, or has
// ended.
type verdict struct {
	kind verdictKind
	at   float64
	on   int32
}

type verdictKind uint8

const (
	goesOn verdictKind = iota
	waits
	ended
	gone // what is no block has done all that it had to
)

func newEngine(a actor, blocks, things, passes int) *engine {
	e := &engine{actor: a, heads: make([]int32, things), next: make([]int32, blocks), from: make([]float64, blocks),
		passes: make([]float64, passes)}
	for i := range e.heads {
		e.heads[i] = -1
	}
	return e
}

// run runs all blocks from time 0 on, and returns when the last has ended; it is not a number where blocks wait for
// ever.
func (e *engine) run() float64 {
	for b := range e.next {
		e.queue.push(event{0, int32(b)})
	}
	left := len(e.next)
	for len(e.queue) > 0 {
		at := e.queue[0]
		e.events++
		v := e.actor.act(at.block, at.time)
		switch v.kind {
		case waits:
			e.next[at.block], e.from[at.block] = e.heads[v.on], v.at
			e.heads[v.on] = at.block
		case ended:
			left--
			e.end = max(e.end, v.at)
		}
		woken := e.woken
		switch {
		case v.kind == goesOn:
			e.queue.replace(event{v.at, at.block})
		case len(woken) > 0: // as to pop and to push, but cheaper
			e.queue.replace(woken[0])
			woken = woken[1:]
		default:
			e.queue.pop()
		}
		for _, w := range woken {
			e.queue.push(w)
		}
		e.woken = e.woken[:0]
	}
	if left > 0 {
		return math.NaN()
	}
	return e.end
}

// wake has the blocks that wait for a thing look again at a time.
func (e *engine) wake(thing int32, at float64) {
	for b := e.heads[thing]; b >= 0; b = e.next[b] {
		e.woken = append(e.woken, event{max(at, e.from[b]), b})
	}
	e.heads[thing] = -1
}

// at has an actor act as a block that is none, with a number behind all blocks, at a time.
func (e *engine) at(number int, time float64) {
	e.woken = append(e.woken, event{time, int32(len(e.next) + number)})
}

// now returns when the action is that is being done.
func (e *engine) now() float64 { return e.queue[0].time }

// passed notes that a block has ended a pass.
func (e *engine) passed(pass int64, at float64) { e.passes[pass] = max(e.passes[pass], at) }

// An event is that a block acts at a time.
type event struct {
	time  float64
	block int32
}

// before orders events; blocks of one time by their numbers, so that a simulation says the same each time.
func (a event) before(b event) bool { return a.time < b.time || a.time == b.time && a.block < b.block }

// A queue is a heap of events, of four children, which is twice as fast as container/heap.
type queue []event

func (q *queue) push(e event) {
	h := append(*q, e)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(h[up]) {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = e
	*q = h
}

// pop takes the first event away.
func (q *queue) pop() {
	h := *q
	last := h[len(h)-1]
	*q = h[:len(h)-1]
	if len(*q) > 0 {
		q.replace(last)
	}
}

// replace puts an event in the place of the first, from where it sinks to its own.
func (q *queue) replace(e event) {
	h := *q
	i := 0
	for {
		least := i*4 + 1
		if least >= len(h) {
			break
		}
		for k := least + 1; k < min(i*4+5, len(h)); k++ {
			if h[k].before(h[least]) {
				least = k
			}
		}
		if !h[least].before(e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}
