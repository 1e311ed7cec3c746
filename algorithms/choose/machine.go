package choose

import (
	"fmt"
	"strings"

	"mscclc/simulate/devices"
	"mscclc/topology"
)

// Machine returns what calls of a given number of ranks on a device are simulated on where no table has them: the
// machine of one node that has such devices (topology/machines) and their number, and what these cost
// (simulate/devices). The CPU is one of them. Other devices, and more ranks than a machine has, are unknown: they are
// taken for H200s that all reach each other through one switch, where small calls want few rounds and large ones few
// bytes, as anywhere.
func Machine(device string, ranks int) (*topology.Topology, *devices.Costs, error) {
	return machine(device, 1, ranks)
}

// machine is Machine of a given number of nodes of a given number of ranks each.
func machine(device string, nodes, ranks int) (*topology.Topology, *devices.Costs, error) {
	t, err := machineOf(strings.ToLower(device), nodes, max(ranks, 1))
	if err == nil && t == nil {
		t, err = machineOf(defaultDevice, nodes, max(ranks, 1))
	}
	if err != nil {
		return nil, nil, err
	}
	costs, err := devices.CostsOf(t.Device)
	return t, costs, err
}

// defaultDevice is one whose machine has any number of GPUs.
const defaultDevice = "h200"

// apartMachine is Machine where GPUs do not reach each other's memory: a host that has a PCIe slot for each. Of more
// ranks than such a machine has, it is Machine.
func apartMachine(device string, ranks int) (*topology.Topology, *devices.Costs, error) {
	for _, name := range []string{"pcie_4gpu:apart=1", "pcie_8gpu:apart=1"} {
		t, err := topology.OpenWith(name, device, nil)
		if err != nil {
			return nil, nil, err
		}
		if costs, err := devices.CostsOf(t.Device); err == nil && t.GPUs >= ranks {
			return t, costs, nil
		}
	}
	return Machine(device, ranks)
}

// machineOf returns the first machine of a given number of nodes by name that has a given number of a device in each,
// or nil.
func machineOf(device string, nodes, ranks int) (*topology.Topology, error) {
	known := topology.DeviceOf(device)
	for _, name := range topology.Names() {
		if topology.MachineDevice(name) != known {
			continue
		}
		var t *topology.Topology
		var err error
		for _, of := range []string{fmt.Sprintf("%s:nodes=%d,gpus=%d", name, nodes, ranks),
			fmt.Sprintf("%s:gpus=%d", name, ranks), fmt.Sprintf("%s:nodes=%d", name, nodes), name} {
			if t, err = topology.Open(of); err == nil { // else it has as many as it has
				break
			}
		}
		if err != nil {
			return nil, err
		}
		fits := t.GPUs == ranks || nodes == 1 && t.GPUs > ranks
		if t.Nodes == nodes && fits {
			return t, nil
		}
	}
	return nil, nil
}
