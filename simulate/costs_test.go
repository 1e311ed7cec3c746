package simulate_test

import (
	"testing"

	"mscclc/ir"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// Costs that the caller does not give are those of the topology's device.
func TestCostsOfTheDevice(t *testing.T) {
	topo, err := topology.Open("h200")
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf("h200")
	if err != nil {
		t.Fatal(err)
	}
	p, call := compile(t, "allreduce/ring", true, ir.Simple, ranks("4")), simulate.Call{Bytes: 1 << 20}
	given := run(t, p, topo, costs, call)
	found := run(t, p, topo, nil, call)
	if given.Micros != found.Micros || given.Micros == 0 {
		t.Errorf("%v us with the costs of the device, and %v without costs", given.Micros, found.Micros)
	}
	if topo, err = topology.Open("h200"); err != nil {
		t.Fatal(err)
	}
	topo.Device = "abacus"
	if _, err := simulate.Run(p, topo, nil, call); err == nil {
		t.Error("a device that nobody knows has costs")
	}
}
