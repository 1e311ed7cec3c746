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

// A prepared is a prepared launch. Its parameters lie in memory of C.
type prepared struct {
	sequence *sequence
	mu       sync.Mutex // held through a launch
	c        *C.struct_gpu_prepared
	blocks   int
	threads  int
	room     int // how many blocks of its kind the GPU holds
}

// Ready makes a launch ready.
func (g *gpu) Ready(r *executor.Ready) (executor.PreparedLaunch, error) {
	ord, ok := r.Order.(*order)
	if !ok || ord.m != g.machine {
		return nil, fmt.Errorf("a plan of another device: %T", r.Order)
	}
	if r.Two != nil {
		image, entry := twoEntry(&r.Two.Params, r.Trace != nil)
		k, err := g.machine.kernel(g, image, entry)
		if err != nil {
			return nil, err
		}
		if r.Trace != nil {
			return newPrepared(ord, k, r.Two.Params.BlockCount, 1, r, &abi.TwoTraced{Two: *r.Two, Trace: *r.Trace})
		}
		return newPrepared(ord, k, r.Two.Params.BlockCount, 1, r, r.Two)
	}
	k, err := g.oneKernel(r)
	if err != nil {
		return nil, err
	}
	if r.Rows != nil && r.Few != nil {
		return newPrepared(ord, k, r.One.Replicas, r.One.BlockCount, r, abi.NewFewRowsLaunch(r.Few, r.One, r.Rows))
	}
	if r.Rows != nil {
		return newPrepared(ord, k, r.One.Replicas, r.One.BlockCount, r, &abi.RowsLaunch{One: *r.One, Rows: *r.Rows})
	}
	if r.Few != nil {
		return newPrepared(ord, k, r.One.Replicas, r.One.BlockCount, r, &abi.FewLaunch{Few: *r.Few, One: *r.One})
	}
	return newPrepared(ord, k, r.One.Replicas, r.One.BlockCount, r, r.One)
}

// newPrepared makes a launch of replicas by blocks ready, whose parameters lie as the kernel takes
// them.
func newPrepared[P any](ord *order, k kernel, replicas, blocks uint32, r *executor.Ready, params *P) (
	executor.PreparedLaunch, error) {
	s := &prepared{blocks: cmp.Or(r.CTAs, int(replicas)*int(blocks))}
	var err error
	if s.threads, s.room, err = k.fit(s.blocks, r.Threads, r.Shared, rowThreads(r)); err != nil {
		return nil, err
	}
	s.c = (*C.struct_gpu_prepared)(C.calloc(1, C.sizeof_struct_gpu_prepared+C.size_t(unsafe.Sizeof(*params))))
	s.c.function, s.c.replicas, s.c.blocks = k.entry, C.u32(replicas), C.u32(blocks)
	s.c.threads, s.c.bytes = C.u32(s.threads), C.u32(unsafe.Sizeof(*params))
	*(*P)(unsafe.Add(unsafe.Pointer(s.c), C.sizeof_struct_gpu_prepared)) = *params
	if err := ord.add(k.gpu, s); err != nil {
		C.free(unsafe.Pointer(s.c))
		return nil, err
	}
	return s, nil
}

// add adds a prepared launch to those that its GPU must have room for.
func (ord *order) add(g *gpu, s *prepared) error {
	l, err := ord.sequence(g)
	if err != nil {
		return err
	}
	s.sequence = l
	a := &ord.m.admission
	a.mu.Lock()
	l.prepared[s] = true
	overflows := a.byTicket.Load() == 0 && !g.fits()
	a.mu.Unlock()
	if !overflows {
		return nil
	}
	if err := ord.m.admitByTicket(); err != nil {
		s.leave()
		return err
	}
	return nil
}

func (s *prepared) leave() {
	a := &s.sequence.g.machine.admission
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(s.sequence.prepared, s)
}

func (s *prepared) Threads() int { return s.threads }

func (s *prepared) Room() int { return s.room }

func (s *prepared) Close() error {
	s.leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	C.free(unsafe.Pointer(s.c))
	s.c = nil
	return nil
}

// Launch starts it on a stream of its GPU.
func (s *prepared) Launch(on executor.Stream) error {
	st, ok := on.(*stream)
	if !ok || st.g != s.sequence.g {
		return fmt.Errorf("a launch for %v, on a stream of %v", s.sequence.g, on.GPU())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return errors.New("a launch of a call that is closed")
	}
	s.sequence.mu.Lock()
	err := s.launch(st)
	if left := s.sequence.unlock(); err == nil {
		err = left
	}
	return err
}

// launch is Launch, under the sequence's mu.
func (s *prepared) launch(st *stream) error {
	l, g := s.sequence, st.g
	if err := l.follow(st); err != nil {
		return err
	}
	code := C.mscclc_gpu_launch(g.c, s.c, st.handle, (*C.u64)(unsafe.Pointer(&l.launched)),
		(*C.u32)(unsafe.Pointer(&g.machine.admission.byTicket)), &l.capture)
	if code == C.GPU_OVERSUBSCRIBED {
		return g.inTurn(st, []load{{l, 1, s.blocks, s.room}}, func() error {
			return s.failed(C.mscclc_gpu_launch(g.c, s.c, st.handle, nil, nil, &l.capture))
		})
	}
	if code != 0 {
		return s.failed(code)
	}
	if l.capture == 0 {
		l.last.Store(st)
	} else if v, ok := g.machine.admission.capture.Load(uint64(l.capture)); ok {
		v.(*graph).add(s)
	} // else it is captured for another library, and what is launched by that is not counted
	return nil
}

func (s *prepared) failed(code C.int) error {
	return s.sequence.g.failed(code, "a launch of %d blocks of %d threads", s.blocks, s.threads)
}

// follow has a launch come after the last one of its sequence, where that is on another stream.
// What is captured is placed when its graph is launched.
func (l *sequence) follow(st *stream) error {
	last := l.last.Load()
	if last == nil || last.handle == st.handle {
		return nil
	}
	if captured, err := l.g.captured(st); err != nil || captured {
		return err
	}
	return errors.Join(last.Record(l.moved), st.Await(l.moved))
}
