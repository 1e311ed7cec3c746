package simulate

import "math"

// An engine runs blocks: each does one action at a time, in the order of their times, so that what comes first is
// served first.
type engine struct {
	actor  actor
	queue  queue
	heads  []int32   // of what can be waited for: the first block that does, or -1
	next   []int32   // of a block that waits: the next one for the same
	passes []float64 // when all blocks had ended each pass
	end    float64
	events int64
}

// An actor is the blocks of a program of one kind.
type actor interface {
	// act does the next action of a block at a time, and says what the block does then.
	act(block int32, now float64) verdict
}

// A verdict is what a block does after an action: it goes on at a time, or waits for something, or has ended.
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
)

func newEngine(a actor, blocks, things, passes int) *engine {
	e := &engine{actor: a, heads: make([]int32, things), next: make([]int32, blocks), passes: make([]float64, passes)}
	for i := range e.heads {
		e.heads[i] = -1
	}
	return e
}

// run runs all blocks from time 0 on, and returns when the last has ended; it is not a number where blocks wait for ever.
func (e *engine) run() float64 {
	for b := range e.next {
		e.queue.push(event{0, int32(b)})
	}
	left := len(e.next)
	for len(e.queue) > 0 {
		at := e.queue.pop()
		e.events++
		switch v := e.actor.act(at.block, at.time); v.kind {
		case goesOn:
			e.queue.push(event{v.at, at.block})
		case waits:
			e.next[at.block] = e.heads[v.on]
			e.heads[v.on] = at.block
		case ended:
			left--
			e.end = max(e.end, v.at)
		}
	}
	if left > 0 {
		return math.NaN()
	}
	return e.end
}

// wake has the blocks that wait for a thing look again at a time.
func (e *engine) wake(thing int32, at float64) {
	for b := e.heads[thing]; b >= 0; b = e.next[b] {
		e.queue.push(event{at, b})
	}
	e.heads[thing] = -1
}

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

func (q *queue) pop() event {
	h := *q
	top, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	for i := 0; len(h) > 0; {
		least := i*4 + 1
		if least >= len(h) {
			h[i] = last
			break
		}
		for k := least + 1; k < min(i*4+5, len(h)); k++ {
			if h[k].before(h[least]) {
				least = k
			}
		}
		if !h[least].before(last) {
			h[i] = last
			break
		}
		h[i] = h[least]
		i = least
	}
	*q = h
	return top
}
