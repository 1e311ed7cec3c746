package runtime_test

import (
	"fmt"
	"slices"
	"testing"
)

// TestFrontBlocking: a call that makes a communicator that blocks waits until its ranks have agreed, also where NCCL
// makes it seconds later on one rank, or until the limit of the meeting, which TestFrontMissing reaches.
func TestFrontBlocking(t *testing.T) {
	t.Parallel()
	const late = 3000 // ms
	for _, how := range []string{"preload", "forward"} {
		for _, c := range []struct {
			meet  string
			least float64 // ms
		}{{"100", late - 500}, {"1", 900}} {
			s := site{how: how, ranks: 2, bundle: wholeBundle(t, 2), of: ofRank(1, fmt.Sprint("MSCCLC_FAKE_INIT_MS=", late)),
				env: []string{"MSCCLC_MEET=" + c.meet}}
			r := s.do(t, append([]string{"@0 timed init 0", "@1 init 0"}, gathered...)...).well(t)
			if took := slices.Min(r.times(t, "init")); took < c.least {
				t.Errorf("%s: with a limit of %s s rank 0's call takes %.0f ms\n%s", how, c.meet, took, r.output)
			}
			if c.meet == "100" {
				r.native(t)
			}
		}
	}
}

// TestFrontSplitJoined: without NCCL, a split returns once all its ranks are joined, also those that have no part in
// it. So a rank that exits then fails no call of another rank.
func TestFrontSplitJoined(t *testing.T) {
	t.Parallel()
	s := site{how: "alone", ranks: 2, bundle: wholeBundle(t, 2), of: ofRank(1, "CLIENT_ACCEPT_MS=2500")}
	r := s.do(t, "init 0", "split 0 1 1", "exit 1", "sleep 1000", "well 1", "well 0")
	if r.failed[0] != nil {
		t.Errorf("%v\n%s", r.failed[0], r.output)
	}
	s = site{how: "alone", ranks: 3, bundle: wholeBundle(t, 2, 3)}
	s.do(t, "init 0", "@2 nocolor 0", "@2 exit 2", "sleep 1500", "split 0 1 1", "allreduce 1 1000 7 0 0 0 v", "sync", "destroy 1").well(t)
}
