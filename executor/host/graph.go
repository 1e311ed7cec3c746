package host

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"mscclc/executor"
	"mscclc/executor/cpu"
)

// A graph is a list of captured tasks.
type graph struct {
	g      *gpu
	tasks  []task
	closed bool
}

func (s *stream) Capture() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.capture != nil || s.closed {
		return errors.New("a stream that is captured already, or closed")
	}
	s.capture = &graph{g: s.g}
	return nil
}

func (s *stream) EndCapture() (executor.Graph, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.capture
	if s.capture = nil; r == nil {
		return nil, fmt.Errorf("%v: the end of what is not captured", s.g)
	}
	return r, nil
}

// Launch starts all that was captured. Graphs are launched by whoever closes them, one after the other.
func (r *graph) Launch(on executor.Stream) error {
	s, err := r.g.streamOf(on)
	if err != nil {
		return err
	}
	if r.closed {
		return errors.New("a launch of a graph that is closed")
	}
	return s.put(r.tasks...)
}

func (r *graph) Close() error {
	r.closed = true
	return nil
}

// An event is a point in a stream.
type event struct {
	mu       sync.Mutex
	recorded uint64 // how often
	happened uint64 // which of these is over
	at       time.Time
	changed  chan struct{} // closed when happened grows
	within   *graph        // that the last record is part of
}

// NewEvent makes an event.
func (g *gpu) NewEvent() (executor.Event, error) { return &event{changed: make(chan struct{})}, nil }

func (s *stream) capturing() *graph {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capture
}

func (s *stream) Record(e executor.Event) error {
	v, err := eventOf(e)
	if err != nil {
		return err
	}
	within := s.capturing()
	v.mu.Lock()
	v.recorded++
	n := v.recorded
	v.within = within
	v.mu.Unlock()
	return s.put(task{do: func(*cpu.Runner, uint64) { v.happen(n) }})
}

func (s *stream) Await(e executor.Event) error {
	v, err := eventOf(e)
	if err != nil {
		return err
	}
	v.mu.Lock()
	n, within := v.recorded, v.within
	v.mu.Unlock()
	if capture := s.capturing(); within != nil || capture != nil {
		if within == capture {
			return nil // it stands before
		}
		return fmt.Errorf("what is captured waits for what is not, or for another stream: %w", executor.ErrNotSupported)
	}
	return s.put(task{do: func(*cpu.Runner, uint64) { v.await(n) }})
}

// happen notes that a record of the event is over.
func (v *event) happen(n uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at, v.happened = time.Now(), max(v.happened, n)
	close(v.changed)
	v.changed = make(chan struct{})
}

// await waits until a record is over.
func (v *event) await(n uint64) {
	for {
		v.mu.Lock()
		over, changed := v.happened >= n, v.changed
		v.mu.Unlock()
		if over {
			return
		}
		<-changed
	}
}

func eventOf(e executor.Event) (*event, error) {
	v, ok := e.(*event)
	if !ok {
		return nil, fmt.Errorf("an event of another device: %T", e)
	}
	return v, nil
}

func (v *event) Since(begin executor.Event) (time.Duration, error) {
	b, err := eventOf(begin)
	if err != nil {
		return 0, err
	}
	var at [2]time.Time
	for i, e := range [2]*event{b, v} {
		e.mu.Lock()
		at[i] = e.at
		over := e.happened == e.recorded && e.happened > 0
		e.mu.Unlock()
		if !over {
			return 0, errors.New("the time between events that have not both happened")
		}
	}
	return at[1].Sub(at[0]), nil
}

func (v *event) Close() error { return nil }
