package tunecmd

import (
	"testing"
	"time"
)

// TestBordersShare: the borders of a task take its share of the time that is left, all of it where nothing else is
// left, and none where it has passed.
func TestBordersShare(t *testing.T) {
	for _, c := range []struct {
		left        time.Duration
		sizes, rest int
		want        time.Duration
	}{{80 * time.Second, 10, 70, 10 * time.Second}, {9 * time.Second, 10, 0, 9 * time.Second},
		{-time.Second, 1, 9, -100 * time.Millisecond}, {0, 3, 0, 0}} {
		if got := bordersShare(c.left, c.sizes, c.rest); got != c.want {
			t.Errorf("%v for %d sizes and %d others: %v, not %v", c.left, c.sizes, c.rest, got, c.want)
		}
	}
}
