package choose

import (
	"errors"
	"strings"
	"testing"

	"mscclc/executor/launch"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/simulate"
)

func call(kind ir.Kind, ranks int) Call { return Call{Kind: kind, Ranks: ranks, Inplace: true} }

// Where nothing was measured, small calls go by one round of packets, and large ones by what sends least, without
// packets.
func TestSimulated(t *testing.T) {
	c := &Chooser{Device: "Some GPU"}
	for _, ranks := range []int{2, 4, 8} {
		small, measured, err := c.Choose(call(ir.AllReduce, ranks), 1<<10, 2)
		if err != nil || measured {
			t.Fatal(measured, err)
		}
		large, _, err := c.Choose(call(ir.AllReduce, ranks), 1<<30, 2)
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := c.Shape(small.Program, call(ir.AllReduce, ranks)); small.Protocol != ir.LL || s.Rounds != 1 {
			t.Errorf("%d ranks, small: %v", ranks, small)
		}
		if s, _ := c.Shape(large.Program, call(ir.AllReduce, ranks)); large.Protocol != ir.Simple || s.Volume > 2 ||
			large.Replicas < small.Replicas {
			t.Errorf("%d ranks, large: %v, %+v", ranks, large, s)
		}
	}
	if _, _, err := c.Choose(call(ir.Custom, 4), 1, 2); err == nil || !strings.Contains(err.Error(), "no custom") {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.Choose(call(ir.AllToAll, 4), 1, 2); !errors.Is(err, ErrNotInPlace) {
		t.Errorf("an alltoall in place: %v", err)
	}
	for _, own := range []*Chooser{{Device: "cpu"}, {Device: "Some GPU", Shared: true}} {
		if v, _, err := own.Choose(call(ir.AllGather, 4), 1<<20, 4); err != nil || v.Width != (launch.Width{}) {
			t.Errorf("%v, %v: the width is the executor's", v, err)
		}
	}
}

// What was measured to be the fastest is not far from it in the simulation, but for one in twenty. It tries one
// in three of the rules, and with MSCCLC_TESTS=ci all.
func TestSimulatedMeasured(t *testing.T) {
	c, n, rules, far := &Chooser{Device: "NVIDIA H200", By: simulate.Interval}, 0, 0, 0
	for _, e := range DefaultTable().Entries {
		kind, _ := ir.KindByName(e.Collective)
		call := Call{Kind: kind, Ranks: e.Ranks, Inplace: e.Inplace}
		for _, r := range e.Rules {
			bytes := r.UpTo / 2
			if bytes == 0 {
				bytes = 1 << 30
			}
			if r.Via != ir.ViaAny { // nothing but a table chooses it
				continue
			}
			if n++; !covering.OneIn(n, 3) {
				continue
			}
			ranked, micros, err := c.Ranked(call, bytes, 2)
			if err != nil {
				t.Fatal(err)
			}
			rules++
			for i, v := range ranked {
				if v.Plain() == r.Plain() && micros[i] > 1.35*micros[0] {
					far++
					t.Logf("%v of %d, in place %v, %d bytes: %v was the fastest, and is simulated at %.2f us, %v at %.2f", kind,
						e.Ranks, e.Inplace, bytes, r.Choice, micros[i], ranked[0], micros[0])
				}
			}
		}
	}
	if rules < covering.Share(100) || 20*far > rules {
		t.Errorf("%d of %d", far, rules)
	}
}

// Machines are those of the devices; what nobody knows is taken for H200s.
func TestMachine(t *testing.T) {
	for _, c := range []struct {
		device string
		ranks  int
		want   string
	}{
		{"NVIDIA H200", 4, "h200"}, {"NVIDIA H100 80GB HBM3", 8, "dgx_h100"}, {"NVIDIA A100-SXM4-80GB", 8, "ndv4"}, {"Tesla V100-SXM3-32GB", 16, "dgx2"},
		{"AMD Instinct MI300X", 8, "mi300x"}, {"cpu", 17, "cpu"}, {"stand-in 0", 3, "h200"}, {"NVIDIA A100-SXM4-80GB", 9, "h200"},
	} {
		topo, costs, err := Machine(c.device, c.ranks)
		if err != nil || topo.Name != c.want || topo.Ranks() < c.ranks || costs.Device != topo.Device {
			t.Errorf("%s: %+v, %v", c.device, topo, err)
		}
	}
}
