package measurecmd

import (
	"bytes"
	"strings"
	"testing"

	"mscclc/executor/measure"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// TestFiles reads what is written, and finds there what was measured.
func TestFiles(t *testing.T) {
	f := Flags{device: "cpu"}
	b, err := f.base()
	if err != nil {
		t.Fatal(err)
	}
	r := &measure.Result{Engine: "UCX", Nodes: 3, PerNode: 2, Latency: 12.3456, Message: 2.5, One: 1.25, All: 2.125, Copy: 7}
	var topo, costs bytes.Buffer
	if err := b.topology(r)(&topo); err != nil {
		t.Fatal(err)
	}
	top, err := topology.Read("here.topo", &topo, nil)
	if err != nil {
		t.Fatal(err)
	}
	if top.Nodes != 3 || top.GPUs != 2 || top.Name != "here" || !strings.Contains(top.Doc, "Measured by mscclc topo") {
		t.Errorf("%+v", top)
	}
	for _, c := range top.Classes {
		want := map[string][2]float64{"ether": {3.67, 2130}, "memory": {0.3, 7000}}[c.Name]
		if c.Latency != want[0] || c.Bandwidth != want[1] {
			t.Errorf("%+v, and not %v", c, want)
		}
	}
	if err := b.costs(r)(&costs); err != nil {
		t.Fatal(err)
	}
	c, err := devices.ReadCosts("here.json", &costs)
	if err != nil {
		t.Fatal(err)
	}
	usual, err := devices.CostsOf("cpu")
	if err != nil {
		t.Fatal(err)
	}
	if c.Network.Message != usual.Network.Message || c.Network.Signal != usual.Network.Signal || c.Network.Bytes != 1250 ||
		!strings.HasPrefix(c.Source, "the network is measured") || c.OneSided.Launch == 0 {
		t.Errorf("%+v", c)
	}
}

// TestMessage: ranks that share processors with the proxies have messages that take no less than the machine's; ranks
// on GPUs have what was measured.
func TestMessage(t *testing.T) {
	for _, c := range []struct{ network, want string }{
		{`{"message_us": 12, "signal_us": 20}`, `{"bytes_us":1000,"message_us":12,"signal_us":20}`},
		{`{"message_us": 2, "signal_us": 20}`, `{"bytes_us":1000,"message_us":3,"signal_us":20}`},
		{`{"message_us": 12, "nic_us": 1}`, `{"bytes_us":1000,"message_us":3}`},
		{``, `{"bytes_us":1000,"message_us":3}`},
	} {
		got, err := new(base).network([]byte(c.network), &measure.Result{Message: 3, One: 1})
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", c.network, got, err)
		}
	}
}
