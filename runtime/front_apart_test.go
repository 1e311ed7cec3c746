package runtime_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/bundle"
	"mscclc/executor/data"
	"mscclc/ir"
)

// apartRules are an AllReduce and an AllGather for GPUs that reach each other's memory, and another AllReduce for those
// that do not.
func apartRules(ranks int) bundle.Spec {
	spec := bundle.Spec{Device: device, Ranks: []int{ranks}, DTypes: []data.DType{data.F32}}
	ladder := bundle.Ladder(ranks, 4)
	for _, kind := range []ir.Kind{ir.AllReduce, ir.AllGather} {
		rule := ladder[slices.IndexFunc(ladder, func(r bundle.Rule) bool { return r.Kind == kind })]
		rule.Protocol, rule.UpTo, rule.Tile = ir.LL, 1<<20, 64<<10
		spec.Rules = append(spec.Rules, rule)
		if rule.Protocol = ir.Simple; kind == ir.AllReduce {
			rule.When |= bundle.WhenApart
			spec.Rules = append(spec.Rules, rule)
		}
	}
	return spec
}

// TestFrontApart: arenas of GPUs that do not reach each other's memory are memory of the host. Only rules that were
// measured so count, and NCCL runs other calls.
func TestFrontApart(t *testing.T) {
	t.Parallel()
	for _, ranks := range []int{2, 4} {
		b, err := bundle.Build(apartRules(ranks))
		if err != nil {
			t.Fatal(err)
		}
		file := write(t, bundle.Encode(b))
		for i, env := range []string{"MSCCLC_STANDIN_APART=1", "MSCCLC_P2P_DISABLE=1", "NCCL_P2P_DISABLE=1",
			"MSCCLC_P2P_DISABLE=0"} {
			for _, threads := range []bool{false, true} {
				t.Run(fmt.Sprint(ranks, env, threads), func(t *testing.T) {
					late := (i+ranks/2)%2 != 0
					s := site{how: "forward", ranks: ranks, bundle: file, threads: threads, late: late, env: []string{env}}
					list := []string{"init 0"}
					if late {
						list = append(list, "warm 0")
					}
					r := s.do(t, append(list, "allreduce 0 1000 7 0 0 0 v", "allreduce 0 100000 7 0 0 0 v",
						"allgather 0 1000 7 0 0 0 v", "sync", "destroy 0")...).well(t)
					apart := !strings.HasSuffix(env, "0")
					if !strings.Contains(r.stats, `"ncclAllReduce","native":true`) ||
						apart == strings.Contains(r.stats, `"ncclAllGather","native":true`) ||
						apart != strings.Contains(r.stats, "the rule was measured with another access among GPUs") {
						t.Errorf("%s\n%s", r.stats, r.output)
					}
				})
			}
		}
	}
}
