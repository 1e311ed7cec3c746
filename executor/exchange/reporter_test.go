package exchange

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// TestReporter: the first of the processes that have failed alike reports, for those notified of a failure the
// one that has failed, and for a process that is lost the first other one. A process whose others continue reports
// itself.
func TestReporter(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(ctx context.Context, x *Member) error
		want [3]int // the reporter for each process; -1 for one that does not ask
	}{
		{"alike", func(context.Context, *Member) error { return errors.New("broken") }, [3]int{0, 0, 0}},
		{"each", func(_ context.Context, x *Member) error { return fmt.Errorf("broken %d", x.Index()) }, [3]int{0, 1, 2}},
		{"notified", func(ctx context.Context, x *Member) error {
			var err error
			if x.Index() > 0 {
				err = errors.New("broken")
			}
			_, err = Agree(ctx, x, 1, err)
			return fmt.Errorf("%w, so there", err)
		}, [3]int{1, 1, 1}},
		{"alone", func(_ context.Context, x *Member) error {
			if x.Index() == 2 {
				return errors.New("broken")
			}
			return nil
		}, [3]int{-1, -1, 2}},
		{"killed", func(ctx context.Context, x *Member) error {
			if x.Index() == 0 {
				x.end(errors.New("killed"), false) // which says no goodbye
				return nil
			}
			_, err := x.AllGather(ctx, nil)
			return err
		}, [3]int{-1, 1, 1}},
	} {
		job(t, 3, func(ctx context.Context, x *Member) error {
			got, err := -1, c.do(ctx, x)
			if err != nil {
				var done func()
				got, done = x.Reporter(ctx, err)
				defer done()
			}
			if want := c.want[x.Index()]; got != want {
				t.Errorf("%s: the error of process %d is reported by %d, not by %d: %v", c.name, x.Index(), got, want, err)
			}
			return nil
		})
	}
}

// TestReported: no process continues before the reporter has reported.
func TestReported(t *testing.T) {
	var has atomic.Bool
	job(t, 3, func(ctx context.Context, x *Member) error {
		reporter, done := x.Reporter(ctx, errors.New("broken"))
		if reporter == x.Index() {
			time.Sleep(200 * time.Millisecond) // it reports
			has.Store(true)
		}
		done()
		if !has.Load() {
			t.Errorf("process %d went on before process %d had reported", x.Index(), reporter)
		}
		return nil
	})
}
