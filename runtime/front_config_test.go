package runtime_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestFrontConfig: calls with a configuration are native where those without are, unless it asks for what NCCL alone
// has. The caller may overwrite the configuration as soon as its function returns, also in a group.
func TestFrontConfig(t *testing.T) {
	calls := []string{"allreduce", "reducescatter", "reduce", "allgather", "broadcast", "alltoall", "gather", "scatter"}
	file := wholeBundle(t, 2)
	for _, how := range []string{"preload", "forward", "both", "alone"} {
		t.Run(how, func(t *testing.T) {
			native := []string{"init 0"}
			for _, fn := range calls {
				native = append(native, fn+" 0 1000 7 0 1 0 vc", fn+" 0 1000 7 0 1 0 vn", "start", fn+" 0 1000 7 0 1 0 vc", "end")
			}
			s := site{how: how, ranks: 2, bundle: file}
			r := s.do(t, append(native, "sync", "destroy 0")...).well(t)
			if strings.Contains(r.stats, `"native":false`) || strings.Count(r.stats, `"native":true,"calls":3`) != 2*len(calls) {
				t.Errorf("calls were: %s", r.stats)
			}
		})
	}
	for _, how := range []string{"preload", "forward"} {
		for flag, want := range map[string]string{"1": "config max=1 algorithms=", "a": "config max=-2147483648 algorithms=ring",
			"e": "config max=-2147483648 algorithms=", "b": "config max=-2147483648 algorithms="} {
			t.Run(how+flag, func(t *testing.T) {
				commands := []string{"init 0"}
				for _, fn := range calls {
					call := fmt.Sprint(fn, " 0 100000 7 0 1 0 c", flag)
					commands = append(commands, call, "start", call, "end")
				}
				s := site{how: how, ranks: 2, bundle: file}
				r := s.do(t, append(commands, "sync", "destroy 0")...).well(t)
				if n := strings.Count(strings.Join(r.notes[0], "\n"), want); n != 2*len(calls) {
					t.Errorf("NCCL has %d calls with %q: %q", n, want, r.notes[0])
				}
			})
		}
	}
}

// TestFrontConfigAlone: without NCCL, a configuration that asks for NCCL's algorithms is an error that names the
// function.
func TestFrontConfigAlone(t *testing.T) {
	s := site{how: "alone", ranks: 2, bundle: wholeBundle(t, 2)}
	r := s.do(t, "init 0", "expect 5", "allreduce 0 1000 7 0 0 0 a", "allreduce 0 1000 7 0 0 0 vc", "sync", "destroy 0").well(t)
	if !strings.Contains(r.output, "ncclAllReduceConfig was called, which needs NCCL (MSCCLC_NCCL=none)") {
		t.Errorf("the output is:\n%s", r.output)
	}
}
