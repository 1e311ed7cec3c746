package runtime_test

import (
	"slices"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/ir"
)

// TestFrontWholeLines: without NVLink, no program runs whose packets are lines of 128 bytes. The next rule that fits
// counts, or else NCCL.
func TestFrontWholeLines(t *testing.T) {
	t.Parallel()
	spec := bundle.Spec{Device: device, Ranks: []int{2}, DTypes: []data.DType{data.F32}}
	ladder := bundle.Ladder(2, 4)
	for _, kind := range []ir.Kind{ir.AllReduce, ir.AllGather} {
		rule := ladder[slices.IndexFunc(ladder, func(r bundle.Rule) bool { return r.Kind == kind })]
		rule.Protocol, rule.UpTo, rule.Tile = ir.LL128, 1<<20, 64<<10
		spec.Rules = append(spec.Rules, rule)
		if rule.Protocol = ir.LL; kind == ir.AllReduce {
			spec.Rules = append(spec.Rules, rule)
		}
	}
	b, err := bundle.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, bundle.Encode(b))
	for _, how := range []string{"preload", "forward"} {
		for _, pcie := range []bool{false, true} {
			s := site{how: how, ranks: 2, bundle: file, threads: how == "forward"}
			if pcie {
				s.env = []string{"MSCCLC_STANDIN_PCIE=1"}
			}
			r := s.do(t, "init 0", "allreduce 0 1000 7 0 0 0 v", "allgather 0 1000 7 0 0 0 v", "sync", "destroy 0").well(t)
			why := strings.Contains(r.stats, "the program needs NVLink between all GPUs")
			if pcie != why || pcie == strings.Contains(r.stats, `"ncclAllGather","native":true`) ||
				!strings.Contains(r.stats, `"ncclAllReduce","native":true`) {
				t.Errorf("%s, PCIe %v: %s\n%s", how, pcie, r.stats, r.output)
			}
		}
	}
}
