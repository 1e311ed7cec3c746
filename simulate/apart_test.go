package simulate_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/selection"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// twoApart are two H200s that do not reach each other's memory.
const twoApart = `topology two()
device h200
class pcie 0.5us 50GB/s
node {
    gpu 2
    apart 1
    switch cpu
    link gpu[i] cpu pcie
}
`

// apartTimes were measured on two H200s of one host with MSCCLC_P2P_DISABLE=1 (bench, captured, out of place).
var apartTimes = []struct {
	program  string
	protocol ir.Protocol
	replicas int
	micros   map[int64]float64
}{
	{"allreduce/onephase", ir.Simple, 4, map[int64]float64{1 << 10: 8.97, 16 << 10: 9.26, 64 << 10: 11.84, 256 << 10: 18.75}},
	{"allreduce/allpairs", ir.Simple, 8, map[int64]float64{16 << 10: 15.95, 256 << 10: 20.26, 4 << 20: 152.55,
		64 << 20: 1873.50}},
	{"allreduce/onephase", ir.LL, 8, map[int64]float64{1 << 10: 7.90, 4 << 10: 11.96, 64 << 10: 41.57, 256 << 10: 124.97}},
}

// TestApart holds the median error of times where GPUs do not reach each other's memory.
func TestApart(t *testing.T) {
	topo, err := topology.Read("two.topo", strings.NewReader(twoApart), nil)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf("h200")
	if err != nil {
		t.Fatal(err)
	}
	var errs []float64
	for _, m := range apartTimes {
		p := point{Collective: "allreduce", Ranks: 2, Choice: selection.Choice{Program: m.program, Protocol: m.protocol,
			Placement: selection.Staged, Width: launch.Width{Replicas: m.replicas}}}
		if p.prog, err = (&choose.Chooser{}).Program(p.Choice, choose.Call{Kind: ir.AllReduce, Ranks: 2}); err != nil {
			t.Fatal(err)
		}
		for p.Bytes, p.Micros = range m.micros {
			micros := p.simulate(t, topo, costs)
			errs = append(errs, math.Abs(micros/p.Micros-1))
			t.Logf("%s %v, %d bytes: %.2f us, measured %.2f", m.program, m.protocol, p.Bytes, micros, p.Micros)
		}
	}
	slices.Sort(errs)
	if median := errs[len(errs)/2]; median > 0.25 {
		t.Errorf("the median error is %.0f %%", 100*median)
	}
}
