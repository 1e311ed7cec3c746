package runtime_test

import (
	"strings"
	"testing"
)

// TestFrontWarns: variables without a meaning, a missing driver and a missing function have one warning each.
func TestFrontWarns(t *testing.T) {
	file := wholeBundle(t, 2)
	call := []string{"init 0", "allreduce 0 10 7 0 0 0", "sync", "destroy 0"}
	for _, c := range []struct {
		name     string
		site     site
		commands []string
		want     string
	}{
		{"CTAs", site{how: "preload", env: []string{"MSCCLC_CTAS=abc"}}, call,
			"MSCCLC_CTAS=abc is not a number from 1 to 4096: launches have at most 32 CTAs"},
		{"timeout", site{how: "preload", env: []string{"MSCCLC_TIMEOUT=abc"}}, call,
			"MSCCLC_TIMEOUT=abc is not a number of seconds: launches have no limit"},
		{"few", site{how: "preload", env: []string{"MSCCLC_FEW=off"}}, call, "MSCCLC_FEW=off is not 0 or 1: small calls take"},
		{"negative timeout", site{how: "both", env: []string{"MSCCLC_TIMEOUT=-1"}}, call, "MSCCLC_TIMEOUT=-1 is not"},
		{"level", site{how: "forward", env: []string{"MSCCLC_DEBUG=foo"}}, call,
			"MSCCLC_DEBUG=foo is not VERSION, WARN, INFO or TRACE"},
		{"address", site{how: "alone", env: []string{"MSCCLC_ADDRESS=here"}}, call, "MSCCLC_ADDRESS=here is not an IPv4 address"},
		{"counts", site{how: "preload", env: []string{"MSCCLC_STATS=/nowhere/stats"}}, call, "MSCCLC_STATS=/nowhere/stats cannot be written: "},
		{"function", site{how: "alone"}, []string{"init 0", "missing", "missing"}, "ncclPutSignal was called, which needs NCCL"},
		{"driver", site{how: "alone", ranks: 2}, []string{"environment MSCCLC_LIBCUDA /nowhere/libcuda.so", "init 0"},
			"fail with ncclInvalidUsage, since there is no NCCL: rank 0: GPU 0: NVIDIA's driver cannot be opened: /nowhere/libcuda.so"},
		{"no bundle", site{how: "alone", ranks: 2, bundle: "none"}, []string{"init 0"},
			"calls of this communicator of 2 ranks fail with ncclInvalidUsage, since there is no NCCL: rank 0: bundle none: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := c.site
			if s.ranks == 0 {
				s.ranks = 1
			}
			if s.bundle == "" {
				s.bundle = file
			}
			r := s.do(t, c.commands...).well(t)
			lines := strings.Split(strings.TrimSpace(r.output), "\n")
			if n := strings.Count(r.output, c.want); n != 1 || len(lines) > s.ranks {
				t.Errorf("%d warnings of %q:\n%s", n, c.want, r.output)
			}
			if strings.Contains(r.output, "NCCL runs") {
				t.Errorf("NCCL is said to run calls:\n%s", r.output)
			}
		})
	}
}

// TestFrontUnasked: a call whose stream cannot be asked goes to NCCL in order, and is counted.
func TestFrontUnasked(t *testing.T) {
	s := site{how: "preload", mock: true, ranks: 2, bundle: "testdata/client.h",
		env: []string{"MSCCLC_FAKE_CAPTURED=1"}}
	for _, commands := range [][]string{
		{"init 0", "allreduce 0 10 7 0 0 0", "destroy 0"},
		{"init 0", "start", "allreduce 0 10 7 0 0 0", "end", "destroy 0"},
	} {
		r := s.do(t, commands...).well(t)
		notes := strings.Join(r.notes[0], "\n")
		call, before, behind := strings.LastIndex(notes, "AllReduce"), strings.Index(notes, "engine before"),
			strings.Index(notes, "engine behind")
		if call < 0 || before < 0 || behind < call {
			t.Errorf("the call is not in order:\n%s", notes)
		}
		if !strings.Contains(r.stats, `"reason":"its stream cannot be asked"`) {
			t.Errorf("the counts are %s", r.stats)
		}
	}
}
