//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"errors"
	"math"
	"sync/atomic"
)

// This file is in which order launches go that have no room together.
//
// Blocks of a launch wait for each other, so that all of them must be resident at
// once. Launches of several flights are, where their blocks together are no more than a
// GPU holds of the kind of which it holds fewest. As long as that is so for all that
// is ready, launches only count themselves. Else the machine is crowded: the n-th
// launches of a flight, on all GPUs, have one ticket, drawn by the first of them, and
// on each GPU a launch is held until those with older tickets that leave it no room are
// over there. Nobody waits for a younger ticket, so that there is no cycle, in whatever order
// GPUs and streams come. A stream is held by words of the host, which the streams that it
// waits for raise: these may be behind what is yet to be launched, where an event must
// have been recorded before.

// needs returns the blocks of the largest launch that is ready, and how many like
// those of the largest a card holds.
func (l *lane) needs() (blocks, room int) {
	room = math.MaxInt
	for s := range l.shots {
		blocks, room = max(blocks, s.blocks), min(room, s.room)
	}
	return blocks, room
}

// fits reports whether everything that is ready on a card has room at once.
func (g *card) fits() bool {
	blocks, room := 0, math.MaxInt
	for _, l := range g.lanes {
		b, r := l.needs()
		blocks, room = blocks+b, min(room, r)
	}
	return blocks <= room
}

var errCaptured = errors.New(
	"there is no room for this call beside those of other plans, one of which is being captured: bind it before")

// crowd has launches draw tickets from now on. Those that run, or have begun on some
// cards only, are the oldest: a launch counts itself and then looks whether the machine is crowded, and here it is
// the other way round, so that one of the two sees the other. What no word was raised behind, settle sees to.
func (m *machine) crowd() error {
	for _, l := range m.lanes() {
		if err := l.refuseCaptured(); err != nil {
			return err
		}
	}
	m.drawOldest()
	for _, l := range m.lanes() {
		if err := l.settle(); err != nil {
			return err
		}
	}
	return nil
}

// lanes returns the lanes of all flights.
func (m *machine) lanes() (list []*lane) {
	m.air.mu.Lock()
	defer m.air.mu.Unlock()
	for f := range m.air.flights {
		list = append(list, f.lanes...)
	}
	return list
}

// refuseCaptured looks whether a lane's stream is being captured, where a word cannot be raised. Who is in a
// launch that takes time is not.
func (l *lane) refuseCaptured() error {
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
	m.air.mu.Lock()
	defer m.air.mu.Unlock()
	if m.air.crowded.Swap(1) != 0 {
		return
	}
	for f := range m.air.flights {
		least, most := uint64(math.MaxUint64), uint64(0)
		for _, l := range f.lanes {
			n := l.launched.Load()
			least, most = min(least, n), max(most, n)
			l.owes.Store(n > 0)
		}
		for n := max(least, 1); n <= most; n++ {
			m.draw(f, n)
		}
	}
}

// settle raises a lane's word behind what it launched before the machine was crowded. It does not wait for who is
// in a launch: that one does so then.
func (l *lane) settle() error {
	for l.owes.Load() && l.mu.TryLock() {
		err := l.pay()
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// settleSoon is settle, or leaves it to the end of a capture, or to who waits for the word.
func (l *lane) settleSoon() error {
	if err := l.settle(); err != errCaptured {
		return err
	}
	return nil
}

// pay is settle under the lane's mu.
func (l *lane) pay() error {
	last, to := l.last.Load(), l.launched.Load()
	switch {
	case l.closed:
	case last == nil: // its stream has ended
		atomic.StoreUint64(l.word.at, to)
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

func (l *lane) raise(s *stream, to uint64) error {
	return l.g.failed(C.mscclc_gpu_raise(l.g.c, s.handle, l.word.c(), C.u64(to)), "a word that others wait for")
}

// settled is settle for who has locked the lane, and has found the machine crowded.
func (l *lane) settled() error {
	a := &l.g.machine.air
	a.mu.Lock() // behind who crowds it
	owes := l.owes.Load()
	a.mu.Unlock()
	if !owes {
		return nil
	}
	return l.pay()
}
