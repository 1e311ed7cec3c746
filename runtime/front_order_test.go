package runtime_test

import (
	"strings"
	"testing"
)

// TestFrontMadeInOrders: ranks make two communicators in a group or one after the other, as NCCL allows, and all calls
// run by programs. Communicators that do not block agree at their first collectives.
func TestFrontMadeInOrders(t *testing.T) {
	const x, y = "allreduce 0 1000 7 0 0 0 v", "allreduce 1 3000 7 0 0 0 v"
	for _, c := range []struct {
		name     string
		commands []string
	}{
		{"in a group and in order", []string{"@0 start", "init 0", "init 1", "@0 end", x, y, "sync", "destroy 0", "destroy 1"}},
		{"in a group and backwards", []string{"@0 start", "@0 init 0", "@0 init 1", "@0 end", "@1 init 1", "@1 init 0", "init 2",
			"allreduce 2 500 7 0 0 0 v", y, x, "sync", "destroy 1", "destroy 2", "destroy 0"}},
		{"in a group and in order, both used in a group", []string{"@0 start", "init 0", "init 1", "@0 end", "start", x, y,
			"end", "sync", "destroy 0", "destroy 1"}},
		{"split in a group and in order", []string{"init 2", "init 3", "@0 start", "split 2 0 1", "split 3 1 1", "@0 end", x, y,
			"sync", "destroy 0", "destroy 1", "destroy 2", "destroy 3"}},
		{"first used in a group and in order", []string{"init 0 0 0", "init 1 0 0", "wait 0", "wait 1", "@0 start", x, y,
			"@0 end", "sync", "destroy 0", "destroy 1"}},
	} {
		for _, how := range []string{"preload", "forward", "alone"} {
			t.Run(c.name+"/"+how, func(t *testing.T) {
				t.Parallel()
				s := site{how: how, ranks: 2, bundle: wholeBundle(t, 2), env: []string{"MSCCLC_MEET=100"}} // longer than a client lives
				r := s.do(t, c.commands...).well(t)
				if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"native":true`) {
					t.Errorf("calls were: %s\n%s", r.stats, r.output)
				}
			})
		}
	}
}
