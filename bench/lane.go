package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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
	doing  atomic.Pointer[string] // what its thread does, for who waits for it in vain
	stuck  atomic.Bool            // the thread is in a call of a driver or of NCCL that does not come back

	patience time.Duration // how long do waits for work whose context has ended
}

// newLane starts the thread, and makes its stream, or takes the driver's null stream.
func newLane(gpu executor.GPU, null bool) (*lane, error) {
	l := &lane{gpu: gpu, work: make(chan func()), ended: make(chan struct{}), patience: patience}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		defer close(l.ended)
		err := gpu.Use()
		if err == nil && null {
			l.stream = gpu.StreamOf(0)
		} else if err == nil {
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

// errStuck is of work whose thread does not come back. Nothing more can be done then with what it
// may hold, and the process is to end.
const errStuck = endError("the thread is stuck")

// patience is how long do waits for work to come back after its context has ended: work that waits by the context
// itself says better what it waited for.
const patience = 5 * time.Second

// do runs f on the lane's thread, and waits for its end; but if ctx is over, and f does not come back
// soon, it says where the thread is, which can do nothing any more then.
func (l *lane) do(ctx context.Context, f func() error) error {
	if l.stuck.Load() {
		return fmt.Errorf("%v: %w", l.gpu, errStuck)
	}
	done := make(chan error, 1)
	l.work <- func() { done <- f() }
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(l.patience):
	}
	l.stuck.Store(true)
	what := "its thread"
	if doing := l.doing.Load(); doing != nil {
		what = *doing
	}
	return fmt.Errorf("%v: %s has not come back: %w (%w)", l.gpu, what, context.Cause(ctx), errStuck)
}

// at notes what the lane's thread is about to do.
func (l *lane) at(doing string) { l.doing.Store(&doing) }

func (l *lane) close() error {
	if l.stuck.Load() {
		return nil // it has been reported; the process ends with all that it holds
	}
	err := l.do(context.Background(), func() error {
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

// record has event i happen after what the stream holds.
func (l *lane) record(i int) error {
	e, err := l.event(i)
	if err != nil {
		return err
	}
	return l.stream.Record(e)
}

// since returns the time from one event to another; both have happened.
func (l *lane) since(from, to int) (time.Duration, error) {
	return l.events[to].Since(l.events[from])
}

// lanes are all of a process.
type lanes []*lane

// all runs f for every lane on its thread, all at once, and waits for all.
func (ls lanes) all(ctx context.Context, f func(l *lane) error) error {
	errs := make([]error, len(ls))
	var wg sync.WaitGroup
	for i, l := range ls {
		wg.Go(func() { errs[i] = l.do(ctx, func() error { return f(l) }) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// index returns which of them l is.
func (ls lanes) index(l *lane) int { return slices.Index(ls, l) }

// sync waits for all streams.
func (ls lanes) sync(ctx context.Context) error {
	return ls.all(ctx, func(l *lane) error { return l.stream.Sync(ctx) })
}

// stuck reports whether some thread is.
func (ls lanes) stuck() bool {
	return slices.ContainsFunc(ls, func(l *lane) bool { return l.stuck.Load() })
}
