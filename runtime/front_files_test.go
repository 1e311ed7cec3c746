package runtime_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestFrontNoDescriptors: a connection that waits while a process has no descriptor left costs it no time. One line
// says that it waits, and later communicators work.
func TestFrontNoDescriptors(t *testing.T) {
	s := site{how: "preload", ranks: 2, bundle: wholeBundle(t, 2)}
	r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync", fmt.Sprint("@1 full ", syscall.SOCK_SEQPACKET),
		"@1 busy 1000", "@1 spare", "meet spare", "init 1", "allreduce 1 1000 7 0 0 0 v", "sync", "destroy 0", "destroy 1").well(t)
	if most := slices.Max(r.times(t, "works")); most > 100 {
		t.Errorf("rank 1 works for %.0f of 1000 ms\n%s", most, r.output)
	}
	if n := strings.Count(r.output, "a connection of another rank must wait: Too many open files (ulimit -n)"); n != 1 {
		t.Errorf("%d lines say why\n%s", n, r.output)
	}
	if strings.Contains(r.stats, `"native":false`) {
		t.Errorf("calls were: %s", r.stats)
	}
}

// TestFrontFewDescriptors: a rank whose process has few descriptors left when it makes a communicator. All ranks have
// the same outcome. Where no program runs, a warning or the error of each rank names descriptors.
func TestFrontFewDescriptors(t *testing.T) {
	file, named := wholeBundle(t, 2), regexp.MustCompile("descriptor|open files")
	for _, how := range []string{"preload", "alone"} {
		for rank := range 2 {
			for left := range 8 {
				if how == "preload" && left == 0 {
					continue // NCCL itself has none
				}
				t.Run(fmt.Sprint(how, " rank ", rank, " has ", left), func(t *testing.T) {
					t.Parallel()
					s := site{how: how, ranks: 2, bundle: file, env: []string{"MSCCLC_MEET=3", "MSCCLC_FAKE_LOG="}}
					r := s.do(t, "makeid 0", "meet id", fmt.Sprintf("@%d leave %d", rank, left), "try 0", "spare", "meet made").well(t)
					made := strings.Count(r.output, "ncclCommInitRank gives 0")
					lines := regexp.MustCompile("(?m)^mscclc .*(NCCL runs all calls|fail with ncclInvalidUsage).*$").FindAllString(r.output, -1)
					texts := regexp.MustCompile("ncclCommInitRank gives [1-9].*").FindAllString(r.output, -1)
					for _, x := range append(lines, texts...) {
						if !named.MatchString(x) {
							t.Errorf("it does not name descriptors: %s", x)
						}
					}
					if how == "preload" && (made != 2 || len(lines) > 1) || how == "alone" && made == 1 {
						t.Errorf("%d ranks have the communicator, with %d warnings", made, len(lines))
					}
					t.Logf("%s", r.output)
				})
			}
		}
	}
}
