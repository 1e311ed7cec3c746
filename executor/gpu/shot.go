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

// A shot is a launch made ready, with its parameters in memory of C.
type shot struct {
	lane    *lane
	c       *C.struct_gpu_shot
	blocks  int
	threads int
	room    int // blocks like its that the card holds
}

// Ready makes a launch ready.
func (g *card) Ready(r *executor.Ready) (executor.Shot, error) {
	f, ok := r.Flight.(*flight)
	if !ok || f.m != g.machine {
		return nil, fmt.Errorf("a flight of another device: %T", r.Flight)
	}
	if r.Two != nil {
		k, err := g.machine.kernel(g, executor.DType(r.Two.Params.DType).String(), entries[r.Two.Params.Proto])
		if err != nil {
			return nil, err
		}
		return newShot(f, k, r.Two.Params.BlockCount, 1, r.Threads, r.Two)
	}
	k, err := g.oneKernel(r)
	if err != nil {
		return nil, err
	}
	if r.Few != nil {
		return newShot(f, k, r.One.Columns, r.One.BlockCount, r.Threads, &executor.FewLaunch{Few: *r.Few, One: *r.One})
	}
	return newShot(f, k, r.One.Columns, r.One.BlockCount, r.Threads, r.One)
}

// newShot makes a launch of columns by blocks ready, whose parameters lie as the kernel takes
// them.
func newShot[P any](f *flight, k kernel, columns, blocks uint32, threads int, params *P) (executor.Shot, error) {
	s := &shot{blocks: int(columns) * int(blocks)}
	var err error
	if s.threads, s.room, err = k.fit(s.blocks, threads); err != nil {
		return nil, err
	}
	s.c = (*C.struct_gpu_shot)(C.calloc(1, C.sizeof_struct_gpu_shot+C.size_t(unsafe.Sizeof(*params))))
	s.c.function, s.c.columns, s.c.blocks = k.entry, C.u32(columns), C.u32(blocks)
	s.c.threads, s.c.bytes = C.u32(s.threads), C.u32(unsafe.Sizeof(*params))
	*(*P)(unsafe.Add(unsafe.Pointer(s.c), C.sizeof_struct_gpu_shot)) = *params
	if err := f.add(k.gpu, s); err != nil {
		C.free(unsafe.Pointer(s.c))
		return nil, err
	}
	return s, nil
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
