package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
)

// oneGPU is the environment of ranks that share the only GPU.
var oneGPU = []string{"MSCCLC_STANDIN_GPUS=1", "MSCCLC_SHARED_GPU=1"}

// TestFrontShared: ranks share one GPU, as processes and as threads.
func TestFrontShared(t *testing.T) {
	mixed := []string{"init 0", "init 1", "allreduce 0 1000 7 0 0 0 v", "allreduce 1 1000 7 0 0 1 vm", "start",
		"allreduce 0 100000 7 0 0 0 v", "allgather 1 999 7 0 0 2 vu", "end", "capture 0", "allreduce 0 1000 7 0 0 0 v",
		"gather 0 1000 7 0 1 0 v", "endcapture 0 3", "sync", "destroy 0", "destroy 1"}
	halves := []string{"init 0", "split 0 2 2", "reducescatter 2 70 9 0 0 1 v", "allreduce 0 3000 7 0 0 0 v", "sync",
		"destroy 2", "destroy 0"}
	all := []string{"initall 4", "start"}
	for i := range 4 {
		all = append(all, fmt.Sprintf("allreduce %d 3000 7 0 0 %d vm", i, i))
	}
	all = append(all, "end", "sync", "destroy 0", "destroy 1", "destroy 2", "destroy 3")
	file := wholeBundle(t, 2, 4)
	for _, c := range []struct {
		ranks    int
		threads  bool
		commands []string
	}{{2, false, mixed}, {4, false, halves}, {4, true, mixed}, {4, true, halves}, {1, false, all}} {
		t.Run(fmt.Sprint(c.ranks, c.threads, len(c.commands)), func(t *testing.T) {
			s := site{how: "alone", ranks: c.ranks, threads: c.threads, bundle: file, env: oneGPU}
			r := s.do(t, c.commands...).well(t)
			if strings.Contains(r.stats, `"native":false`) || !strings.Contains(r.stats, `"native":true`) {
				t.Errorf("calls were: %s", r.stats)
			}
		})
	}
}

// TestFrontSharedCrowd: threads share a GPU that has no room for all of their communicators at once.
func TestFrontSharedCrowd(t *testing.T) {
	b := makeBundle(t, []data.DType{data.F32}, 32, 4)
	var commands []string
	for i := range 3 {
		commands = append(commands, fmt.Sprint("init ", i))
	}
	for i := range 24 {
		commands = append(commands, fmt.Sprintf("allreduce %d 50000 7 0 0 %d v", i%3, i%4))
	}
	s := site{how: "alone", ranks: 4, threads: true, bundle: write(t, bundle.Encode(b)), env: oneGPU}
	s.do(t, append(commands, "sync", "destroy 0", "destroy 1", "destroy 2")...).well(t)
}

// TestFrontSharedRefused: ranks share no GPU beside NCCL, or without the setting.
func TestFrontSharedRefused(t *testing.T) {
	file := wholeBundle(t, 2)
	for _, s := range []site{{how: "alone", env: oneGPU[:1]}, {how: "preload", env: oneGPU}} {
		s.ranks, s.bundle = 2, file
		r := s.do(t, "init 0", "destroy 0").well(t)
		if !strings.Contains(r.output, "ranks 0 and 1 have the same GPU") {
			t.Errorf("%s: the output is\n%s", s.how, r.output)
		}
	}
	s := site{how: "alone", ranks: 2, bundle: file, env: oneGPU,
		of: func(rank int) []string { return []string{"", "MSCCLC_SHARED_GPU=0"}[rank : rank+1] }}
	if r := s.do(t, "init 0", "destroy 0").well(t); !strings.Contains(r.output, "different values of MSCCLC_ variables") {
		t.Errorf("the output is\n%s", r.output)
	}
}
