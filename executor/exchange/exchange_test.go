package exchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/internal/covering"
)

// address returns a free one of this machine.
func address(t *testing.T) string {
	t.Helper()
	ear, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	return ear.Addr().String()
}

// job runs f as every process of a job over TCP, and gives their errors.
func job(t *testing.T, size int, f func(ctx context.Context, x *Member) error) []error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	at, errs := address(t), make([]error, size)
	var wait sync.WaitGroup
	for i := range size {
		wait.Go(func() {
			x, err := Join(ctx, At(at), i, size)
			if err == nil {
				defer x.Close()
				err = f(ctx, x)
			}
			errs[i] = err
		})
	}
	wait.Wait()
	return errs
}

// gathers returns what every process does to see that all get all.
func gathers(ctx context.Context, x *Member) error {
	for round := range 50 {
		all, err := x.AllGather(ctx, bytes.Repeat([]byte{byte(x.Index() + round)}, x.Index()*round))
		if err != nil {
			return err
		}
		for i, b := range all {
			if !bytes.Equal(b, bytes.Repeat([]byte{byte(i + round)}, i*round)) {
				return fmt.Errorf("round %d: process %d got %v of %d", round, x.Index(), b, i)
			}
		}
	}
	return nil
}

func TestExchange(t *testing.T) {
	for _, size := range []int{1, 2, 5} {
		if err := errors.Join(job(t, size, gathers)...); err != nil {
			t.Errorf("%d processes: %v", size, err)
		}
		var wait sync.WaitGroup
		for _, x := range Group(size) {
			wait.Go(func() {
				if err := gathers(t.Context(), x); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
	}
}

// TestSilentStrangers has strangers who say nothing connect to the hub before the others do: nobody waits for them.
func TestSilentStrangers(t *testing.T) {
	at, errs := address(t), make(chan error, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	join := func(i int) {
		x, err := Join(ctx, At(at), i, 2)
		if err == nil {
			defer x.Close()
			err = gathers(ctx, x)
		}
		errs <- err
	}
	go join(0)
	begun := time.Now()
	for range 10 {
		for {
			conn, err := net.Dial("tcp", at)
			if err == nil {
				defer conn.Close()
				break
			}
			if time.Since(begun) > 10*time.Second {
				t.Fatal(err)
			}
		}
	}
	begun = time.Now()
	go join(1)
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if took := time.Since(begun); took > linkHello {
		t.Errorf("it took %v", took)
	}
}

// TestExchangeNotes sees notes arrive at all others, and at their topic only.
func TestExchangeNotes(t *testing.T) {
	group := Group(3)
	type got struct {
		at, from int
		note     string
	}
	received := make(chan got, 10)
	for i, x := range group {
		x.Listen(7, func(from int, note string) { received <- got{i, from, note} })
	}
	for _, x := range group {
		x.Post(8, "to nobody")
		x.Post(7, fmt.Sprint("hello from ", x.Index()))
	}
	seen := map[got]bool{}
	for range 6 {
		select {
		case g := <-received:
			if seen[g] || g.at == g.from || g.note != fmt.Sprint("hello from ", g.from) {
				t.Errorf("%+v", g)
			}
			seen[g] = true
		case <-time.After(5 * time.Second):
			t.Fatalf("only %v came", seen)
		}
	}
}

// TestExchangeEnds has one process stop in several ways: the others hear of it in
// time, and are notified who it was.
func TestExchangeEnds(t *testing.T) {
	for _, how := range []struct {
		name string
		stop func(ctx context.Context, x *Member) error
		want string
	}{
		{"killed", func(_ context.Context, x *Member) error {
			for _, l := range x.links {
				if l != nil {
					l.conn.Close()
				}
			}
			return nil
		}, "is gone"},
		{"leaves", func(_ context.Context, x *Member) error { return x.Close() }, "has left the job"},
		{"raves", func(_ context.Context, x *Member) error {
			for _, l := range x.links {
				if l != nil {
					l.conn.Write(bytes.Repeat([]byte{0xff}, 100))
				}
			}
			return nil
		}, "it speaks something else"},
	} {
		for who := range 3 {
			begin := time.Now()
			errs := job(t, 3, func(ctx context.Context, x *Member) error {
				if _, err := x.AllGather(ctx, nil); err != nil {
					return err
				}
				if x.Index() == who {
					return how.stop(ctx, x)
				}
				_, err := x.AllGather(ctx, nil)
				return err
			})
			for i, err := range errs {
				if i == who {
					continue
				}
				if err == nil || !strings.Contains(err.Error(), how.want) && !strings.Contains(err.Error(), "gone") ||
					!strings.Contains(err.Error(), fmt.Sprint("process ", who)) && who != 0 && how.name == "killed" {
					t.Errorf("process %d %s: process %d has %v", who, how.name, i, err)
				}
			}
			if took := time.Since(begin); took > covering.Patience(5*time.Second) {
				t.Errorf("process %d %s: it took %v", who, how.name, took)
			}
		}
	}
}

// TestExchangePort has the hub's port be in use: process 0 says at once which it is, and how to name another.
func TestExchangePort(t *testing.T) {
	ear, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ear.Close()
	_, err = Join(t.Context(), At(ear.Addr().String()), 0, 2)
	for _, want := range []string{ear.Addr().String(), "MSCCLC_HUB", "MASTER_PORT", "in use"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v says nothing of %s", err, want)
		}
	}
}

// TestExchangeWaits ends by its context where a process does not come.
func TestExchangeWaits(t *testing.T) {
	for index := range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := Join(ctx, At(address(t)), index, 2); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), fmt.Sprintf("process %d has not come", 1-index)) {
			t.Errorf("process %d: %v", index, err)
		}
		cancel()
	}
	group := Group(2)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := group[0].AllGather(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("gathering: %v", err)
	}
	if _, err := group[1].AllGather(t.Context(), nil); err == nil {
		t.Error("the other goes on")
	}
}

// TestDeal deals ranks to processes, of which some may get none.
func TestDeal(t *testing.T) {
	group := Group(3)
	if got := fmt.Sprint(group[0].Deal(4), group[1].Deal(4), group[2].Deal(2), (*Member)(nil).Deal(2)); got != "[0 3] [1] [] [0 1]" {
		t.Error("the ranks are", got)
	}
}
