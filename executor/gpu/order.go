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

// This file orders the launches of plans. admission.go says which plans have no room together.
//
// A thread that launches waits in the driver while its stream's queue is full. The queue empties when kernels there
// end. These may wait for kernels of other GPUs, which other threads are yet to launch. So nobody may keep these
// threads waiting:
//
//   - sequence.mu, of the launches of one plan on one GPU, is held through a launch with all its calls of the driver.
//     Other plans and other GPUs have their own. Whatever is no launch takes it only if it is free (settle), or is a
//     call for that plan alone, or for a stream that the plan has launched on (Mark, Close, forget). A graph takes
//     several on one GPU, by number.
//   - admission.mu, of the machine, guards what is noted of launches. No call of the driver is made under it. It is
//     taken after sequence.mu, and never before it.
//
// So a launch waits for room in its own stream's queue, for a launch of its own plan on its own GPU, and for nothing
// else of this package.

// An order holds the launches of a plan.
type order struct {
	m         *machine
	making    sync.Mutex        // held while a sequence is made
	sequences []*sequence       // of each GPU; admission.mu guards this and the rest, and a copy may be kept
	tickets   map[uint64]uint64 // by number of launch, of those that are not over everywhere
	failed    bool
}

// A sequence is the launches of a plan on one GPU, one after the other.
type sequence struct {
	order    *order
	g        *gpu
	number   uint64 // the order in which mu of several sequences are taken
	prepared map[*prepared]bool
	counter  *counter

	mu      sync.Mutex             // held through a launch
	last    atomic.Pointer[stream] // of the last launch; mu guards changes
	moved   *event                 // ties a launch to the last one on another stream
	mark    *event
	capture C.u64 // what a launch is noted in
	closed  bool

	marked   atomic.Bool
	launched atomic.Uint64 // also by C
	owes     atomic.Bool   // the counter is yet to be raised after what was launched before tickets began
}

// A counter is a completion counter in memory of the host: it counts launches that are over, while launches have
// tickets.
type counter struct {
	g     *gpu
	at    *uint64
	users int // of those that have yet to put a wait for it into a stream
}

func (w *counter) c() *C.u64 { return (*C.u64)(unsafe.Pointer(w.at)) }

// An admission is what all plans of a machine share to be admitted in one order.
type admission struct {
	mu        sync.Mutex // held for moments; see above
	plans     map[*order]bool
	byTicket  atomic.Uint32 // read by C; mu guards changes
	ticket    uint64
	sequences uint64 // made so far
	left      []*counter
	capture   sync.Map // *graph that is being captured, by the driver's number
}

// NewLaunchOrder begins the launches of a plan.
func (d device) NewLaunchOrder() (executor.LaunchOrder, error) {
	m := d.machine
	if _, err := m.open(nil); err != nil {
		return nil, err
	}
	m.admission.mu.Lock()
	defer m.admission.mu.Unlock()
	ord := &order{m: m, tickets: map[uint64]uint64{}}
	m.admission.plans[ord] = true
	return ord, nil
}

// all returns the sequences of a plan.
func (ord *order) all() []*sequence {
	ord.m.admission.mu.Lock()
	defer ord.m.admission.mu.Unlock()
	return ord.sequences
}

// all returns the sequences of all plans on a GPU.
func (g *gpu) all() []*sequence {
	g.machine.admission.mu.Lock()
	defer g.machine.admission.mu.Unlock()
	return g.sequences
}

