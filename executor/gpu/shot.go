//go:build cgo && linux

package gpu

// #include "driver.h"
// #include <stdlib.h>
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"unsafe"

	"mscclc/executor"
)

// A shot is a launch of a one-sided program made ready, with its parameters in
// memory of C.
type shot struct {
	lane    *lane
	c       *C.struct_gpu_shot
	blocks  int
	threads int
	room    int // blocks like its that the card holds
}

// oneEntry is the entry of the kernel for one-sided programs.
func oneEntry(op executor.RedOp, copies, few bool) string {
	switch {
	case few && copies:
		return "mscclc_few_copy"
	case few:
		return "mscclc_few_sum"
	case copies:
		return "mscclc_onesided_copy"
	case op == executor.Sum:
		return "mscclc_onesided_sum"
	}
	return "mscclc_onesided"
}

// oneImage is the image for a launch. Those that trace, and the switch's, there are
// for some types and GPUs only.
func oneImage(p *executor.OneParams) string {
	kind := "onesided_"
	switch {
	case p.Trace != 0:
		kind = "trace_"
	case p.All != executor.OneMemory{}:
		kind = switchImages
	}
	return kind + executor.DType(p.DType).String()
}

// switchImages is how the names of the images begin that go through NVLink's switch.
const switchImages = "switch_"

// Load has the kernels for a type ready.
func (g *card) Load(t executor.DType) error {
	_, err := g.machine.kernel(g, "onesided_"+t.String(), oneEntry(executor.Sum, false, false))
	return err
}

// Ready makes a launch ready.
func (g *card) Ready(r *executor.Ready) (executor.Shot, error) {
	f, ok := r.Flight.(*flight)
	if !ok || f.m != g.machine {
		return nil, fmt.Errorf("a flight of another device: %T", r.Flight)
	}
	image, op := oneImage(r.Params), executor.RedOp(r.Params.RedOp)
	k, err := g.machine.kernel(g, image, oneEntry(op, r.Copies, r.Few != nil))
	if err != nil && r.Copies { // the entries that fold copy too
		k, err = g.machine.kernel(g, image, oneEntry(op, false, r.Few != nil))
	}
	if err != nil {
		return nil, err
	}
	s := &shot{blocks: int(r.Params.Columns) * int(r.Params.BlockCount)}
	if s.threads, s.room, err = k.fit(s.blocks, r.Threads); err != nil {
		return nil, err
	}
	s.c = newShot(r)
	s.c.function, s.c.columns, s.c.blocks, s.c.threads = k.entry, C.u32(r.Params.Columns), C.u32(r.Params.BlockCount), C.u32(s.threads)
	if err := f.add(g, s); err != nil {
		C.free(unsafe.Pointer(s.c))
		return nil, err
	}
	return s, nil
}

// newShot has the launch's parameters behind it, in memory of C.
func newShot(r *executor.Ready) *C.struct_gpu_shot {
	bytes := unsafe.Sizeof(*r.Params)
	if r.Few != nil {
		bytes = unsafe.Sizeof(executor.FewLaunch{})
	}
	c := (*C.struct_gpu_shot)(C.calloc(1, C.sizeof_struct_gpu_shot+C.size_t(bytes)))
	c.bytes = C.u32(bytes)
	params := unsafe.Add(unsafe.Pointer(c), C.sizeof_struct_gpu_shot)
	if r.Few != nil {
		*(*executor.FewLaunch)(params) = executor.FewLaunch{Few: *r.Few, One: *r.Params}
	} else {
		*(*executor.OneParams)(params) = *r.Params
	}
	return c
}

// add has a shot take part in what its card must have room for.
func (f *flight) add(g *card, s *shot) error {
	f.m.air.Lock()
	defer f.m.air.Unlock()
	var err error
	if s.lane, err = f.lane(g); err != nil {
		return err
	}
	s.lane.shots[s] = true
	if g.fits() {
		return nil
	}
	if err := f.m.crowd(); err != nil {
		delete(s.lane.shots, s)
		return err
	}
	return nil
}

func (s *shot) Threads() int { return s.threads }

func (s *shot) Room() int { return s.room }

func (s *shot) Close() error {
	m := s.lane.g.machine
	m.air.Lock()
	defer m.air.Unlock()
	if s.c != nil {
		delete(s.lane.shots, s)
		C.free(unsafe.Pointer(s.c))
		s.c = nil
	}
	return nil
}

