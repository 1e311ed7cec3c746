//go:build linux

package hosts

import (
	"testing"
	"time"
)

// A line stalls at the begin of each period, and is busy for as long as its rate says.
func TestLine(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		line      Line
		at, begin time.Duration
		stalled   bool
	}{
		{Line{}, 7 * ms, 7 * ms, false},
		{Line{Every: 10 * ms, Stall: 3 * ms}, 0, 3 * ms, true},
		{Line{Every: 10 * ms, Stall: 3 * ms}, 3 * ms, 3 * ms, false},
		{Line{Every: 10 * ms, Stall: 3 * ms}, 9 * ms, 9 * ms, false},
		{Line{Every: 10 * ms, Stall: 3 * ms}, 41 * ms, 43 * ms, true},
	} {
		if begin, stalled := c.line.begins(c.at); begin != c.begin || stalled != c.stalled {
			t.Errorf("%+v: a frame of %v begins at %v (stalled: %t)", c.line, c.at, begin, stalled)
		}
	}
	for _, c := range []struct {
		rate, bytes int
		want        time.Duration
	}{{0, 1 << 20, 0}, {1000, 1, ms}, {1 << 20, 1 << 16, time.Second / 16}} {
		if got := (&Line{Rate: c.rate}).takes(c.bytes); got != c.want {
			t.Errorf("%d bytes at %d bytes a second take %v, not %v", c.bytes, c.rate, got, c.want)
		}
	}
}
