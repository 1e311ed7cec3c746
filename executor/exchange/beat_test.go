package exchange

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// silent returns a member whose other process, of number 1, takes what comes and says nothing, as a stopped one does.
func silent(t *testing.T) *Member {
	t.Helper()
	a, b := net.Pipe()
	go io.Copy(io.Discard, b)
	x := newMember(0, 2)
	x.links[1] = newLink(a, 1)
	go x.read(x.links[1])
	t.Cleanup(func() { x.Close(); b.Close() })
	return x
}

// TestExchangeStopped has a process that is stopped end the exchange, and is named.
func TestExchangeStopped(t *testing.T) {
	x := silent(t)
	x.SetPatience(2 * beatEvery)
	_, err := x.AllGather(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "process 1 is gone: nothing has come from it for 500ms") ||
		!strings.Contains(err.Error(), "(process 0 noticed it)") {
		t.Errorf("a process that says nothing: %v", err)
	}
}

// TestExchangeWorry has no limit until an error, and then that of errors.
func TestExchangeWorry(t *testing.T) {
	x := silent(t)
	for x.links[1].pulse.silent.Load() < 3 {
		time.Sleep(beatEvery / 4)
	}
	if err := x.Lost(); err != nil {
		t.Fatalf("without a limit: %v", err)
	}
	x.links[1].pulse.silent.Store(int64(afterFault / beatEvery)) // that it has been silent so long
	if _, err := Agree(t.Context(), x, 1, errors.New("ours")); !errors.Is(err, ErrEnd) ||
		!strings.Contains(err.Error(), "ours") || !strings.Contains(err.Error(), "process 1 is gone: ") {
		t.Errorf("after an error: %v", err)
	}
}

// TestExchangeSlow has a process that is slow, and lives, not end the exchange, though it is slower than the patience.
func TestExchangeSlow(t *testing.T) {
	errs := job(t, 3, func(ctx context.Context, x *Member) error {
		x.SetPatience(3 * beatEvery)
		if x.Index() == 1 {
			time.Sleep(8 * beatEvery)
		}
		var err error
		if x.Index() == 2 {
			err = errors.New("the third's")
		}
		_, err = Agree(ctx, x, 1, err)
		if err == nil || !strings.Contains(err.Error(), "the third's") || x.Lost() != nil {
			return errors.Join(errors.New("lost"), err, x.Lost())
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}
