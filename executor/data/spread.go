package data

import (
	"runtime"
	"sync"
)

// spread does what there is to do with items of the given lengths, on all processors: do is called for
// stretches of up to step of each. What is no longer than a step altogether is done here.
func spread(lengths []int64, step int64, do func(item int, first, end int64)) {
	var total int64
	for _, n := range lengths {
		total += n
	}
	workers := min(int64(runtime.GOMAXPROCS(0)), (total+step-1)/step)
	if workers <= 1 {
		for i, n := range lengths {
			if n > 0 {
				do(i, 0, n)
			}
		}
		return
	}
	var mu sync.Mutex
	item, at := 0, int64(0)
	next := func() (i int, first, end int64) {
		mu.Lock()
		defer mu.Unlock()
		for item < len(lengths) && at >= lengths[item] {
			item, at = item+1, 0
		}
		if item == len(lengths) {
			return -1, 0, 0
		}
		first, at = at, min(at+step, lengths[item])
		return item, first, at
	}
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for i, first, end := next(); i >= 0; i, first, end = next() {
				do(i, first, end)
			}
		})
	}
	wait.Wait()
}

// Stretches that are worth another goroutine.
const (
	someElems = 1 << 14
	someBytes = 1 << 18
)
