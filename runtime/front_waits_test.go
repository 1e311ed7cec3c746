package runtime_test

import (
	"regexp"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
)

// TestFrontTwoOrders: ranks use two of four communicators in different orders, and wait for each other. After some
// seconds each says once which rank has which call of which communicator first. With three communicators there is room.
func TestFrontTwoOrders(t *testing.T) {
	t.Parallel()
	file := write(t, bundle.Encode(makeBundle(t, []data.DType{data.F32}, 32, 2)))
	const a, b = "allreduce 0 4096 7 0 0 0", "allgather 2 300 7 0 0 1"
	orders := []string{"@0 " + a, "@0 " + b, "@1 " + b, "@1 " + a}
	for _, each := range []int{1, 2} {
		s := site{how: "preload", ranks: 2, each: each, bundle: file}
		commands := append([]string{"init 0", "init 1", "init 2", "init 3"}, orders...)
		r := s.do(t, append(commands, "sleep 9000", "abort 0", "abort 1", "abort 2", "abort 3")...).well(t)
		const reduce = `call 1, ncclAllReduce of 4096 f32, of communicator (\w{8})`
		const gather = `call 1, ncclAllGather of 300 f32, of communicator (\w{8})`
		for _, want := range []string{`rank 0 of 2 has waited for \d+ s in ` + reduce + `: rank 1 runs this call after ` + gather,
			`rank 1 of 2 has waited for \d+ s in ` + gather + `: rank 0 runs this call after ` + reduce} {
			if n := len(regexp.MustCompile(want).FindAllString(r.output, -1)); n != 1 {
				t.Errorf("%d lines are %s\n%s", n, want, r.output)
			}
		}
	}
	s := site{how: "preload", ranks: 2, bundle: file}
	commands := append([]string{"init 0", "init 1", "init 2"}, orders...)
	r := s.do(t, append(commands, "sync", "destroy 0", "destroy 1", "destroy 2")...).well(t)
	if strings.Contains(r.output, "has waited") {
		t.Error(r.output)
	}
}
