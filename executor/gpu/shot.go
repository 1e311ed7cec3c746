//go:build cgo && linux

package gpu

// #include "driver.h"
// #include <stdlib.h>
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
)

// A shot is a prepared launch, with its parameters in memory of C.
type shot struct {
	lane    *lane
	mu      sync.Mutex // held through a launch
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
		image, entry := twoEntry(&r.Two.Params, r.Trace != nil)
		k, err := g.machine.kernel(g, image, entry)
		if err != nil {
			return nil, err
		}
		if r.Trace != nil {
			return newShot(f, k, r.Two.Params.BlockCount, 1, r, &abi.TwoTraced{Two: *r.Two, Trace: *r.Trace})
		}
		return newShot(f, k, r.Two.Params.BlockCount, 1, r, r.Two)
	}
	k, err := g.oneKernel(r)
	if err != nil {
		return nil, err
	}
	if r.Few != nil {
		return newShot(f, k, r.One.Columns, r.One.BlockCount, r, &abi.FewLaunch{Few: *r.Few, One: *r.One})
	}
	return newShot(f, k, r.One.Columns, r.One.BlockCount, r, r.One)
}

// newShot makes a launch of replicas by blocks ready, whose parameters lie as the kernel takes
// them.
func newShot[P any](f *flight, k kernel, columns, blocks uint32, r *executor.Ready, params *P) (executor.Shot, error) {
	s := &shot{blocks: cmp.Or(r.CTAs, int(columns)*int(blocks))}
	var err error
	if s.threads, s.room, err = k.fit(s.blocks, r.Threads, r.Shared); err != nil {
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
	l, err := f.lane(g)
	if err != nil {
		return err
	}
	s.lane = l
	a := &f.m.air
	a.mu.Lock()
	l.shots[s] = true
	crowds := a.crowded.Load() == 0 && !g.fits()
	a.mu.Unlock()
	if !crowds {
		return nil
	}
	if err := f.m.crowd(); err != nil {
		s.leave()
		return err
	}
	return nil
}

func (s *shot) leave() {
	a := &s.lane.g.machine.air
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(s.lane.shots, s)
}

func (s *shot) Threads() int { return s.threads }

func (s *shot) Room() int { return s.room }

func (s *shot) Close() error {
	s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	C.free(unsafe.Pointer(s.c))
	s.c = nil
	return nil
}

// Launch starts the shot on a stream of its card.
func (s *shot) Launch(on executor.Stream) error {
	st, ok := on.(*stream)
	if !ok || st.g != s.lane.g {
		return fmt.Errorf("a launch for %v, on a stream of %v", s.lane.g, on.GPU())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return errors.New("a launch of a call that is closed")
	}
	s.lane.mu.Lock()
	err := s.launch(st)
	if left := s.lane.unlock(); err == nil {
		err = left
	}
	return err
}

// launch is Launch, under the lane's mu.
func (s *shot) launch(st *stream) error {
	l, g := s.lane, st.g
	if err := l.follow(st); err != nil {
		return err
	}
	code := C.mscclc_gpu_shoot(g.c, s.c, st.handle, (*C.u64)(unsafe.Pointer(&l.launched)),
		(*C.u32)(unsafe.Pointer(&g.machine.air.crowded)), &l.capture)
	if code == C.GPU_CROWDED {
		return g.inTurn(st, []load{{l, 1, s.blocks, s.room}}, func() error {
			return s.failed(C.mscclc_gpu_shoot(g.c, s.c, st.handle, nil, nil, &l.capture))
		})
	}
	if code != 0 {
		return s.failed(code)
	}
	if l.capture == 0 {
		l.last.Store(st)
	} else if v, ok := g.machine.air.capture.Load(uint64(l.capture)); ok {
		v.(*graph).add(s)
	} // else it is captured for another library, and what is launched by that is not counted
	return nil
}

func (s *shot) failed(code C.int) error {
	return s.lane.g.failed(code, "a launch of %d blocks of %d threads", s.blocks, s.threads)
}

// follow has a launch be behind the flight's last, where that is on another stream.
// What is captured is placed when its graph is launched.
func (l *lane) follow(st *stream) error {
	last := l.last.Load()
	if last == nil || last.handle == st.handle {
		return nil
	}
	if captured, err := l.g.captured(st); err != nil || captured {
		return err
	}
	return errors.Join(last.Record(l.moved), st.Await(l.moved))
}
