package plan

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"mscclc/executor"
	"mscclc/executor/abi"
)

// This file is how launches end: well, or with a failure that all ranks learn of (failure.go). Each process then
// has its own launches end, by the limit of their waits, so that they say where they were.

// Timing of failures.
const (
	lookAgain  = 5 * time.Millisecond   // between looks at what runs
	sayWhere   = time.Second            // that launches have to say where they were
	leaveAfter = 10 * time.Second       // that they have to leave
	soonOver   = 100 * time.Millisecond // that what waits for nothing takes to end, at a reset
)

// hurry has all waits of this process's launches time out.
func (p *Plan) hurry() {
	for _, s := range p.seats {
		s.setLimit(1) // if that fails, the launches have their own limit
	}
}

func (s *seat) setLimit(d time.Duration) error {
	return s.gpu.Poke(s.at.status+uint64(unsafe.Offsetof(abi.Status{}.LimitNS)),
		binary.NativeEndian.AppendUint64(nil, uint64(d)))
}

// SetWait changes how long one wait of a launch may last: also in graphs that are
// captured, and in launches that run. It is DefaultWait at first.
func (p *Plan) SetWait(d time.Duration) error {
	if d < time.Millisecond {
		return fmt.Errorf("waits of %v are out of range", d)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wait = d
	if p.closed || p.failure.Load() != nil {
		return nil // Reset will
	}
	var errs []error
	for _, s := range p.seats {
		errs = append(errs, s.setLimit(d))
	}
	return errors.Join(errs...)
}

// Wait waits until all that was launched of this plan has ended, as long as nothing
// goes wrong, and says what has. Where ctx ends, or another rank has failed, the
// launches are asked to leave. A plan that has failed refuses launches until Reset.
func (p *Plan) Wait(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.finish(ctx)
}

func (p *Plan) finish(ctx context.Context) error {
	if p.closed {
		return errors.New("executor: a plan that is closed")
	}
	if err := p.order.Mark(); err != nil {
		p.fail(failure{err: err}, note{Text: err.Error()})
		return err
	}
	next := time.Now().Add(lookAgain)
	err := executor.Await(ctx, func() (bool, error) {
		busy, err := p.order.Busy()
		if err != nil || !busy || p.failure.Load() != nil {
			return false, err
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(lookAgain)
			return p.look() == nil, nil
		}
		return true, nil
	})
	if err != nil {
		p.fail(failure{err: err}, note{Text: err.Error()})
	}
	if p.look() != nil {
		return p.leave()
	}
	return nil
}

// leave has what runs end, after a failure.
func (p *Plan) leave() error {
	f := p.failure.Load()
	p.hurry()
	begin, reported := time.Now(), false
	err := executor.Await(context.Background(), func() (bool, error) {
		p.order.Release()
		busy, err := p.order.Busy()
		took := time.Since(begin)
		if took > sayWhere && !reported {
			reported = true
			for _, s := range p.seats {
				if status, err := s.status(); err != nil || status.Code == abi.StatusOK { // else it says where it was
					s.gpu.Poke(s.at.status, raw([]uint32{abi.StatusCancelled}))
				}
			}
		}
		if err == nil && took > leaveAfter {
			err = errors.New("a launch does not end")
		}
		return busy, err
	})
	if f.lost != nil {
		f = &failure{err: p.because(f)}
		p.failure.Store(f)
	}
	return errors.Join(f.err, err, p.stopPorts())
}

// Reset makes a plan that has failed as it was when it was prepared. After a fault of a
// GPU, or where a process is gone, it cannot.
func (p *Plan) Reset(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	if p.closed {
		err = errors.New("executor: a plan that is closed")
	} else {
		err = p.stop()
	}
	if _, err := p.agree(ctx, nil, err); err != nil { // nobody writes to others any more
		return err
	}
	if p.net != nil {
		err = p.net.job.Reset()
	}
	for _, s := range p.seats {
		err = errors.Join(err, p.clear(s))
	}
	p.order.Renew()
	if err == nil {
		err = p.startPorts()
	}
	if p.net != nil {
		if _, err = p.agree(ctx, nil, err); err != nil {
			return err
		}
		err = p.net.job.Again()
	}
	if err == nil {
		p.failure.Store(nil)
	}
	_, err = p.agree(ctx, nil, err)
	return err
}

// stop ends what runs, which may wait for what was never launched.
func (p *Plan) stop() error {
	if err := p.order.Mark(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), soonOver)
	defer cancel()
	err := executor.Await(ctx, p.order.Busy)
	if errors.Is(err, context.DeadlineExceeded) {
		const why = "a plan was reset, or closed, while it ran"
		p.fail(failure{err: errors.New(why)}, note{Text: why})
		p.leave()
		var busy bool
		if busy, err = p.order.Busy(); busy && err == nil {
			err = errors.New("a launch does not end")
		}
	}
	return errors.Join(err, p.stopPorts())
}

// clear forgets all that launches have left in a seat's memory.
func (p *Plan) clear(s *seat) error {
	var err error
	for i, a := range s.arenas {
		err = errors.Join(err, p.clearArena(s, a, int64(p.kind.arena(s.ranks[i]))))
	}
	states := s.at.status + uint64(unsafe.Sizeof(abi.Status{})) - s.own
	return errors.Join(err, p.clearNet(s), s.stream.Fill(s.own, 0, int64(states)), s.stream.Sync(context.Background()),
		s.setLimit(p.wait))
}

// Close frees the plan's memory, after what runs.
func (p *Plan) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveAfter)
	defer cancel()
	p.finish(ctx) // Err has reported what went wrong, or nobody asks
	err := p.stop()
	p.closed = true
	if err != nil {
		return fmt.Errorf("the plan's memory is left as it is: %w", err)
	}
	p.agree(ctx, nil, nil) // that nobody uses the memory any more; who is gone does not
	return p.free()
}
