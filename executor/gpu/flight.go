//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"mscclc/executor"
)

// This file keeps flights: where the launches of plans are. Which of them wait for others is crowd.go's.
//
// A driver has who launches wait while a stream's queue is full: until kernels there end, which may wait for
// those of other GPUs, whose threads are yet to launch them. So nobody may keep these threads:
//
//   - lane.mu, of one flight on one card, is held through a launch with all its calls of the driver. Other
//     flights and other cards have others. Who is no launch takes it only if it is free (settle), or is a call for
//     that flight alone, or for a stream that it has launched on (Mark, Close, forget). Who takes several, of a graph
//     on one card, takes them by number.
//   - air.mu, of the machine, guards what is noted of launches, and no call of the driver is made under it.
//     It is taken behind lane.mu, and never the other way round.
//
// A launch therefore waits for room in its own stream's queue, for a launch of its own flight on its own card,
// and for nothing else of this package.

// A flight is the launches of a plan.
type flight struct {
	m       *machine
	making  sync.Mutex        // held while a lane is made
	lanes   []*lane           // of each card; air.mu guards this and the rest, and who has a copy may keep it
	tickets map[uint64]uint64 // by number of launch, of those that are not over everywhere
	failed  bool
}

// A lane is a flight on one card.
type lane struct {
	flight *flight
	g      *card
	number uint64 // the order in which mu of several lanes are taken
	shots  map[*shot]bool
	word   *word

	mu      sync.Mutex             // held through a launch
	last    atomic.Pointer[stream] // of the last launch; mu guards changes
	moved   *event                 // ties a launch to the last one on another stream
	mark    *event
	capture C.u64 // what a launch is noted in
	closed  bool

	marked   atomic.Bool
	launched atomic.Uint64 // also by C
	owes     atomic.Bool   // the word is yet to be raised behind what was launched before the machine was crowded
}

// A word is of the host, and counts launches that are over, while the machine is crowded.
type word struct {
	g     *card
	at    *uint64
	users int // who has yet to put a wait for it into a stream
}

func (w *word) c() *C.u64 { return (*C.u64)(unsafe.Pointer(w.at)) }

// An air is what all flights of a machine share.
type air struct {
	mu      sync.Mutex // held for moments; see above
	flights map[*flight]bool
	crowded atomic.Uint32 // read by C; mu guards changes
	ticket  uint64
	lanes   uint64 // made so far
	left    []*word
	capture sync.Map // *graph that is being captured, by the driver's number
}

// NewFlight begins the launches of a plan.
func (d device) NewFlight() (executor.Flight, error) {
	m := d.machine
	if _, err := m.open(nil); err != nil {
		return nil, err
	}
	m.air.mu.Lock()
	defer m.air.mu.Unlock()
	f := &flight{m: m, tickets: map[uint64]uint64{}}
	m.air.flights[f] = true
	return f, nil
}

// all returns the flight's lanes.
func (f *flight) all() []*lane {
	f.m.air.mu.Lock()
	defer f.m.air.mu.Unlock()
	return f.lanes
}

// all returns the lanes of all flights on a card.
func (g *card) all() []*lane {
	g.machine.air.mu.Lock()
	defer g.machine.air.mu.Unlock()
	return g.lanes
}

// lane returns the flight's on a card, which is made where there is none yet.
func (f *flight) lane(g *card) (*lane, error) {
	f.making.Lock()
	defer f.making.Unlock()
	for _, l := range f.all() {
		if l.g == g {
			return l, nil
		}
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
	l.word = &word{g: g, at: (*uint64)(unsafe.Pointer(words))}
	a := &f.m.air
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lanes++
	l.number = a.lanes
	f.lanes = append(slices.Clip(f.lanes), l)
	g.lanes = append(slices.Clip(g.lanes), l)
	return l, nil
}

// unlock ends a launch.
func (l *lane) unlock() error {
	l.mu.Unlock()
	return l.settleSoon()
}

// captured reports whether a stream notes what is put there.
func (g *card) captured(st *stream) (bool, error) {
	var capture C.u64
	err := g.failed(C.mscclc_gpu_capturing(g.c, st.handle, &capture), "looking at a stream")
	return capture != 0, err
}

// Mark notes what was launched.
func (f *flight) Mark() error {
	for _, l := range f.all() {
		l.mu.Lock()
		var err error
		if last := l.last.Load(); last != nil {
			if err = last.Record(l.mark); err == nil {
				l.marked.Store(true)
			}
		}
		if err = errors.Join(err, l.unlock()); err != nil {
			return err
		}
	}
	return nil
}

// Busy reports whether what was marked still runs.
func (f *flight) Busy() (bool, error) {
	for _, l := range f.all() {
		if !l.marked.Load() {
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
	f.m.air.mu.Lock()
	defer f.m.air.mu.Unlock()
	f.failed = true
	f.words(released)
	for _, l := range f.lanes {
		l.owes.Store(false)
	}
}

// Renew ends that.
func (f *flight) Renew() {
	f.m.air.mu.Lock()
	defer f.m.air.mu.Unlock()
	most := uint64(0)
	for _, l := range f.lanes {
		most = max(most, l.launched.Load())
	}
	f.failed = false
	f.words(most)
	for _, l := range f.lanes {
		l.launched.Store(most)
		l.owes.Store(false)
	}
	clear(f.tickets)
}

// released is a word that nobody waits for any more. Drivers compare cyclically: 2^63 and more would be before any.
const released = 1 << 62

// words sets the words of a flight.
func (f *flight) words(to uint64) {
	for _, l := range f.lanes {
		atomic.StoreUint64(l.word.at, to)
	}
}

// Close is for a flight of which nothing runs, and nothing is launched any more.
func (f *flight) Close() error {
	lanes, words := f.leave()
	var errs []error
	for _, l := range lanes {
		l.mu.Lock()
		l.closed = true
		l.last.Store(nil)
		errs = append(errs, l.moved.Close(), l.mark.Close())
		l.mu.Unlock()
	}
	for _, w := range words {
		errs = append(errs, w.g.failed(C.mscclc_gpu_words_end(w.g.c, w.c()), "words of the host"))
	}
	return errors.Join(errs...)
}

// leave takes a flight out of what all share, and says which words nobody needs any more. Its own another may just
// be about to wait for: they are freed with those of the next flight, or of the last.
func (f *flight) leave() (lanes []*lane, words []*word) {
	a := &f.m.air
	a.mu.Lock()
	defer a.mu.Unlock()
	f.words(released)
	a.left = slices.DeleteFunc(a.left, func(w *word) bool {
		if w.users == 0 {
			words = append(words, w)
		}
		return w.users == 0
	})
	lanes, f.lanes = f.lanes, nil
	for _, l := range lanes {
		l.g.lanes = slices.DeleteFunc(slices.Clone(l.g.lanes), func(other *lane) bool { return other == l })
		a.left = append(a.left, l.word)
	}
	delete(a.flights, f)
	if len(a.flights) == 0 {
		words, a.left = append(words, a.left...), nil
		a.crowded.Store(0)
	}
	return lanes, words
}

// forget has no lane look at a stream that is about to end; its work is over.
func (g *card) forget(s *stream) error {
	var errs []error
	for _, l := range g.all() {
		if last := l.last.Load(); last == nil || last.handle != s.handle {
			continue
		}
		l.mu.Lock()
		if last := l.last.Load(); last != nil && last.handle == s.handle {
			l.last.Store(nil)
			l.marked.Store(false)
		}
		errs = append(errs, l.unlock())
	}
	return errors.Join(errs...)
}
