//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"mscclc/executor"
)

// A graph is captured work, and what launches of flights it holds.
type graph struct {
	g      *card
	handle unsafe.Pointer
	number uint64 // of its capture
	mu     sync.Mutex
	loads  map[*lane]load
}

// add notes a launch that is captured.
func (r *graph) add(l *lane, s *shot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.loads[l]
	if !ok {
		w.room = s.room
	}
	r.loads[l] = load{w.launches + 1, max(w.blocks, s.blocks), min(w.room, s.room)}
}

func (s *stream) Capture() error {
	g := s.g
	if err := g.failed(C.mscclc_gpu_capture(g.c, s.handle), "capturing"); err != nil {
		return err
	}
	var number C.u64
	if err := g.failed(C.mscclc_gpu_capturing(g.c, s.handle, &number), "capturing"); err != nil {
		return err
	}
	g.machine.air.capture.Store(uint64(number), &graph{g: g, number: uint64(number), loads: map[*lane]load{}})
	return nil
}

func (s *stream) EndCapture() (executor.Graph, error) {
	g := s.g
	var number C.u64
	if err := g.failed(C.mscclc_gpu_capturing(g.c, s.handle, &number), "capturing"); err != nil {
		return nil, err
	}
	v, ok := g.machine.air.capture.LoadAndDelete(uint64(number))
	if !ok {
		return nil, fmt.Errorf("%v: the end of what is not captured", g)
	}
	r := v.(*graph)
	return r, g.failed(C.mscclc_gpu_capture_end(g.c, s.handle, &r.handle), "making a graph")
}

// Launch starts all that was captured: the streams of all its flights follow it.
func (r *graph) Launch(on executor.Stream) error {
	st, ok := on.(*stream)
	if !ok || st.g != r.g {
		return fmt.Errorf("a graph for %v, on a stream of %v", r.g, on.GPU())
	}
	if r.handle == nil {
		return errors.New("a launch of a graph that is closed")
	}
	a := &r.g.machine.air
	a.Lock()
	defer a.Unlock()
	for l := range r.loads {
		if err := l.follow(st); err != nil {
			return err
		}
	}
	if a.crowded {
		if err := r.g.hold(st, r.loads); err != nil {
			return err
		}
	}
	if err := r.g.failed(C.mscclc_gpu_graph(r.g.c, r.handle, st.handle), "launching a graph"); err != nil {
		return err
	}
	for l, w := range r.loads {
		l.launched += w.launches
		l.last = st
		if a.crowded {
			if err := l.raise(st, l.launched); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *graph) Close() error {
	if r.handle == nil {
		return nil
	}
	err := r.g.failed(C.mscclc_gpu_graph_end(r.g.c, r.handle), "ending a graph")
	r.handle = nil
	return err
}
