package exchange

import (
	"context"
	"encoding/json"
)

// This file is how all processes learn at once that one has failed in what they do between two agreements. Without it
// each would wait for its own limit, such as the time in which processes connect to each other.

// duringTopic marks the topics of notes that tell of a failure in During. The rest is the number of the call.
const duringTopic = uint64(1) << 63

// A during is the call of During that is under way in this process, and the last failure that another has reported.
type during struct {
	number uint64                  // of this call, or of the last one; from 1
	stop   context.CancelCauseFunc // nil while there is none
	failed uint64                  // the number of the call that failed elsewhere
	by     *Failure
}

// During calls do. All processes call During equally often, each between the same two calls of AllGather. If do returns
// an error in one process, ctx of do ends in the others, with a *Failure as its cause. It ends, too, when the exchange
// does. During returns the error of do, or instead of it the *Failure that do has ended by. A nil x stands for this
// process alone.
func During(ctx context.Context, x *Member, do func(context.Context) error) error {
	if x == nil {
		return do(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan struct{})
	defer close(watched)
	go func() {
		select {
		case <-x.done:
			cancel(x.Lost())
		case <-watched:
		}
	}()
	number := x.begins(cancel)
	err := do(ctx)
	by := x.ends()
	if err == nil {
		return nil
	}
	if by != nil {
		x.failed.Store(by)
		return by
	}
	x.Post(duringTopic|number, string(failing(err)))
	return err
}

// begins counts a call of During, which may have failed elsewhere by now.
func (x *Member) begins(stop context.CancelCauseFunc) (number uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := &x.during
	d.number++
	d.stop = stop
	if d.failed == d.number {
		stop(d.by)
	}
	return d.number
}

// ends returns what the call of During has ended by, if another process has failed in it.
func (x *Member) ends() *Failure {
	x.mu.Lock()
	defer x.mu.Unlock()
	d := &x.during
	d.stop = nil
	if d.failed == d.number {
		return d.by
	}
	return nil
}

// failedElsewhere is a note that a call of During has failed in another process. This one may be at an earlier call.
func (x *Member) failedElsewhere(number uint64, from int, text string) {
	var w word[*int]
	if json.Unmarshal([]byte(text), &w) != nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	d := &x.during
	if number <= d.failed || number < d.number {
		return // the first failure counts
	}
	d.failed, d.by = number, &Failure{from, w.Failed, w.Ends}
	if number == d.number && d.stop != nil {
		d.stop(d.by)
	}
}
