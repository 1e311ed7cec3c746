package main

import (
	"fmt"
	"testing"

	"mscclc/algorithms/choose"
)

// TestRuled holds how far each rule of a table reaches: half a factor beyond its last size, and all that is larger than what is large.
func TestRuled(t *testing.T) {
	for _, c := range []struct {
		sizes  []int64
		factor int64
		want   string
	}{
		{[]int64{1 << 10, 4 << 10, 16 << 10}, 4, "[2048 8192 32768]"},
		{[]int64{1 << 10, 3 << 10}, 9, "[1773 9216]"},
		{[]int64{1 << 10, 1 << 30}, 1 << 20, "[1048576 0]"},
	} {
		var rules []choose.Rule
		for i := range c.sizes {
			rules = ruled(rules, choose.Rule{Variant: choose.Variant{Columns: 1 + i}}, c.sizes, i, c.factor)
		}
		var ends []int64
		for _, r := range rules {
			ends = append(ends, r.UpTo)
		}
		if got := fmt.Sprint(ends); got != c.want {
			t.Errorf("%v, each %d times the one before: rules up to %s, not %s", c.sizes, c.factor, got, c.want)
		}
	}
}
