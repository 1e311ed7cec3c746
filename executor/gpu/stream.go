//go:build cgo && linux

package gpu

// #include "driver.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"mscclc/executor"
)

// A stream is a queue of work of a GPU. One that is foreign is another library's.
type stream struct {
	g       *gpu
	handle  unsafe.Pointer
	foreign bool
}

// NewStream makes a stream.
func (g *gpu) NewStream() (executor.Stream, error) {
	s := &stream{g: g}
	err := g.failed(C.mscclc_gpu_stream(g.c, &s.handle), "a stream")
	return s, err
}

// StreamOf is another library's stream.
func (g *gpu) StreamOf(handle uintptr) executor.Stream {
	s := &stream{g: g, foreign: true}
	*(*uintptr)(unsafe.Pointer(&s.handle)) = handle
	return s
}

func (s *stream) GPU() executor.GPU { return s.g }

func (s *stream) Handle() uintptr { return uintptr(s.handle) }

func (s *stream) Busy() (bool, error) {
	var busy C.int
	err := s.g.failed(C.mscclc_gpu_busy(s.g.c, s.handle, &busy), "looking at a stream")
	return busy != 0, err
}

func (s *stream) Sync(ctx context.Context) error { return executor.Await(ctx, s.Busy) }

func (s *stream) Put(address uint64, from []byte) error { return s.g.write(s.handle, address, from) }

func (s *stream) Get(to []byte, address uint64) error { return s.g.read(s.handle, to, address) }

func (s *stream) Copy(to, from uint64, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return s.g.failed(C.mscclc_gpu_copy(s.g.c, s.handle, C.u64(to), C.u64(from), C.u64(bytes)), "copying on it")
}

func (s *stream) Fill(address uint64, value byte, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	return s.g.failed(C.mscclc_gpu_fill(s.g.c, s.handle, C.u64(address), C.u8(value), C.u64(bytes)), "filling memory")
}

func (s *stream) Record(e executor.Event) error {
	v, err := eventOf(e)
	if err != nil {
		return err
	}
	return s.g.failed(C.mscclc_gpu_record(s.g.c, v.handle, s.handle), "an event")
}

func (s *stream) Await(e executor.Event) error {
	v, err := eventOf(e)
	if err != nil {
		return err
	}
	return s.g.failed(C.mscclc_gpu_await(s.g.c, s.handle, v.handle), "waiting for an event")
}

func (s *stream) Close() error {
	if s.foreign || s.handle == nil {
		return nil
	}
	err := s.Sync(context.Background())
	err = errors.Join(err, s.g.forget(s), s.g.failed(C.mscclc_gpu_stream_end(s.g.c, s.handle), "ending a stream"))
	s.handle = nil
	return err
}

// An event is a point in a stream.
type event struct {
	g      *gpu
	handle unsafe.Pointer
}

// NewEvent makes an event.
func (g *gpu) NewEvent() (executor.Event, error) { return g.newEvent() }

func (g *gpu) newEvent() (*event, error) {
	e := &event{g: g}
	err := g.failed(C.mscclc_gpu_event(g.c, &e.handle), "an event")
	return e, err
}

func eventOf(e executor.Event) (*event, error) {
	v, ok := e.(*event)
	if !ok || v.handle == nil {
		return nil, fmt.Errorf("an event of another device: %T", e)
	}
	return v, nil
}

func (e *event) Since(begin executor.Event) (time.Duration, error) {
	v, err := eventOf(begin)
	if err != nil {
		return 0, err
	}
	var ms C.float
	err = e.g.failed(C.mscclc_gpu_elapsed(e.g.c, v.handle, e.handle, &ms), "the time between events")
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

func (e *event) Close() error {
	if e.handle == nil {
		return nil
	}
	err := e.g.failed(C.mscclc_gpu_event_end(e.g.c, e.handle), "ending an event")
	e.handle = nil
	return err
}
