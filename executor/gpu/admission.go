//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"errors"
	"math"
	"sync/atomic"
)

// This file says in which order plans launch that have no room together.
//
// Blocks of a launch wait for each other, so all of them must be resident at once. Launches of several plans are if
// their blocks together are no more than a GPU holds of the kind of which it holds fewest (occupancy). As long as all
// prepared launches fit, launches only count themselves. Else launches are admitted by ticket. The n-th launches of a
// plan, on all GPUs, have one ticket, which the first of them draws. On each GPU a launch is held until those with
// older tickets that leave it no room are over there. Nobody waits for a younger ticket, so there is no cycle, in
// whatever order GPUs and streams come. A stream waits for completion counters of the host, which the streams that it
// waits for raise. An event would not do: it must have been recorded before another stream waits for it, and the launch
// that raises a counter may be yet to come.

// needs returns the blocks of the largest prepared launch, and how many blocks of its kind a GPU holds.
func (l *sequence) needs() (blocks, room int) {
	room = math.MaxInt
	for s := range l.prepared {
		blocks, room = max(blocks, s.blocks), min(room, s.room)
	}
	return blocks, room
}

// fits reports whether all prepared launches of a GPU have room at once.
func (g *gpu) fits() bool {
	blocks, room := 0, math.MaxInt
	for _, l := range g.sequences {
		b, r := l.needs()
		blocks, room = blocks+b, min(room, r)
	}
	return blocks <= room
}

var errCaptured = errors.New(
	"there is no room for this call beside those of other plans, one of which is being captured: bind it before")

// admitByTicket has launches draw tickets from now on. Those that run, or have begun on some GPUs only, are the oldest.
// A launch counts itself and then looks whether there are tickets. Here it is the other way round, so one of the two
// sees the other. settle raises the counters that were not raised after these launches.
func (m *machine) admitByTicket() error {
	for _, l := range m.sequences() {
		if err := l.refuseCaptured(); err != nil {
			return err
		}
	}
	m.drawOldest()
	for _, l := range m.sequences() {
		if err := l.settle(); err != nil {
			return err
		}
	}
	return nil
}

// sequences returns the sequences of all plans.
func (m *machine) sequences() (list []*sequence) {
	m.admission.mu.Lock()
	defer m.admission.mu.Unlock()
	for ord := range m.admission.plans {
		list = append(list, ord.sequences...)
	}
	return list
}

// refuseCaptured fails if a sequence's stream is being captured, where a counter cannot be raised. A sequence with a
// launch under way is not looked at.
func (l *sequence) refuseCaptured() error {
	if !l.mu.TryLock() {
		return nil
	}
	var captured bool
	var err error
	if last := l.last.Load(); last != nil {
		captured, err = l.g.captured(last)
	}
	if err = errors.Join(err, l.unlock()); err == nil && captured {
		err = errCaptured
	}
	return err
}

func (m *machine) drawOldest() {
	m.admission.mu.Lock()
	defer m.admission.mu.Unlock()
	if m.admission.byTicket.Swap(1) != 0 {
		return
	}
	for ord := range m.admission.plans {
		least, most := uint64(math.MaxUint64), uint64(0)
		for _, l := range ord.sequences {
			n := l.launched.Load()
			least, most = min(least, n), max(most, n)
			l.owes.Store(n > 0)
		}
		for n := max(least, 1); n <= most; n++ {
			m.draw(ord, n)
		}
	}
}

// settle raises a sequence's counter after what it launched before there were tickets. It does not wait for a launch
// that is under way: that one does it at its end.
func (l *sequence) settle() error {
	for l.owes.Load() && l.mu.TryLock() {
		err := l.pay()
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// settleSoon is settle, or leaves it to the end of a capture, or to those that wait for the counter.
func (l *sequence) settleSoon() error {
	if err := l.settle(); err != errCaptured {
		return err
	}
	return nil
}

// pay is settle under the sequence's mu.
func (l *sequence) pay() error {
	last, to := l.last.Load(), l.launched.Load()
	switch {
	case l.closed:
	case last == nil: // its stream has ended
		atomic.StoreUint64(l.counter.at, to)
	default:
		if captured, err := l.g.captured(last); err != nil {
			return err
		} else if captured {
			return errCaptured
		}
		if err := l.raise(last, to); err != nil {
			return err
		}
	}
	l.owes.Store(false)
	return nil
}

func (l *sequence) raise(s *stream, to uint64) error {
	return l.g.failed(C.mscclc_gpu_raise(l.g.c, s.handle, l.counter.c(), C.u64(to)), "a counter that others wait for")
}

// settled is settle for a launch, which has locked the sequence, and has found that there are tickets.
func (l *sequence) settled() error {
	a := &l.g.machine.admission
	a.mu.Lock() // after drawOldest
	owes := l.owes.Load()
	a.mu.Unlock()
	if !owes {
		return nil
	}
	return l.pay()
}
