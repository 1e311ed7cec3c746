package exchange

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/internal/covering"
)

// together has all members of a group call During and then Agree, and returns the errors of both.
func together(group []*Member, do func(ctx context.Context, index int) error) (during, agreed []error) {
	during, agreed = make([]error, len(group)), make([]error, len(group))
	var all sync.WaitGroup
	for i, x := range group {
		all.Go(func() {
			during[i] = During(context.Background(), x, func(ctx context.Context) error { return do(ctx, i) })
			_, agreed[i] = Agree(context.Background(), x, i, during[i])
		})
	}
	all.Wait()
	return during, agreed
}

// TestDuring: what one process fails with ends what the others do at once, and all return it as that process's. A
// process that has nothing to do is notified of the one that failed first, not of one that was notified of it. The next
// call is as if there had been none.
func TestDuring(t *testing.T) {
	group := Group(4)
	for round := range 3 {
		for _, fails := range []int{0, 2, 3} {
			cause := errors.New("its card leads nowhere")
			begin := time.Now()
			during, agreed := together(group, func(ctx context.Context, index int) error {
				switch {
				case index == fails:
					return cause
				case index == 1 && round == 1:
					return nil
				}
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(20 * time.Second):
					return errors.New("nothing has ended it")
				}
			})
			if took := time.Since(begin); took > covering.Patience(2*time.Second) {
				t.Errorf("the others were notified of a failure after %v", took)
			}
			for i, err := range agreed {
				var f *Failure
				if i == fails {
					if err != cause {
						t.Errorf("process %d has failed with %v, and says %v", i, cause, err)
					}
				} else if !errors.As(err, &f) || f.Process != fails || f.Text != cause.Error() {
					t.Errorf("process %d says %v of the failure of process %d, after %v", i, err, fails, during[i])
				}
			}
			if during, agreed := together(group, func(ctx context.Context, _ int) error { return ctx.Err() }); !slices.Equal(
				slices.Concat(during, agreed), make([]error, 8)) {
				t.Errorf("after a failure: %v, %v", during, agreed)
			}
		}
	}
}

// TestDuringEarly: a process hears of a failure although it comes to the call of During later than the one that has
// failed there.
func TestDuringEarly(t *testing.T) {
	group := Group(2)
	posted := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := During(t.Context(), group[1], func(context.Context) error { return errors.New("early") })
		close(posted)
		Agree(t.Context(), group[1], 0, err)
	})
	<-posted
	err := During(t.Context(), group[0], func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err == nil || err.Error() != "process 1: early" {
		t.Errorf("process 0 received: %v", err)
	}
	Agree(t.Context(), group[0], 0, err)
	all.Wait()
}

// TestDuringLost: the end of the exchange ends what a process does, too.
func TestDuringLost(t *testing.T) {
	group := Group(2)
	time.AfterFunc(20*time.Millisecond, func() { group[1].end(errors.New("a test ends it"), false) })
	err := During(t.Context(), group[0], func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if err == nil || !strings.Contains(err.Error(), "process 1 is gone") {
		t.Errorf("process 0 received: %v", err)
	}
}
