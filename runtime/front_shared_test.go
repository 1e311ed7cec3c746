package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
)

// oneGPU is the environment of ranks that share the only mock GPU.
var oneGPU = []string{"MSCCLC_STANDIN_GPUS=1", "MSCCLC_SHARED_GPU=1"}

// sharedCalls are two communicators with groups, captures and a split.
var sharedCalls = []string{"init 0", "init 1", "allreduce 0 1000 7 0 0 0 v", "allreduce 1 1000 7 0 0 1 vm", "start",
	"allreduce 0 100000 7 0 0 0 v", "allgather 1 999 7 0 0 2 vu", "end", "capture 0", "allreduce 0 1000 7 0 0 0 v",
	"gather 0 1000 7 0 1 0 v", "endcapture 0 3", "sync", "split 0 2 1", "meet split", "reducescatter 2 70 9 0 0 1 v",
	"allreduce 0 3000 7 0 0 0 v", "sync", "destroy 2", "destroy 0", "destroy 1"}

// whileWaits make a communicator while a call of another one waits for a rank.
var whileWaits = []string{"init 0", "@0 allreduce 0 1000 7 0 0 0 v", "meet waits", "init 1", "@1 allreduce 0 1000 7 0 0 0 v",
	"allreduce 1 1000 7 0 0 1 v", "sync", "destroy 1", "destroy 0"}

// allOfThread are calls of a thread that has all ranks.
func allOfThread(ranks int) []string {
	commands := []string{fmt.Sprint("initall ", ranks), "start"}
	for i := range ranks {
		commands = append(commands, fmt.Sprintf("allreduce %d 3000 7 0 0 %d vm", i, i))
	}
	commands = append(commands, "end", "sync")
	for i := range ranks {
		commands = append(commands, fmt.Sprint("destroy ", i))
	}
	return commands
}

// TestFrontSharedOversubscribed: threads share a GPU that has no room for all of their communicators at once.
func TestFrontSharedOversubscribed(t *testing.T) {
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
	if r := s.do(t, "init 0", "destroy 0").well(t); !strings.Contains(r.output, "different values of MSCCLC_SHARED_GPU: 1 on rank 0; 0 on rank 1") {
		t.Errorf("the output is\n%s", r.output)
	}
}
