// Package events simulates what blocks do as events, in the order of their times. An event is a pair: a time, and what
// acts at this time, which is a block or the network. An [Engine] runs these actions.
package events

import (
	"math"

	"mscclc/internal/heap"
)

// An Engine runs blocks: each does one action at a time, in the order of their times, so that what comes first is
// served first.
type Engine struct {
	actor  Actor
	queue  heap.Heap
	heads  []int32     // of what can be waited for: the first block that does, or -1
	next   []int32     // of a block that waits: the next one for the same
	from   []float64   // of a block that waits: when it goes on at the soonest
	woken  []heap.Item // by the action that is being done
	Passes []float64   // when all blocks had ended each pass
	end    float64
	Events int64 // actions so far
}

// An Actor is the blocks of a program of one kind.
type Actor interface {
	// Act does the next action of a block at a time, and says what the block does then.
	Act(block int32, now float64) Verdict
}

// A Verdict is what a block does after an action: it goes on at a time, or waits for something, from a time on, or has
// ended.
type Verdict struct {
	kind verdictKind
	on   int32
	At   float64 // the time of which the verdict is
}

type verdictKind uint8

const (
	goesOn verdictKind = iota
	waits
	ended
	gone
)

// GoOn has a block go on at a time.
func GoOn(at float64) Verdict { return Verdict{kind: goesOn, At: at} }

// Wait has a block wait for a thing, and go on at a time at the soonest.
func Wait(thing int32, at float64) Verdict { return Verdict{kind: waits, on: thing, At: at} }

// End has a block end at a time.
func End(at float64) Verdict { return Verdict{kind: ended, At: at} }

// Gone says that what is no block has done all that it had to.
func Gone() Verdict { return Verdict{kind: gone} }

// Waits reports whether the block waits for something.
func (v Verdict) Waits() bool { return v.kind == waits }

// New makes an engine of blocks, which are numbered from 0, as are the things that they wait for and the passes that
// they end.
func New(a Actor, blocks, things, passes int) *Engine {
	e := &Engine{actor: a, heads: make([]int32, things), next: make([]int32, blocks), from: make([]float64, blocks),
		Passes: make([]float64, passes)}
	for i := range e.heads {
		e.heads[i] = -1
	}
	return e
}

// Run runs all blocks from time 0 on, and returns when the last has ended; it is not a number where blocks wait for
// ever.
func (e *Engine) Run() float64 {
	for b := range e.next {
		e.queue.Push(heap.Item{At: 0, Of: int32(b)})
	}
	left := len(e.next)
	for len(e.queue) > 0 {
		next := e.queue[0]
		e.Events++
		v := e.actor.Act(next.Of, next.At)
		switch v.kind {
		case waits:
			e.next[next.Of], e.from[next.Of] = e.heads[v.on], v.At
			e.heads[v.on] = next.Of
		case ended:
			left--
			e.end = max(e.end, v.At)
		}
		woken := e.woken
		switch {
		case v.kind == goesOn:
			e.queue.Replace(heap.Item{At: v.At, Of: next.Of})
		case len(woken) > 0: // as to pop and to push, but cheaper
			e.queue.Replace(woken[0])
			woken = woken[1:]
		default:
			e.queue.Pop()
		}
		for _, w := range woken {
			e.queue.Push(w)
		}
		e.woken = e.woken[:0]
	}
	if left > 0 {
		return math.NaN()
	}
	return e.end
}

// Wake has the blocks that wait for a thing look again at a time.
func (e *Engine) Wake(thing int32, at float64) {
	for b := e.heads[thing]; b >= 0; b = e.next[b] {
		e.woken = append(e.woken, heap.Item{At: max(at, e.from[b]), Of: b})
	}
	e.heads[thing] = -1
}

// Schedule has the actor act as a block that is none, with a number after all blocks, at a time.
func (e *Engine) Schedule(number int, at float64) {
	e.woken = append(e.woken, heap.Item{At: at, Of: int32(len(e.next) + number)})
}

// Last returns the greatest number for Schedule. What it schedules comes after all other events of its time.
func (e *Engine) Last() int32 { return math.MaxInt32 - int32(len(e.next)) }

// Now returns when the action is that is being done.
func (e *Engine) Now() float64 { return e.queue[0].At }

// Passed notes that a block has ended a pass.
func (e *Engine) Passed(pass int64, at float64) { e.Passes[pass] = max(e.Passes[pass], at) }
