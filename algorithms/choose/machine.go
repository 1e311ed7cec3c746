package choose

import (
	"fmt"
	"strings"

	"mscclc/simulate"
	"mscclc/topology"
)

// Machine is what calls of so many ranks on a device are simulated on where no table has them: the machine of one node
// that has such devices (topology/machines) and so many of them, and what these cost (simulate/devices). The CPU is one
// of them. Of other devices, and of more ranks than a machine has, nobody has told: they are taken for H200s that all
// reach each other through one switch, where small calls want few rounds and large ones few bytes, as anywhere.
func Machine(device string, ranks int) (*topology.Topology, *simulate.Costs, error) {
	t, err := machineOf(strings.ToLower(device), max(ranks, 1))
	if err == nil && t == nil {
		t, err = machineOf(defaultDevice, max(ranks, 1))
	}
	if err != nil {
		return nil, nil, err
	}
	costs, err := simulate.CostsOf(t.Device)
	return t, costs, err
}

// defaultDevice is one whose machine has any number of GPUs.
const defaultDevice = "h200"

// machineOf is the first machine of one node by name that has so many of a device, or nil.
func machineOf(device string, ranks int) (*topology.Topology, error) {
	for _, name := range topology.Names() {
		t, err := topology.Open(fmt.Sprintf("%s:gpus=%d", name, ranks))
		if err != nil { // it has as many as it has
			t, err = topology.Open(name)
		}
		if err != nil {
			return nil, err
		}
		if t.Nodes == 1 && t.GPUs >= ranks && t.Device != "" && strings.Contains(device, t.Device) {
			return t, nil
		}
	}
	return nil, nil
}
