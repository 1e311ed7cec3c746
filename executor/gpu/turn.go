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

// This file starts launches in turn where the machine is crowded (crowd.go): they draw tickets, and wait until those
// with older tickets that leave them no room are over.

// A load is what a launch, or a graph, brings to a lane: so many launches, of so many
// blocks, of the kind of which the card holds room.
type load struct {
	lane         *lane
	launches     uint64
	blocks, room int
}

// An older launch is waited for: the n-th of a lane.
type older struct {
	lane      *lane
	n, ticket uint64
}

// inTurn starts something on a machine that is crowded, held until it has room. All its lanes are locked, and
// follow was called for them.
func (g *card) inTurn(st *stream, of []load, start func() error) error {
	for _, w := range of {
		if err := w.lane.settled(); err != nil {
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
		w.lane.last.Store(st)
	}
	for _, w := range of {
		err = errors.Join(err, w.lane.raise(st, w.lane.launched.Load()))
	}
	return err
}

// count notes launches, before they begin, and uncount that they have not.
func count(of []load) {
	for _, w := range of {
		w.lane.launched.Add(w.launches)
	}
}

func uncount(of []load) {
	for _, w := range of {
		w.lane.launched.Add(-w.launches)
	}
}

// draw gives the n-th launches of a flight their ticket.
func (m *machine) draw(f *flight, n uint64) uint64 {
	t, ok := f.tickets[n]
	if !ok {
		m.air.ticket++
		t = m.air.ticket
		f.tickets[n] = t
	}
	return t
}

// queue has launches draw their tickets, counts them, and says what must be over before, the youngest first.
func (g *card) queue(of []load) []older {
	m := g.machine
	m.air.mu.Lock()
	defer m.air.mu.Unlock()
	oldest, blocks, room := uint64(math.MaxUint64), 0, math.MaxInt
	for _, w := range of {
		first := w.lane.launched.Load() + 1
		for n := first; n < first+w.launches; n++ {
			oldest = min(oldest, m.draw(w.lane.flight, n))
		}
		blocks, room = blocks+w.blocks, min(room, w.room)
	}
	var others []older
	for _, l := range g.lanes {
		own := slices.ContainsFunc(of, func(w load) bool { return w.lane == l })
		if !own && !l.flight.failed {
			others = l.olderThan(oldest, others)
		}
	}
	slices.SortFunc(others, func(a, b older) int { return cmp.Compare(b.ticket, a.ticket) })
	others = lastOf(others[beside(others, blocks, room):])
	for _, o := range others {
		o.lane.word.users++
	}
	count(of)
	return others
}

// olderThan appends a lane's launches with older tickets that are not over.
func (l *lane) olderThan(ticket uint64, list []older) []older {
	l.flight.prune()
	over := atomic.LoadUint64(l.word.at)
	for n, t := range l.flight.tickets {
		if n > over && t < ticket {
			list = append(list, older{l, n, t})
		}
	}
	return list
}

// beside returns how many of a list, from the first on, have room beside a launch of so many blocks.
func beside(list []older, blocks, room int) int {
	found := map[*lane]bool{}
	for i, o := range list {
		if found[o.lane] {
			continue
		}
		b, r := o.lane.needs()
		if blocks += b; blocks > min(room, r) {
			return i
		}
		room = min(room, r)
		found[o.lane] = true
	}
	return len(list)
}

// lastOf returns the last launches of each lane in a list: when these are over, all are.
func lastOf(list []older) (last []older) {
	for _, o := range list {
		i := slices.IndexFunc(last, func(other older) bool { return other.lane == o.lane })
		if i < 0 {
			last = append(last, o)
		} else {
			last[i].n = max(last[i].n, o.n)
		}
	}
	return last
}

// hold holds a stream until others are over.
func (g *card) hold(st *stream, wait []older) error {
	defer func() {
		g.machine.air.mu.Lock()
		defer g.machine.air.mu.Unlock()
		for _, o := range wait {
			o.lane.word.users--
		}
	}()
	for _, o := range wait {
		if err := o.lane.settle(); err != nil {
			return err
		}
		if err := g.failed(C.mscclc_gpu_hold(g.c, st.handle, o.lane.word.c(), C.u64(o.n)),
			"waiting for others' room"); err != nil {
			return err
		}
	}
	return nil
}

// prune forgets the tickets of what is over everywhere.
func (f *flight) prune() {
	over := uint64(math.MaxUint64)
	for _, l := range f.lanes {
		over = min(over, atomic.LoadUint64(l.word.at))
	}
	for n := range f.tickets {
		if n <= over {
			delete(f.tickets, n)
		}
	}
}
