package verifycmd

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"
)

// The weight of a file is what its program may take in memory, in bytes of XML,
// of which each takes up to 15 bytes. Files beside each other weigh no more
// than maxWeight, or are one.
const (
	maxWeight    = 64 << 20
	minWeight    = 64 << 10 // of any file
	sourceWeight = 2 << 20  // of an algorithm, whose size says little of its program
)

// weightOf returns the weight of what name names.
func weightOf(name string) int64 {
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() || filepath.Ext(name) == ".mscl" {
		return sourceWeight
	}
	return min(max(info.Size(), minWeight), maxWeight)
}

// inOrder calls work for 0 to n-1, several at once, and use for the results in
// their order, each as soon as it and those before it are there. Results that
// wait for their turn keep their weight, so that they too are bounded. In
// between it calls idle now and then. It ends early when ctx does or use fails.
func inOrder[T any](ctx context.Context, n int, weight func(int) int64, work func(int) T, use func(int, T) error,
	idle func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		value  T
		weight int64
	}
	results := make([]chan result, n)
	for i := range results {
		results[i] = make(chan result, 1)
	}
	memory := semaphore.NewWeighted(maxWeight)
	workers := semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0)))
	go func() {
		for i := range n {
			w := weight(i)
			if memory.Acquire(ctx, w) != nil || workers.Acquire(ctx, 1) != nil {
				return
			}
			go func() {
				value := work(i)
				workers.Release(1)
				results[i] <- result{value, w}
			}()
		}
	}()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for i := 0; i < n; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			idle()
		case r := <-results[i]:
			if err := use(i, r.value); err != nil {
				return err
			}
			memory.Release(r.weight)
			i++
		}
	}
	return nil
}
