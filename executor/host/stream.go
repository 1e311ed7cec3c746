package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/executor/shared"
)

// A task is one piece of a stream's work. Of a launch, turn is which of its sequence's it is.
type task struct {
	do       func(r *cpu.Runner, turn uint64)
	sequence *sequence
}

// A stream is a queue, whose tasks a goroutine does in their order.
type stream struct {
	g      *gpu
	handle uintptr
	runner *cpu.Runner

	mu      sync.Mutex
	queue   []func(r *cpu.Runner)
	more    chan struct{} // has one thing where the goroutine is to look at the queue
	left    int           // tasks that are not over
	idle    chan struct{} // closed when none is left
	capture *graph
	closed  bool
}

// streams are all, by handle.
var (
	streams    sync.Map
	lastHandle atomic.Uintptr
)

var errClosed = errors.New("a stream that is closed")

// NewStream makes a stream.
func (g *gpu) NewStream() (executor.Stream, error) {
	runner, err := cpu.NewRunner(g.threads)
	if err != nil {
		return nil, err
	}
	s := &stream{g: g, handle: lastHandle.Add(1), runner: runner, more: make(chan struct{}, 1), idle: make(chan struct{})}
	close(s.idle)
	streams.Store(s.handle, s)
	go s.serve()
	return s, nil
}

// StreamOf returns the stream with a handle. There are no other libraries' streams.
func (g *gpu) StreamOf(handle uintptr) executor.Stream {
	if s, ok := streams.Load(handle); ok {
		return borrowed{s.(*stream)}
	}
	return &stream{g: g, handle: handle, closed: true}
}

// A borrowed stream is closed by whoever made it.
type borrowed struct{ *stream }

func (borrowed) Close() error { return nil }

// streamOf returns what a stream of g is made of.
func (g *gpu) streamOf(on executor.Stream) (*stream, error) {
	if b, ok := on.(borrowed); ok {
		on = b.stream
	}
	s, ok := on.(*stream)
	if !ok || s.g != g {
		return nil, fmt.Errorf("work for %v, on a stream of %v", g, on.GPU())
	}
	return s, nil
}

// serve does the stream's tasks.
func (s *stream) serve() {
	for range s.more {
		for {
			s.mu.Lock()
			tasks := s.queue
			s.queue = nil
			s.mu.Unlock()
			if len(tasks) == 0 {
				break
			}
			for _, do := range tasks {
				do(s.runner)
				s.ended()
			}
		}
	}
	s.runner.Close()
}

// ended notes that a task is over.
func (s *stream) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left--; s.left == 0 {
		close(s.idle)
	}
}

// put puts tasks into the queue, or into the graph that is being captured.
func (s *stream) put(tasks ...task) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.capture != nil {
		s.capture.tasks = append(s.capture.tasks, tasks...)
		return nil
	}
	return s.start(tasks)
}

// start is put of what is not captured, under mu: so launches have their turns in the order of the queue.
func (s *stream) start(tasks []task) error {
	if s.closed {
		return errClosed
	}
	turns := make([]uint64, len(tasks))
	for i, t := range tasks {
		if t.sequence != nil {
			turns[i] = t.sequence.turn()
		}
	}
	if s.left == 0 {
		s.idle = make(chan struct{})
	}
	s.left++
	s.queue = append(s.queue, func(r *cpu.Runner) {
		for i, t := range tasks {
			t.do(r, turns[i])
		}
	})
	select {
	case s.more <- struct{}{}:
	default: // it is about to look
	}
	return nil
}

func (s *stream) GPU() executor.GPU { return s.g }

func (s *stream) Handle() uintptr { return s.handle }

func (s *stream) Busy() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left > 0, nil
}

func (s *stream) Sync(ctx context.Context) error {
	s.mu.Lock()
	idle := s.idle
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return errClosed
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// waited does a task after the earlier work, and waits for its end.
func (s *stream) waited(do func()) error {
	s.mu.Lock()
	captured := s.capture != nil
	s.mu.Unlock()
	if captured {
		return fmt.Errorf("a copy from or to the caller's memory cannot be captured: %w", executor.ErrNotSupported)
	}
	over := make(chan struct{})
	if err := s.put(task{do: func(*cpu.Runner, uint64) { do(); close(over) }}); err != nil {
		return err
	}
	<-over
	return nil
}

func (s *stream) Put(address uint64, from []byte) error {
	to, err := shared.View(address, int64(len(from)))
	if err != nil || len(from) == 0 {
		return err
	}
	return s.waited(func() { copy(to, from) })
}

func (s *stream) Get(to []byte, address uint64) error {
	from, err := shared.View(address, int64(len(to)))
	if err != nil || len(to) == 0 {
		return err
	}
	return s.waited(func() { copy(to, from) })
}

func (s *stream) Copy(to, from uint64, bytes int64) error {
	dst, err := shared.View(to, bytes)
	if err != nil {
		return err
	}
	src, err := shared.View(from, bytes)
	if err != nil {
		return err
	}
	return s.put(task{do: func(*cpu.Runner, uint64) { copy(dst, src) }})
}

func (s *stream) Fill(address uint64, value byte, bytes int64) error {
	to, err := shared.View(address, bytes)
	if err != nil {
		return err
	}
	return s.put(task{do: func(*cpu.Runner, uint64) { fill(to, value) }})
}

// fill sets bytes.
func fill(to []byte, value byte) {
	if len(to) == 0 {
		return
	}
	to[0] = value
	for have := 1; have < len(to); have *= 2 {
		copy(to[have:], to[:have])
	}
}

func (s *stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	idle := s.idle
	s.closed = true // nothing more is put there
	s.mu.Unlock()
	<-idle
	streams.Delete(s.handle)
	close(s.more)
	return nil
}
