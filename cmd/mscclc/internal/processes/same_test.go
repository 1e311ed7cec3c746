package processes

import (
	"strings"
	"sync"
	"testing"

	"mscclc/executor/exchange"
)

// TestSame has processes with different arguments fail all, and those that write one value in two ways not.
func TestSame(t *testing.T) {
	for _, c := range [][3]string{{"4K", "4096", ""}, {"bf16", "bfloat16", ""}, {"sum", "max", "-e is sum in process 0"},
		{"", "1K", "-e is not given in process 0 and 1K in process 1"}} {
		var wait sync.WaitGroup
		for i, x := range exchange.Group(2) {
			wait.Go(func() {
				err := Same(t.Context(), x, []Argument{{"-e", c[i]}})
				if (err == nil) != (c[2] == "") || err != nil && !strings.Contains(err.Error(), c[2]) {
					t.Errorf("%q, process %d: %v", c, i, err)
				}
			})
		}
		wait.Wait()
	}
}

// TestBuilds has processes of different builds say so.
func TestBuilds(t *testing.T) {
	err := compare([]stand{{"1, kernel 12", nil}, {"1, kernel 12", nil}, {"2, kernel 34", []Argument{{"-e", "1K"}}}})
	if err == nil || !strings.Contains(err.Error(), "process 0 is of mscclc 1, kernel 12, and process 2 of 2, kernel 34") {
		t.Error(err)
	}
}
