package verifycmd

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// Results come in order whatever the order in which they are ready, and what
// waits for its turn is bounded by its weight.
func TestInOrder(t *testing.T) {
	var running, most atomic.Int64
	var got []int
	weight := func(i int) int64 {
		if i%5 == 0 {
			return maxWeight // beside nothing else
		}
		return maxWeight / 4
	}
	err := inOrder(context.Background(), 40, weight, func(i int) int {
		now := running.Add(weight(i))
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(time.Duration(i*7%5) * time.Millisecond)
		return i * i
	}, func(i, square int) error {
		running.Add(-weight(i))
		got = append(got, square)
		return nil
	}, func() {})
	if err != nil || len(got) != 40 || !slices.IsSorted(got) {
		t.Errorf("%v, %v", got, err)
	}
	if most.Load() > maxWeight {
		t.Errorf("%d of %d were in memory at once", most.Load(), int64(maxWeight))
	}
}

func TestInOrderEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	block := make(chan struct{})
	defer close(block)
	time.AfterFunc(10*time.Millisecond, cancel)
	err := inOrder(ctx, 9, func(int) int64 { return 1 }, func(int) int { <-block; return 0 },
		func(int, int) error { return nil }, func() {})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	wrong := errors.New("wrong")
	if err := inOrder(context.Background(), 9, func(int) int64 { return 1 }, func(int) int { return 0 },
		func(int, int) error { return wrong }, func() {}); err != wrong {
		t.Errorf("a failed use: %v", err)
	}
}

// A panic in a worker is a verdict on its file.
func TestPanicOfOneFile(t *testing.T) {
	a := cli.NewApp(nil, faulty{}, io.Discard, io.Discard, nil)
	d := judge(a, cli.Task{Name: "-"}, &verifyFlags{})
	if d.code != cli.ExitInternal || len(d.found) != 1 || d.found[0].Code != diag.Internal {
		t.Errorf("%+v", d)
	}
}

// A faulty reader panics.
type faulty struct{}

func (faulty) Read([]byte) (int, error) { panic("at the bottom") }
