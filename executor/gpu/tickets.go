//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync/atomic"
)

// This file starts launches that draw tickets (admission.go). They wait until those with older tickets that leave them
// no room are over.

// A load is what a launch, or a graph, brings to a sequence: a number of launches, of up to `blocks` blocks each, of a
// kind of which the GPU has room for `room`.
type load struct {
	sequence     *sequence
	launches     uint64
	blocks, room int
}

// An older is a launch that is waited for: the n-th of a sequence.
type older struct {
	sequence  *sequence
	n, ticket uint64
}

// inTurn starts something that draws a ticket, held until it has room. All its sequences are locked, and follow was
// called for them.
func (g *gpu) inTurn(st *stream, of []load, start func() error) error {
	for _, w := range of {
		if err := w.sequence.settled(); err != nil {
			return err
		}
	}
	wait := g.queue(of)
	err := g.hold(st, wait)
	if err == nil {
		err = start()
	}
	if err != nil {
		uncount(of)
		return err
	}
	for _, w := range of {
		w.sequence.last.Store(st)
	}
	for _, w := range of {
		err = errors.Join(err, w.sequence.raise(st, w.sequence.launched.Load()))
	}
	return err
}

// count notes launches, before they begin, and uncount that they have not.
func count(of []load) {
	for _, w := range of {
		w.sequence.launched.Add(w.launches)
	}
}

func uncount(of []load) {
	for _, w := range of {
		w.sequence.launched.Add(-w.launches)
	}
}

// draw gives the n-th launches of a plan their ticket.
func (m *machine) draw(ord *order, n uint64) uint64 {
	t, ok := ord.tickets[n]
	if !ok {
		m.admission.ticket++
		t = m.admission.ticket
		ord.tickets[n] = t
	}
	return t
}

// queue has launches draw their tickets, counts them, and returns what must be over before them, the youngest first.
func (g *gpu) queue(of []load) []older {
	m := g.machine
	m.admission.mu.Lock()
	defer m.admission.mu.Unlock()
	oldest, blocks, room := uint64(math.MaxUint64), 0, math.MaxInt
	for _, w := range of {
		first := w.sequence.launched.Load() + 1
		for n := first; n < first+w.launches; n++ {
			oldest = min(oldest, m.draw(w.sequence.order, n))
		}
		blocks, room = blocks+w.blocks, min(room, w.room)
	}
	var others []older
	for _, l := range g.sequences {
		own := slices.ContainsFunc(of, func(w load) bool { return w.sequence == l })
		if !own && !l.order.failed {
			others = l.olderThan(oldest, others)
		}
	}
	slices.SortFunc(others, func(a, b older) int { return cmp.Compare(b.ticket, a.ticket) })
	others = lastOf(others[beside(others, blocks, room):])
	for _, o := range others {
		o.sequence.counter.users++
	}
	count(of)
	return others
}

// olderThan appends a sequence's launches with older tickets that are not over.
func (l *sequence) olderThan(ticket uint64, list []older) []older {
	l.order.prune()
	over := atomic.LoadUint64(l.counter.at)
	for n, t := range l.order.tickets {
		if n > over && t < ticket {
			list = append(list, older{l, n, t})
		}
	}
	return list
}

// beside returns how many of a list, from the first on, have room beside a launch of `blocks` blocks.
func beside(list []older, blocks, room int) int {
	found := map[*sequence]bool{}
	for i, o := range list {
		if found[o.sequence] {
			continue
		}
		b, r := o.sequence.needs()
		if blocks += b; blocks > min(room, r) {
			return i
		}
		room = min(room, r)
		found[o.sequence] = true
	}
	return len(list)
}

// lastOf returns the last launches of each sequence in a list: when these are over, all are.
func lastOf(list []older) (last []older) {
	for _, o := range list {
		i := slices.IndexFunc(last, func(other older) bool { return other.sequence == o.sequence })
		if i < 0 {
			last = append(last, o)
		} else {
			last[i].n = max(last[i].n, o.n)
		}
	}
	return last
}

// hold holds a stream until others are over.
func (g *gpu) hold(st *stream, wait []older) error {
	defer func() {
		g.machine.admission.mu.Lock()
		defer g.machine.admission.mu.Unlock()
		for _, o := range wait {
			o.sequence.counter.users--
		}
	}()
	for _, o := range wait {
		if err := o.sequence.settle(); err != nil {
			return err
		}
		if err := g.failed(C.mscclc_gpu_hold(g.c, st.handle, o.sequence.counter.c(), C.u64(o.n)),
			"waiting for others' room"); err != nil {
			return err
		}
	}
	return nil
}

// prune forgets the tickets of what is over everywhere.
func (ord *order) prune() {
	over := uint64(math.MaxUint64)
	for _, l := range ord.sequences {
		over = min(over, atomic.LoadUint64(l.counter.at))
	}
	for n := range ord.tickets {
		if n <= over {
			delete(ord.tickets, n)
		}
	}
}
