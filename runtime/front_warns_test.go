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
			"MSCCLC_CTAS=\"abc\" is not a number from 1 to 4096: launches have at most 32 CTAs"},
		{"timeout", site{how: "preload", env: []string{"MSCCLC_TIMEOUT=abc"}}, call,
			"MSCCLC_TIMEOUT=\"abc\" is not a number of seconds from 0 to 1000000000: launches have no limit"},
		{"few", site{how: "preload", env: []string{"MSCCLC_FEW=off"}}, call, "MSCCLC_FEW=\"off\" is not 0 or 1: small calls take"},
		{"negative timeout", site{how: "both", env: []string{"MSCCLC_TIMEOUT=-1"}}, call, "MSCCLC_TIMEOUT=\"-1\" is not"},
		{"level", site{how: "forward", env: []string{"MSCCLC_DEBUG=foo"}}, call,
			"MSCCLC_DEBUG=\"foo\" is not VERSION, WARN, INFO or TRACE"},
		{"address", site{how: "alone", env: []string{"MSCCLC_ADDRESS=here"}}, call, "MSCCLC_ADDRESS=\"here\" is not an IPv4 or IPv6 address"},
		{"meeting", site{how: "preload", env: []string{"MSCCLC_MEET=0"}}, call,
			"MSCCLC_MEET=\"0\" is not a number of seconds above 0, up to 86400: ranks of a communicator meet within 10 s"},
		{"meeting without NCCL", site{how: "alone", env: []string{"MSCCLC_MEET=1\t2"}}, []string{"init 0"},
			"MSCCLC_MEET=\"1?2\" is not a number of seconds above 0, up to 86400: ranks of a communicator meet within 30 s"},
		{"terms", site{how: "preload", env: []string{"MSCCLC_SKIP=size<2,size>-1,size=4"}}, call,
			"MSCCLC_SKIP has \"size>-1\", which is left out: terms are size<N, size>N, size=N with a number N of ranks, and name:PATTERN"},
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

// TestFrontUnasked: a call whose stream cannot be asked is an error. NCCL does not get it, since the other ranks may
// have launched theirs.
func TestFrontUnasked(t *testing.T) {
	s := site{how: "preload", mock: true, ranks: 2, bundle: "testdata/client/client.h",
		env: []string{"MSCCLC_FAKE_CAPTURED=1"}}
	for _, commands := range [][]string{
		{"init 0", "expect 1", "allreduce 0 10 7 0 0 0", "destroy 0"},
		{"init 0", "start", "allreduce 0 10 7 0 0 0", "expect 1", "end", "destroy 0"},
	} {
		r := s.do(t, commands...).well(t)
		if notes := strings.Join(r.notes[0], "\n"); strings.Contains(notes, "AllReduce") {
			t.Errorf("NCCL gets the call:\n%s", notes)
		}
	}
}
