//go:build cgo && linux

package measure_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"mscclc/executor/exchange"
	"mscclc/executor/measure"
	"mscclc/transport"
	"mscclc/transport/enginetest"
)

// run measures in all processes of a job, which are this one.
func run(t *testing.T, spec string, node []int) ([]*measure.Result, error) {
	t.Helper()
	enginetest.Use()
	t.Setenv(transport.NetVariable, spec)
	results, errs := make([]*measure.Result, len(node)), make([]error, len(node))
	var all sync.WaitGroup
	for i, x := range exchange.Group(len(node)) {
		all.Go(func() { results[i], errs[i] = measure.Run(t.Context(), x, node, time.Minute) })
	}
	all.Wait()
	for i, err := range errs {
		if (err == nil) != (errs[0] == nil) {
			t.Errorf("process %d has %v, and process 0 %v", i, err, errs[0])
		}
	}
	return results, errs[0]
}

// TestRun measures jobs of two and three nodes: all processes have the same result.
func TestRun(t *testing.T) {
	for spec, node := range map[string][]int{"test:measured2,delay=0": {0, 1, 0, 1}, "test:measured3,delay=0": {0, 1, 2, 0}} {
		results, err := run(t, spec, node)
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range results {
			if r.Nodes != max(node[1], node[2])+1 || len(r.ByNode) != r.Nodes-1 || r.PerNode < 1 || r.Latency <= 0 ||
				r.Message <= 0 || r.One <= 0 || r.All <= 0 || r.Copy <= 0 || r.Latency != results[0].Latency {
				t.Errorf("%s, process %d: %+v", spec, i, r)
			}
		}
	}
}

// TestNothing has nothing to measure.
func TestNothing(t *testing.T) {
	_, err := measure.Run(t.Context(), exchange.Group(1)[0], []int{0}, time.Minute)
	if !errors.Is(err, measure.ErrOneProcess) {
		t.Error(err)
	}
	_, err = measure.Run(t.Context(), exchange.Group(2)[0], []int{0, 0}, time.Minute)
	if !errors.Is(err, measure.ErrOneNode) {
		t.Error(err)
	}
}

// TestLost has connections end: all processes fail soon.
func TestLost(t *testing.T) {
	if _, err := run(t, "test:lost,kill=500", []int{0, 1}); err == nil || !strings.Contains(err.Error(), "node 1") {
		t.Error(err)
	}
	if _, err := run(t, "nothing", []int{0, 1}); err == nil || !strings.Contains(err.Error(), "no engine nothing") {
		t.Error(err)
	}
}
