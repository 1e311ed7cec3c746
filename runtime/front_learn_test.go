package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
)

// candidates writes a bundle whose rules are candidates, for calls that nobody measured.
func candidates(t *testing.T, ranks int) string {
	t.Helper()
	rules, _ := bundle.RulesFor(ranks, 4, nil, true)
	b, err := bundle.Build(bundle.Spec{Device: device, Ranks: []int{ranks}, DTypes: []data.DType{data.F32, data.I32},
		CTAs: 4, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return write(t, bundle.Encode(b))
}

// learner is a site whose bundle has candidates, beside an NCCL whose calls take so many microseconds more.
func learner(t *testing.T, ranks, slow int, env ...string) site {
	return site{how: "preload", ranks: ranks, bundle: candidates(t, ranks),
		env: append([]string{"MSCCLC_DEBUG=INFO", fmt.Sprint("MSCCLC_FAKE_SLOW_US=", slow)}, env...)}
}

// count returns how many calls of a function NCCL had, which must be the same on all ranks.
func (r *run) count(t *testing.T, function string) int {
	t.Helper()
	counts := map[int]bool{}
	last := 0
	for _, notes := range r.notes {
		last = 0
		for _, n := range notes {
			if strings.HasPrefix(strings.Replace(n, "(group) ", "", 1), "nccl "+function+" ") {
				last++
			}
		}
		counts[last] = true
	}
	if len(counts) > 1 {
		t.Errorf("ranks differ in their calls of NCCL's %s: %v\n%s", function, counts, r.output)
	}
	return last
}

// TestFrontLearns: where NCCL is slow, all ranks take a candidate from the same call on, also for captured calls. Where
// it is fast, NCCL runs the calls.
func TestFrontLearns(t *testing.T) {
	for _, c := range []struct {
		ranks, each int
		late        bool
	}{{2, 0, false}, {4, 2, false}, {3, 3, true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			s := learner(t, c.ranks, 1500)
			s.each, s.late = c.each, c.late
			const calls = 240
			r := s.do(t, "init 0", fmt.Sprint("repeat ", calls, " allgather 0 1000 7 0 0 0 v"), "sync", "capture 0",
				"allgather 0 999 7 0 0 0 v", "endcapture 0 3", "sync", "destroy 0").well(t)
			if n := r.count(t, "AllGather"); n < 7+64 || n >= calls {
				t.Errorf("NCCL has %d of %d calls\n%s", n, calls, r.output)
			}
			for _, want := range []string{`"chosen":"allgather/allpairs `, `"up_to":`, `"trials":`} {
				if !strings.Contains(r.stats, want) {
					t.Errorf("%q is not in the statistics: %s", want, r.stats)
				}
			}
			if n := strings.Count(r.output, "learned for ncclAllGather of up to"); n != c.ranks {
				t.Errorf("%d ranks say what they learned\n%s", n, r.output)
			}
		})
	}
}
