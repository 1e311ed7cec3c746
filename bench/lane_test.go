package bench

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A thread that does not come back from a call is reported with what it does, and no lane
// waits for it again.
func TestStuck(t *testing.T) {
	var ls lanes
	for range 3 {
		l := &lane{work: make(chan func()), ended: make(chan struct{}), patience: 20 * time.Millisecond}
		go func() {
			defer close(l.ended)
			for f := range l.work {
				f()
			}
		}()
		ls = append(ls, l)
	}
	release := make(chan struct{})
	ctx, cancel := context.WithTimeoutCause(context.Background(), 30*time.Millisecond, errors.New("too long"))
	defer cancel()
	err := ls.all(ctx, func(l *lane) error {
		l.at("a launch of x")
		if l == ls[1] {
			<-release
		}
		return nil
	})
	if !errors.Is(err, errStuck) || !strings.Contains(err.Error(), "a launch of x has not come back: too long") ||
		strings.Count(err.Error(), "come back") != 1 {
		t.Errorf("got %v", err)
	}
	if !ls.stuck() || !ls[1].stuck.Load() || ls[0].stuck.Load() {
		t.Error("who is stuck?")
	}
	if err := ls.all(context.Background(), func(*lane) error { return nil }); !errors.Is(err, errStuck) {
		t.Errorf("got %v", err)
	}
	// What waits by the context itself says what it waited for.
	ended, end := context.WithCancelCause(context.Background())
	end(errors.New("over"))
	if err := ls[0].do(ended, func() error { return context.Cause(ended) }); err == nil || err.Error() != "over" ||
		ls[0].stuck.Load() {
		t.Errorf("got %v", err)
	}
	close(release)
	for _, l := range ls {
		close(l.work)
		<-l.ended
	}
}
