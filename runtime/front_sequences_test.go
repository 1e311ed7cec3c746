package runtime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A sequence is what a program calls, and what must come of it at rank 0.
type sequence struct {
	name     string
	site     site
	commands []string
	want     []string
}

// checkSequences runs sequences with each library, and with both, on a mock engine.
func checkSequences(t *testing.T, list []sequence) {
	ok := filepath.Join(t.TempDir(), "any.bundle")
	if err := os.WriteFile(ok, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, how := range []string{"preload", "forward", "both"} {
				c.site.how, c.site.mock = how, true
				if c.site.bundle == "" {
					c.site.bundle = ok
				}
				r := c.site.do(t, together(c.commands)...).well(t)
				if d := cmp.Diff(c.want, r.calls(0)); d != "" {
					t.Errorf("%s: %s\n%s", how, d, r.output)
				}
				if lines := strings.Count(r.output, "NCCL runs all calls"); lines > 1 {
					t.Errorf("%s: %d warnings:\n%s", how, lines, r.output)
				}
			}
		})
	}
}

// together has all ranks meet before each end of a communicator: a rank that waits for others in vain, on a machine
// with much to do, frees its part later.
func together(commands []string) (list []string) {
	for i, c := range commands {
		if strings.HasPrefix(c, "destroy ") || strings.HasPrefix(c, "abort ") {
			list = append(list, fmt.Sprint("meet ", i))
		}
		list = append(list, c)
	}
	return list
}

// calls returns the notes of a rank without arguments.
func (r *run) calls(rank int) (list []string) {
	for _, n := range r.notes[rank] {
		words := strings.Fields(n)
		end := 2
		if words[1] == "(group)" {
			end = 3
		}
		list = append(list, strings.Join(words[:end], " "))
	}
	return list
}

// TestFrontTorchComms: the call sequences of TorchComms. It registers the allocator's memory, sums one element after a
// communicator was made, and makes some collectives of others in a group.
func TestFrontTorchComms(t *testing.T) {
	const initRank, native = "nccl CommInitRankConfig", "engine AllReduce"
	const sum = "allreduce 0 1 7 0 0 0"
	begin := []string{"init 0 1 0", sum, "register 0"}
	begun := notes(initRank, agreed, native, "nccl CommRegister")
	after := func(more ...string) []string { return append(begin[:len(begin):len(begin)], more...) }
	checkSequences(t, []sequence{
		{"all_reduce", site{ranks: 2}, after("allreduce 0 100 9 4 0 0", "well 0", "destroy 0"),
			notes(begun, native, "engine before", "engine end", "nccl CommDestroy")},
		{"all_gather and all_gather_v", site{ranks: 2}, after("allgather 0 10 9 0 0 0", "start", "broadcast 0 10 7 0 0 0",
			"broadcast 0 20 7 0 1 0", "end"), notes(begun, "engine AllGather", "engine Broadcast", "engine Broadcast")},
		{"reduce_scatter", site{ranks: 2}, after("reducescatter 0 10 9 0 0 0", "start", "reduce 0 10 7 0 0 0",
			"reduce 0 10 7 0 1 0", "end"), notes(begun, "engine ReduceScatter", "engine Reduce", "engine Reduce")},
		{"all_to_all", site{ranks: 2}, after("alltoall 0 10 7 0 0 0"), notes(begun, "engine AlltoAll")},
		{"split", site{ranks: 2}, after("split 0 1 1", "allreduce 1 10 7 0 0 0", "destroy 1"),
			notes(begun, "nccl CommSplit", agreed, native, "engine before", "engine end", "nccl CommDestroy")},
		{"abort", site{ranks: 2}, after("abort 0"),
			notes(begun, "engine before", "engine abort", "engine before", "engine end", "nccl CommAbort")},
		{"reconfigure", site{ranks: 3}, after("sync", "revoke 0", "shrink 0 1 2 1", "@0 allreduce 1 10 7 0 0 0",
			"@1 allreduce 1 10 7 0 0 0", "grow 1 2", "allreduce 2 10 7 0 0 0"),
			notes(begun, "engine before", "engine abort", "nccl CommRevoke", "nccl CommShrink", agreed, native,
				"nccl CommGrow", "nccl AllReduce")},
	})
}

// TestFrontGrown: communicators that were shrunk give right results, and those that have grown are NCCL's.
func TestFrontGrown(t *testing.T) {
	file := wholeBundle(t, 2, 3)
	for _, how := range []string{"preload", "forward"} {
		s := site{how: how, ranks: 3, bundle: file}
		r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "sync", "shrink 0 1 1 0", "@0 allreduce 1 3000 7 0 0 0 vm",
			"@2 allreduce 1 3000 7 0 0 0 vm", "sync", "grow 1 2", "allgather 2 500 7 0 0 0 v", "sync",
			"allreduce 0 1000 7 0 0 1 v", "sync", "destroy 2", "@0 destroy 1", "@2 destroy 1", "destroy 0").well(t)
		if strings.Count(r.stats, `"native":false,"calls":1,"reason":"the communicator has grown out of another"`) != 3 ||
			strings.Count(r.stats, `"native":false`) != 3 || strings.Count(r.stats, `"native":true`) < 3 {
			t.Errorf("%s: calls were: %s", how, r.stats)
		}
	}
}