// Launch starts the shot on a stream of its card.
func (s *shot) Launch(on executor.Stream) error {
	st, ok := on.(*stream)
	if !ok || st.g != s.lane.g {
		return fmt.Errorf("a launch for %v, on a stream of %v", s.lane.g, on.GPU())
	}
	a := &s.lane.g.machine.air
	a.RLock()
	if a.crowded {
		a.RUnlock()
		a.Lock()
		defer a.Unlock()
		return s.inTurn(st)
	}
	defer a.RUnlock()
	l := s.lane
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.c == nil {
		return errors.New("a launch of a call that is closed")
	}
	if err := l.follow(st); err != nil {
		return err
	}
	capture, err := s.shoot(st)
	if err == nil {
		l.count(capture, st, s)
	}
	return err
}

// shoot is the launch itself; capture is where it was noted instead, or 0.
func (s *shot) shoot(st *stream) (capture uint64, err error) {
	var c C.u64
	code := C.mscclc_gpu_shoot(st.g.c, s.c, st.handle, &c)
	return uint64(c), st.g.failed(code, "a launch of %d blocks of %d threads", s.blocks, s.threads)
}

// follow has a launch be behind the flight's last, where that is on another stream.
// What is captured is placed when its graph is launched.
func (l *lane) follow(st *stream) error {
	if l.last == nil || l.last.handle == st.handle {
		return nil
	}
	var capture C.u64
	if err := l.g.failed(C.mscclc_gpu_capturing(l.g.c, st.handle, &capture), "looking at a stream"); err != nil || capture != 0 {
		return err
	}
	return errors.Join(l.last.Record(l.moved), st.Await(l.moved))
}

// count notes what was launched, or captured. A capture that is not known is another
// library's, and what is launched by it is not counted.
func (l *lane) count(capture uint64, st *stream, s *shot) {
	if capture == 0 {
		l.launched++
		l.last = st
		return
	}
	if v, ok := l.g.machine.air.capture.Load(capture); ok {
		v.(*graph).add(l, s)
	}
}

// inTurn is a launch on a machine that is crowded, which is held exclusively.
func (s *shot) inTurn(st *stream) error {
	l := s.lane
	if s.c == nil {
		return errors.New("a launch of a call that is closed")
	}
	var capture C.u64
	if err := l.g.failed(C.mscclc_gpu_capturing(l.g.c, st.handle, &capture), "looking at a stream"); err != nil {
		return err
	}
	if capture == 0 {
		if err := errors.Join(l.follow(st), l.g.hold(st, map[*lane]load{l: {1, s.blocks, s.room}})); err != nil {
			return err
		}
	}
	noted, err := s.shoot(st)
	if err != nil {
		return err
	}
	l.count(noted, st, s)
	if noted != 0 {
		return nil
	}
	return l.raise(st, l.launched)
}

// A load is what a launch, or a graph, brings to a lane: so many launches, of so many
// blocks, of the kind of which the card holds room.
type load struct {
	launches     uint64
	blocks, room int
}

// hold holds a stream until a launch has room beside those with older tickets.
func (g *card) hold(st *stream, of map[*lane]load) error {
	m := g.machine
	oldest, blocks, room := ^uint64(0), 0, 1<<30
	for l, w := range of {
		for n := l.launched + 1; n <= l.launched+w.launches; n++ {
			oldest = min(oldest, m.draw(l.flight, n))
		}
		blocks, room = blocks+w.blocks, min(room, w.room)
	}
	type older struct {
		l         *lane
		n, ticket uint64
	}
	var others []older
	for _, l := range g.lanes {
		if _, own := of[l]; own || l.flight.failed {
			continue
		}
		l.flight.prune()
		over := atomic.LoadUint64(l.word)
		for n, t := range l.flight.tickets {
			if n > over && t < oldest {
				others = append(others, older{l, n, t})
			}
		}
	}
	slices.SortFunc(others, func(a, b older) int { return cmp.Compare(b.ticket, a.ticket) }) // the youngest first
	beside := map[*lane]bool{}
	full := false
	for _, o := range others {
		b, r := o.l.needs()
		if !full && !beside[o.l] {
			full = blocks+b > min(room, r)
			if !full {
				beside[o.l] = true
				blocks, room = blocks+b, min(room, r)
			}
		}
		if !full {
			continue
		}
		if err := g.failed(C.mscclc_gpu_hold(g.c, st.handle, (*C.u64)(unsafe.Pointer(o.l.word)), C.u64(o.n)), "waiting for others' room"); err != nil {
			return err
		}
	}
	return nil
}

// prune forgets the tickets of what is over everywhere.
func (f *flight) prune() {
	over := ^uint64(0)
	for _, l := range f.lanes {
		over = min(over, atomic.LoadUint64(l.word))
	}
	for n := range f.tickets {
		if n <= over {
			delete(f.tickets, n)
		}
	}
}

// words sets the words of a flight.
func (f *flight) words(to func(*lane) uint64) {
	for _, l := range f.lanes {
		atomic.StoreUint64(l.word, to(l))
	}
}
