package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mscclc/executor/exchange"
)

// This file is how the processes of a site stay in step. Where one fails, all fail in the same method of the site.

// everyones puts the lists of all processes together, in their order. It also is a barrier. Without an exchange there
// is this process alone. If err is not nil in some process, all processes return an error.
func everyones[T any](ctx context.Context, x *exchange.Member, own []T, err error) (all []T, _ error) {
	lists, err := exchange.Agree(ctx, x, own, err)
	for _, list := range lists {
		all = append(all, list...)
	}
	return all, err
}

// gathered is everyones of a site. When it fails, all have received the earlier alarms.
func gathered[T any](ctx context.Context, g *GPUs, own []T, err error) ([]T, error) {
	all, err := everyones(ctx, g.options.Plan.Exchange, own, err)
	if err != nil {
		g.alarm.rest()
	}
	return all, err
}

// Agree returns nil if err is nil in all processes. Else it returns err, or what another process failed with.
func (g *GPUs) Agree(ctx context.Context, err error) error {
	_, err = gathered(ctx, g, []bool(nil), err)
	return err
}

// Any reports whether some process says yes.
func (g *GPUs) Any(ctx context.Context, yes bool) (bool, error) {
	all, err := gathered(ctx, g, []bool{yes}, nil)
	return slices.Contains(all, true), err
}

// An endError is an error after which nothing more can be done with the GPUs: the processes are to end.
type endError string

func (e endError) Error() string        { return string(e) }
func (e endError) Is(target error) bool { return target == exchange.ErrEnd }

// errNCCL is of calls of NCCL that failed in some process: others may wait for them without end.
const errNCCL = endError("NCCL's calls on other GPUs may not end")

// ends reports whether nothing more can be done after err.
func ends(err error) bool { return errors.Is(err, exchange.ErrEnd) }

// An alarm stops processes that wait for the GPUs that another process has failed.
type alarm struct {
	exchange *exchange.Member
	topic    uint64
	deaf     func()

	mu    sync.Mutex
	ctx   context.Context // ends when another process has failed
	sound context.CancelCauseFunc
}

// listen begins to receive failures, by the topic that process 0 has drawn.
func (a *alarm) listen(x *exchange.Member, topic uint64) {
	a.exchange, a.topic = x, topic
	a.rest()
	a.deaf = x.Listen(topic, func(from int, note string) {
		err := x.Lost()
		if err == nil {
			err = &exchange.Failure{Process: from, Text: note}
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.sound(err)
	})
}

// rest ends an alarm that all processes have received.
func (a *alarm) rest() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx == nil || a.ctx.Err() != nil {
		a.ctx, a.sound = context.WithCancelCause(context.Background())
	}
}

// raise sends err to the other processes.
func (a *alarm) raise(err error) {
	if a.exchange != nil {
		a.exchange.Post(a.topic, err.Error())
	}
}

func (a *alarm) close() {
	if a.deaf != nil {
		a.deaf()
	}
}

// limit gives work on the GPUs as long as a wait may last, and all it may take besides. It ends when another process
// has failed.
func (g *GPUs) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	within := g.options.Wait + time.Minute
	ctx, timed := context.WithTimeoutCause(ctx, within, fmt.Errorf("the GPUs' work has not ended after %v", within))
	if g.alarm.exchange == nil {
		return ctx, timed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	g.alarm.mu.Lock()
	alarmed := g.alarm.ctx
	g.alarm.mu.Unlock()
	stop := context.AfterFunc(alarmed, func() { cancel(context.Cause(alarmed)) })
	return ctx, func() {
		stop()
		cancel(nil)
		timed()
	}
}
