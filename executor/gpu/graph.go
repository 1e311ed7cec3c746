//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"mscclc/executor"
)

// A graph is captured work, and what launches of plans it holds.
type graph struct {
	g      *gpu
	mu     sync.Mutex // held through a launch
	handle unsafe.Pointer
	noting sync.Mutex // while it is captured
	loads  []load     // by number of sequence
}

// add notes a launch that is captured.
func (r *graph) add(s *prepared) {
	r.noting.Lock()
	defer r.noting.Unlock()
	at, found := slices.BinarySearchFunc(r.loads, s.sequence.number,
		func(w load, n uint64) int { return cmp.Compare(w.sequence.number, n) })
	if !found {
		r.loads = slices.Insert(r.loads, at, load{sequence: s.sequence, room: s.room})
	}
	w := &r.loads[at]
	w.launches, w.blocks, w.room = w.launches+1, max(w.blocks, s.blocks), min(w.room, s.room)
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
	g.machine.admission.capture.Store(uint64(number), &graph{g: g})
	return nil
}

func (s *stream) EndCapture() (executor.Graph, error) {
	g := s.g
	var number C.u64
	if err := g.failed(C.mscclc_gpu_capturing(g.c, s.handle, &number), "capturing"); err != nil {
		return nil, err
	}
	v, ok := g.machine.admission.capture.LoadAndDelete(uint64(number))
	if !ok {
		return nil, fmt.Errorf("%v: the end of what is not captured", g)
	}
	r := v.(*graph)
	err := g.failed(C.mscclc_gpu_capture_end(g.c, s.handle, &r.handle), "making a graph")
	for _, l := range g.all() {
		err = errors.Join(err, l.settleSoon())
	}
	return r, err
}

// Launch starts all that was captured: the streams of all its plans follow it.
func (r *graph) Launch(on executor.Stream) error {
	st, ok := on.(*stream)
	if !ok || st.g != r.g {
		return fmt.Errorf("a graph for %v, on a stream of %v", r.g, on.GPU())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handle == nil {
		return errors.New("a launch of a graph that is closed")
	}
	for _, w := range r.loads {
		w.sequence.mu.Lock()
	}
	err := r.launch(st)
	for _, w := range r.loads {
		w.sequence.mu.Unlock()
	}
	for _, w := range r.loads {
		err = errors.Join(err, w.sequence.settleSoon())
	}
	return err
}

// launch is Launch, with all sequences locked.
func (r *graph) launch(st *stream) error {
	for _, w := range r.loads {
		if err := w.sequence.follow(st); err != nil {
			return err
		}
	}
	start := func() error {
		return r.g.failed(C.mscclc_gpu_graph(r.g.c, r.handle, st.handle), "launching a graph")
	}
	count(r.loads)
	if r.g.machine.admission.byTicket.Load() != 0 {
		uncount(r.loads)
		return r.g.inTurn(st, r.loads, start)
	}
	if err := start(); err != nil {
		uncount(r.loads)
		return err
	}
	for _, w := range r.loads {
		w.sequence.last.Store(st)
	}
	return nil
}

func (r *graph) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handle == nil {
		return nil
	}
	err := r.g.failed(C.mscclc_gpu_graph_end(r.g.c, r.handle), "ending a graph")
	r.handle = nil
	return err
}
