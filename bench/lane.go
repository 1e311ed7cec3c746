package bench

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"mscclc/executor"
)

// A lane is one GPU of this process: a stream, and the OS thread that uses it, on
// which the GPU is current, as NCCL wants it.
type lane struct {
	gpu    executor.GPU
	stream executor.Stream
	events []executor.Event
	local  []int // ranks, by the order of this process's
	work   chan func()
	ended  chan struct{}
}

// newLane starts the thread, and makes its stream.
func newLane(gpu executor.GPU) (*lane, error) {
	l := &lane{gpu: gpu, work: make(chan func()), ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		defer close(l.ended)
		err := gpu.Use()
		if err == nil {
			l.stream, err = gpu.NewStream()
		}
		started <- err
		for f := range l.work {
			f()
		}
	}()
	err := <-started
	if err != nil {
		close(l.work)
	}
	return l, err
}

// do runs f on the lane's thread, and waits for its end.
func (l *lane) do(f func() error) error {
	done := make(chan error, 1)
	l.work <- func() { done <- f() }
	return <-done
}

func (l *lane) close() error {
	err := l.do(func() error {
		var errs []error
		for _, e := range l.events {
			errs = append(errs, e.Close())
		}
		return errors.Join(append(errs, l.stream.Close())...)
	})
	close(l.work)
	<-l.ended
	return err
}

// event is event i of the lane, which is made where it is not there.
func (l *lane) event(i int) (executor.Event, error) {
	for len(l.events) <= i {
		e, err := l.gpu.NewEvent()
		if err != nil {
			return nil, err
		}
		l.events = append(l.events, e)
	}
	return l.events[i], nil
}

// record has event i happen behind what the stream holds.
func (l *lane) record(i int) error {
	e, err := l.event(i)
	if err != nil {
		return err
	}
	return l.stream.Record(e)
}

// since is the time from one event to another; both have happened.
func (l *lane) since(from, to int) (time.Duration, error) {
	return l.events[to].Since(l.events[from])
}

// lanes are all of a process.
type lanes []*lane

// all runs f for every lane on its thread, all at once, and waits for all.
func (ls lanes) all(f func(l *lane) error) error {
	errs := make([]error, len(ls))
	var wg sync.WaitGroup
	for i, l := range ls {
		wg.Go(func() { errs[i] = l.do(func() error { return f(l) }) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sync waits for all streams.
func (ls lanes) sync(ctx context.Context) error {
	return ls.all(func(l *lane) error { return l.stream.Sync(ctx) })
}