// sequence returns the plan's sequence on a GPU, and makes it if there is none.
func (ord *order) sequence(g *gpu) (*sequence, error) {
	ord.making.Lock()
	defer ord.making.Unlock()
	for _, l := range ord.all() {
		if l.g == g {
			return l, nil
		}
	}
	l := &sequence{order: ord, g: g, prepared: map[*prepared]bool{}}
	var err error
	if l.moved, err = g.newEvent(); err != nil {
		return nil, err
	}
	var counters *C.u64
	if l.mark, err = g.newEvent(); err == nil {
		err = g.failed(C.mscclc_gpu_words(g.c, 8, &counters), "counters of the host")
	}
	if err != nil {
		return nil, errors.Join(err, l.moved.Close(), l.mark.Close())
	}
	l.counter = &counter{g: g, at: (*uint64)(unsafe.Pointer(counters))}
	a := &ord.m.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sequences++
	l.number = a.sequences
	ord.sequences = append(slices.Clip(ord.sequences), l)
	g.sequences = append(slices.Clip(g.sequences), l)
	return l, nil
}

// unlock ends a launch.
func (l *sequence) unlock() error {
	l.mu.Unlock()
	return l.settleSoon()
}

// captured reports whether a stream notes what is put there.
func (g *gpu) captured(st *stream) (bool, error) {
	var capture C.u64
	err := g.failed(C.mscclc_gpu_capturing(g.c, st.handle, &capture), "looking at a stream")
	return capture != 0, err
}

// Mark notes what was launched.
func (ord *order) Mark() error {
	for _, l := range ord.all() {
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
func (ord *order) Busy() (bool, error) {
	for _, l := range ord.all() {
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

// Release lets all others go on. A counter may yet be raised, to less, by what leaves;
// so whoever waits for the end calls this again and again.
func (ord *order) Release() {
	ord.m.admission.mu.Lock()
	defer ord.m.admission.mu.Unlock()
	ord.failed = true
	ord.counters(released)
	for _, l := range ord.sequences {
		l.owes.Store(false)
	}
}

// Renew ends that.
func (ord *order) Renew() {
	ord.m.admission.mu.Lock()
	defer ord.m.admission.mu.Unlock()
	most := uint64(0)
	for _, l := range ord.sequences {
		most = max(most, l.launched.Load())
	}
	ord.failed = false
	ord.counters(most)
	for _, l := range ord.sequences {
		l.launched.Store(most)
		l.owes.Store(false)
	}
	clear(ord.tickets)
}

// released is a counter that nobody waits for any more. Drivers compare cyclically: 2^63 and more would be before any.
const released = 1 << 62

// counters sets the counters of a plan.
func (ord *order) counters(to uint64) {
	for _, l := range ord.sequences {
		atomic.StoreUint64(l.counter.at, to)
	}
}

// Close is for a plan of which nothing runs, and nothing is launched any more.
func (ord *order) Close() error {
	sequences, counters := ord.leave()
	var errs []error
	for _, l := range sequences {
		l.mu.Lock()
		l.closed = true
		l.last.Store(nil)
		errs = append(errs, l.moved.Close(), l.mark.Close())
		l.mu.Unlock()
	}
	for _, w := range counters {
		errs = append(errs, w.g.failed(C.mscclc_gpu_words_end(w.g.c, w.c()), "counters of the host"))
	}
	return errors.Join(errs...)
}

// leave takes a plan out of what all share, and returns the counters that nobody needs any more. Another plan may be
// about to wait for a counter of this one: that is freed when the next plan leaves, or the last.
func (ord *order) leave() (sequences []*sequence, counters []*counter) {
	a := &ord.m.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	ord.counters(released)
	a.left = slices.DeleteFunc(a.left, func(w *counter) bool {
		if w.users == 0 {
			counters = append(counters, w)
		}
		return w.users == 0
	})
	sequences, ord.sequences = ord.sequences, nil
	for _, l := range sequences {
		l.g.sequences = slices.DeleteFunc(slices.Clone(l.g.sequences), func(other *sequence) bool { return other == l })
		a.left = append(a.left, l.counter)
	}
	delete(a.plans, ord)
	if len(a.plans) == 0 {
		counters, a.left = append(counters, a.left...), nil
		a.byTicket.Store(0)
	}
	return sequences, counters
}

// forget has no sequence look at a stream that is about to end; its work is over.
func (g *gpu) forget(s *stream) error {
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
