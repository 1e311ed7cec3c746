package choose

import (
	"testing"

	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/simulate"
	"mscclc/topology"
)

func selector(t *testing.T, spec, target string) *Selector {
	t.Helper()
	topo, err := topology.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := simulate.CostsOf(topo.Device)
	if err != nil {
		t.Fatal(err)
	}
	to, err := codegen.TargetByName(target)
	if err != nil {
		t.Fatal(err)
	}
	return &Selector{Call: Call{Kind: ir.AllReduce, Ranks: topo.Ranks(), Nodes: topo.Nodes}, Topology: topo, Costs: costs, DType: executor.BF16, Target: to}
}

// TestSelect holds that stretches lie side by side, each with the fastest program of its size, and that a boundary is where two
// programs are as fast.
func TestSelect(t *testing.T) {
	s := selector(t, "h200:gpus=4", "plan")
	sizes := []int64{1 << 10, 64 << 10, 1 << 20, 64 << 20}
	list, err := s.Sizes(sizes)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 3 || list[0].From != sizes[0] || list[len(list)-1].To != 0 {
		t.Fatalf("stretches %+v", list)
	}
	for i, r := range list {
		if (i > 0) != (r.Reason != "") || r.Behind < 1 {
			t.Errorf("stretch %d: reason %q, the second is %.2fx", i, r.Reason, r.Behind)
		}
		if i == 0 {
			continue
		}
		before := list[i-1]
		if before.To != r.From {
			t.Errorf("stretch %d ends at %d, and the next begins at %d", i-1, before.To, r.From)
		}
		below, err1 := s.fastest(before.Form, r.From)
		above, err2 := s.fastest(r.Form, r.From)
		if err1 != nil || err2 != nil || above > below*1.001 {
			t.Errorf("at %d %v takes %.2f us, and %v %.2f: %v %v", r.From, before.Form, below, r.Form, above, err1, err2)
		}
	}
	shape := func(r Stretch) Shape { return s.shapes[r.Program] }
	if first, last := list[0], list[len(list)-1]; shape(first).Rounds != 1 || shape(last).Volume > 1.51 || last.Protocol != ir.Simple.String() {
		t.Errorf("small: %v, large: %v", first.Form, last.Form)
	}
}

// TestSelectTargets holds that other runtimes get two-sided programs that fit them.
func TestSelectTargets(t *testing.T) {
	for _, target := range []string{"msccl", "rccl"} {
		s := selector(t, "h200:gpus=4", target)
		list, err := s.Sizes([]int64{1 << 10, 16 << 20})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			p, err := s.Program(r.Form)
			if err != nil || p.OneSided != nil || codegen.Fits(p, s.Target).Err() != nil {
				t.Errorf("%s: %v: %v", target, r.Form, err)
			}
		}
		if last := list[len(list)-1]; last.Instances < 2 {
			t.Errorf("%s: %v has but one instance for 16 MiB", target, last.Form)
		}
	}
}
