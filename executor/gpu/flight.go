//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"errors"
	"sync"
	"unsafe"

	"mscclc/executor"
)

// This file keeps flights: where the launches of plans are, and in which order
// those go that have no room together.
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

// A flight is the launches of a plan.
type flight struct {
	m       *machine
	lanes   map[*card]*lane
	tickets map[uint64]uint64 // by number of launch, of those that are not over everywhere
	failed  bool
}

// A lane is a flight on one card.
type lane struct {
	flight   *flight
	g        *card
	mu       sync.Mutex // held through a launch
	shots    map[*shot]bool
	launched uint64
	last     *stream // of the last launch
	moved    *event  // ties a launch to the last one on another stream
	mark     *event
	marked   bool
	word     *uint64 // launches that are over, while the machine is crowded
}

// An air is what all flights of a machine share. Who launches holds it shared, or
// exclusively where the machine is crowded.
type air struct {
	sync.RWMutex
	flights map[*flight]bool
	crowded bool
	ticket  uint64
	capture sync.Map // *graph that is being captured, by the driver's number
}

// NewFlight begins the launches of a plan.
func (d device) NewFlight() (executor.Flight, error) {
	m := d.machine
	if _, err := m.open(nil); err != nil {
		return nil, err
	}
	m.air.Lock()
	defer m.air.Unlock()
	f := &flight{m: m, lanes: map[*card]*lane{}, tickets: map[uint64]uint64{}}
	m.air.flights[f] = true
	return f, nil
}

// lane is the flight's on a card, which is made where there is none yet.
func (f *flight) lane(g *card) (*lane, error) {
	if l := f.lanes[g]; l != nil {
		return l, nil
	}
	l := &lane{flight: f, g: g, shots: map[*shot]bool{}}
	var err error
	if l.moved, err = g.newEvent(); err != nil {
		return nil, err
	}
	var words *C.u64
	if l.mark, err = g.newEvent(); err == nil {
		err = g.failed(C.mscclc_gpu_words(g.c, 8, &words), "words of the host")
	}
	if err != nil {
		return nil, errors.Join(err, l.moved.Close(), l.mark.Close())
	}
	l.word = (*uint64)(unsafe.Pointer(words))
	f.lanes[g] = l
	g.lanes = append(g.lanes, l)
	return l, nil
}

// needs are the blocks of the largest launch that is ready, and how many like
// those of the largest a card holds.
func (l *lane) needs() (blocks, room int) {
	room = 1 << 30
	for s := range l.shots {
		blocks, room = max(blocks, s.blocks), min(room, s.room)
	}
	return blocks, room
}

// fits says whether everything that is ready on a card has room at once.
func (g *card) fits() bool {
	blocks, room := 0, 1<<30
	for _, l := range g.lanes {
		b, r := l.needs()
		blocks, room = blocks+b, min(room, r)
	}
	return blocks <= room
}

// crowd has launches draw tickets from now on. Those that run, or have begun on some
// cards only, are the oldest.
func (m *machine) crowd() error {
	if m.air.crowded {
		return nil
	}
	for f := range m.air.flights {
		if err := f.countWords(); err != nil {
			return err
		}
	}
	m.air.crowded = true
	for f := range m.air.flights {
		least, most := ^uint64(0), uint64(0)
		for _, l := range f.lanes {
			least, most = min(least, l.launched), max(most, l.launched)
		}
		for n := max(least, 1); n <= most && len(f.lanes) > 0; n++ {
			m.draw(f, n)
		}
	}
	return nil
}

// countWords has the words of a flight be raised behind what runs.
func (f *flight) countWords() error {
	for _, l := range f.lanes {
		if l.last == nil {
			continue
		}
		var capture C.u64
		if err := l.g.failed(C.mscclc_gpu_capturing(l.g.c, l.last.handle, &capture), "looking at a stream"); err != nil {
			return err
		}
		if capture != 0 {
			return errors.New("there is no room for this call beside those of other plans, one of which is being captured: bind it before")
		}
		if err := l.raise(l.last, l.launched); err != nil {
			return err
		}
	}
	return nil
}

func (l *lane) raise(s *stream, to uint64) error {
	return l.g.failed(C.mscclc_gpu_raise(l.g.c, s.handle, (*C.u64)(unsafe.Pointer(l.word)), C.u64(to)), "a word that others wait for")
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

// Mark notes what was launched.
func (f *flight) Mark() error {
	f.m.air.Lock()
	defer f.m.air.Unlock()
	for _, l := range f.lanes {
		if l.last == nil {
			continue
		}
		if err := l.last.Record(l.mark); err != nil {
			return err
		}
		l.marked = true
	}
	return nil
}

// Busy says whether what was marked still runs.
func (f *flight) Busy() (bool, error) {
	f.m.air.RLock()
	defer f.m.air.RUnlock()
	for _, l := range f.lanes {
		if !l.marked {
			continue
		}
		var busy C.int
		if err := l.g.failed(C.mscclc_gpu_happened(l.g.c, l.mark.handle, &busy), "an event"); err != nil {
			return true, err
		}
		if busy != 0 {
			return true, nil
		}
	}
	return false, nil
}

// Release lets all others go on. A word may yet be raised, to less, by what leaves;
// so whoever waits for the flight's end calls this again and again.
func (f *flight) Release() {
	f.m.air.Lock()
	defer f.m.air.Unlock()
	f.failed = true
	f.words(func(*lane) uint64 { return ^uint64(0) })
}

// Renew ends that.
func (f *flight) Renew() {
	f.m.air.Lock()
	defer f.m.air.Unlock()
	most := uint64(0)
	for _, l := range f.lanes {
		most = max(most, l.launched)
	}
	f.failed = false
	f.words(func(l *lane) uint64 {
		l.launched = most
		return most
	})
	clear(f.tickets)
}

// Close is for a flight of which nothing runs, and nothing is launched any more.
func (f *flight) Close() error {
	f.m.air.Lock()
	defer f.m.air.Unlock()
	f.words(func(*lane) uint64 { return ^uint64(0) })
	var errs []error
	for g, l := range f.lanes {
		for i := range g.lanes {
			if g.lanes[i] == l {
				g.lanes = append(g.lanes[:i], g.lanes[i+1:]...)
				break
			}
		}
		errs = append(errs, l.moved.Close(), l.mark.Close())
		errs = append(errs, g.failed(C.mscclc_gpu_words_end(g.c, (*C.u64)(unsafe.Pointer(l.word))), "words of the host"))
	}
	f.lanes = map[*card]*lane{}
	delete(f.m.air.flights, f)
	if len(f.m.air.flights) == 0 {
		f.m.air.crowded = false
	}
	return errors.Join(errs...)
}

// forget has no lane look at a stream that is about to end; its work is over.
func (g *card) forget(s *stream) {
	g.machine.air.Lock()
	defer g.machine.air.Unlock()
	for _, l := range g.lanes {
		if l.last != nil && l.last.handle == s.handle {
			l.last, l.marked = nil, false
		}
	}
}
