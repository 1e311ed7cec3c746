package choose

import (
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/selection"
)

// TestSelectsPlans: for MSCCL++ plans are chosen, in some numbers of instances, that are proven and fit the sizes.
func TestSelectsPlans(t *testing.T) {
	s := selector(t, "h200:gpus=2", "mscclpp")
	s.Call.Kind = ir.AllGather
	list, err := s.Sizes([]int64{1 << 14, 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		p, err := s.Program(r.Form)
		if err != nil || !p.OneSided.OnePass || r.Replicas > 0 || r.Instances < 1 || r.Sided != selection.OneSided {
			t.Errorf("%+v is no plan, or %v", r.Form, err)
		}
	}
	if err := s.planTakes(list[0].Form, 1<<14+2); err == nil || !strings.Contains(err.Error(), "multiples of 16") {
		t.Errorf("%v", err)
	}
}

// TestPlansOverNodes: between nodes plans have ports.
func TestPlansOverNodes(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		s := selector(t, "h200:gpus=4", "mscclpp")
		s.Call.Kind, s.Call.Nodes = ir.AllGather, nodes
		p, err := s.Program(Form{selection.Choice{Program: "allgather/ring", Protocol: ir.LL}, 2})
		if err != nil {
			t.Fatal(err)
		}
		ports := 0
		for _, x := range p.OneSided.Operands {
			if x.Via == ir.ViaPort {
				ports++
			}
		}
		if (ports > 0) != (nodes > 1) {
			t.Errorf("%d nodes, and %d operands of ports", nodes, ports)
		}
	}
}
