package choose

import (
	"testing"

	"mscclc/ir"
	"mscclc/selection"
	"mscclc/simulate/devices"
)

// acrossTwo is a call of two ranks on two nodes.
var acrossTwo = Call{Kind: ir.AllReduce, Ranks: 2, Nodes: 2, On: InBlocks(2, 2)}

func ruleOf(program string) selection.Rule {
	return selection.Rule{Choice: selection.Choice{Program: program, Protocol: ir.Simple}}
}

// TestTunedHere: a size that was tuned serves calls near it, before the tables that are built in and after the user's.
func TestTunedHere(t *testing.T) {
	call, entry := Call{Kind: ir.AllGather, Ranks: 4}, Call{Kind: ir.AllGather, Ranks: 4}.Entry("cpu")
	h := &Here{}
	for _, m := range []struct {
		program string
		bytes   int64
	}{{"allgather/ring", 64 << 10}, {"allgather/ring", 1 << 10}, {"allgather/bruck", 64 << 10}, {"allgather/ring", 16 << 20}} {
		h.Measure(entry, ruleOf(m.program), m.bytes)
	}
	if n := len(h.Tuned.Entries[0].Rules); len(h.Tuned.Entries) != 1 || n != 3 {
		t.Fatalf("%d entries, the first of %d rules", len(h.Tuned.Entries), n)
	}
	builtIn := &selection.Table{Version: selection.Version, Entries: []selection.Entry{entry}}
	builtIn.Entries[0].Rules = []selection.Rule{ruleOf("allgather/recursive_doubling")}
	given := &selection.Table{Version: selection.Version, Entries: []selection.Entry{entry}}
	first := ruleOf("allgather/allpairs")
	first.UpTo = 1 << 10
	given.Entries[0].Rules = []selection.Rule{first}
	c := &Chooser{Device: "cpu", Given: given, Here: h, Table: builtIn}
	for _, w := range []struct {
		bytes   int64
		program string
		source  Source
	}{{1 << 10, "allgather/allpairs", Given}, {4 << 10, "allgather/ring", Tuned}, {16 << 10, "allgather/bruck", Tuned},
		{256 << 10, "allgather/bruck", Tuned}, {1 << 20, "allgather/recursive_doubling", BuiltIn},
		{4 << 20, "allgather/ring", Tuned}, {1 << 30, "allgather/recursive_doubling", BuiltIn}} {
		v, measured, err := c.Choose(call, w.bytes, 2)
		if err != nil || !measured || v.Program != w.program || c.Source(call, w.bytes, 2) != w.source {
			t.Errorf("%d bytes: %v by %v, %v, %v; want %s by %v", w.bytes, v, c.Source(call, w.bytes, 2), measured, err,
				w.program, w.source)
		}
	}
	other := call
	other.Inplace = true
	if s := (&Chooser{Device: "cpu", Here: h}).Source(other, 64<<10, 2); s != Simulated {
		t.Errorf("calls in place are chosen by %v", s)
	}
}

// TestNetworkHere: simulation takes the network that was measured on the hosts of a call.
func TestNetworkHere(t *testing.T) {
	costs, err := devices.CostsOf("cpu")
	if err != nil {
		t.Fatal(err)
	}
	slow := *costs
	slow.Network.Message = 5000
	here := &Here{Costs: &slow, Topology: `topology here(nodes = 3, gpus = 2)
device cpu
class memory 0.3us 1GB/s
class ether 10us 1GB/s network
node {
    gpu gpus
    nic 1
    switch memory
    link gpu[i] memory memory
    link nic[0] memory memory
}
switch fabric
link nic[i] fabric ether
`}
	usual, c := &Chooser{Device: "cpu"}, &Chooser{Device: "cpu", Here: here}
	_, fast, err1 := usual.Ranked(acrossTwo, 64<<10, 4)
	_, list, err2 := c.Ranked(acrossTwo, 64<<10, 4)
	if err1 != nil || err2 != nil || fast[0] > 4000 || list[0] < 5000 {
		t.Errorf("%v us by the usual network, and %v us by a slow one: %v, %v", fast[0], list[0], err1, err2)
	}
	if s := c.Source(acrossTwo, 1, 4); s != SimulatedHere || s.Measured() {
		t.Errorf("chosen by %v", s)
	}
	if s := c.Source(Call{Kind: ir.AllReduce, Ranks: 2}, 1, 4); s != Simulated {
		t.Errorf("calls within a node are chosen by %v", s)
	}
	top, err := c.Topology(acrossTwo)
	if err != nil || top.Nodes != 2 || top.GPUs != 1 {
		t.Errorf("%+v, %v", top, err)
	}
}
