package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
)

// eagerBundle writes a bundle whose rules are for eager calls only: NCCL runs captured ones.
func eagerBundle(t *testing.T, ranks ...int) string {
	t.Helper()
	spec := bundle.Spec{Device: device, Ranks: ranks, DTypes: []data.DType{data.F32}}
	for _, n := range ranks {
		for _, r := range bundle.Ladder(n, 4) {
			r.When = bundle.WhenEager
			spec.Rules = append(spec.Rules, r)
		}
	}
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, bundle.Encode(b))
}

// The modes of captures, as CUDA numbers them.
const globalMode, threadMode = 0, 1

// captured returns eager calls of all sizes, and then captured ones in another order, of ranks that have a thread each.
func captured(mode int) []string {
	return []string{"init 0", "allreduce 0 100 7 0 0 0 v", "allreduce 0 100000 7 0 0 0 v", "alltoall 0 1000 7 0 0 0 v",
		"gather 0 70 7 0 1 0 v", "sync", "meet eager", fmt.Sprint("capture 0 ", mode), "meet all", "alltoall 0 1000 7 0 0 0",
		"allreduce 0 100000 7 0 0 0", "start", "@0 send 0 10 7 0 1 0", "@1 recv 0 10 7 0 0 0", "end",
		"allreduce 0 100 7 0 0 0", "start", "gather 0 70 7 0 1 0", "allreduce 0 200 7 0 0 0", "end", "endcapture 0 1", "sync",
		"destroy 0"}
}

// TestFrontCaptured: captured calls that NCCL runs succeed, although NCCL has connected nothing before: eager ones were
// native. NCCL connects in the thread that captures. With NCCL alone, eager calls have connected.
func TestFrontCaptured(t *testing.T) {
	file := eagerBundle(t, 2)
	for _, how := range []string{"preload", "forward", "plain"} {
		for _, mode := range []int{globalMode, threadMode} {
			for _, threads := range []bool{true, false} {
				t.Run(fmt.Sprint(how, mode, threads), func(t *testing.T) {
					s := site{how: how, ranks: 2, threads: threads, bundle: file, env: []string{"CLIENT_POOL=67108864"}}
					commands := captured(mode)
					if how == "plain" { // the mock NCCL moves no data
						commands = unverified(commands)
					}
					r := s.do(t, commands...).well(t)
					if how != "plain" {
						both(t, r)
					}
				})
			}
		}
	}
}

// both fails the test unless a collective had native calls and others.
func both(t *testing.T, r *run) {
	t.Helper()
	for _, want := range []string{`ncclAlltoAll","native":true`, `ncclAlltoAll","native":false`,
		`ncclAllReduce","native":true`, `ncclAllReduce","native":false`} {
		if !strings.Contains(r.stats, want) {
			t.Errorf("no %s in the counts: %s", want, r.stats)
		}
	}
}

// unverified returns commands whose data is not compared.
func unverified(commands []string) (list []string) {
	for _, c := range commands {
		list = append(list, strings.TrimSuffix(c, " v"))
	}
	return list
}

// TestFrontCapturedApart: NCCL may connect in threads of its own, where the caller's mode counts for nothing: before
// release 2.28, for communicators that do not block, and for several of a group. There the first eager call of each
// kind is NCCL's.
func TestFrontCapturedApart(t *testing.T) {
	file := eagerBundle(t, 2)
	twice := func(begin ...string) []string {
		return append(append(begin, unverified(captured(globalMode)[1:5])...), captured(globalMode)[1:]...)
	}
	group := func(call, end string) []string {
		return []string{"start", fmt.Sprintf(call, 0, 0) + end, fmt.Sprintf(call, 1, 1) + end, "end"}
	}
	const small, large, all = "allreduce %d 100 7 0 0 %d", "allreduce %d 100000 7 0 0 %d", "alltoall %d 1000 7 0 0 %d"
	one := []string{"initall 2"}
	for _, call := range []string{small, large, all} {
		one = append(append(one, group(call, "")...), group(call, " v")...)
	}
	one = append(one, "sync", "capture 0 0", "capture 1 0")
	for _, call := range []string{all, small, large} {
		one = append(one, group(call, "")...)
	}
	one = append(one, "endcapture 0 1", "endcapture 1 1", "sync", "destroy 0", "destroy 1")
	for _, how := range []string{"preload", "forward"} {
		for _, c := range []struct {
			name     string
			site     site
			commands []string
		}{
			{"before 2.28", site{ranks: 2, env: []string{"MSCCLC_FAKE_THREADS=1"}}, twice("init 0")},
			{"that does not block", site{ranks: 2, threads: true}, twice("init 0 0 0", "wait 0")},
			{"several of a group", site{ranks: 1}, one},
		} {
			t.Run(c.name+", "+how, func(t *testing.T) {
				c.site.how, c.site.bundle = how, file
				c.site.env = append(c.site.env, "CLIENT_POOL=67108864")
				both(t, c.site.do(t, c.commands...).well(t))
			})
		}
	}
}
