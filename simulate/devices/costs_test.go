package devices_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc/ir/diag"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

func TestCosts(t *testing.T) {
	if len(devices.Names()) < 5 {
		t.Errorf("costs of %v", devices.Names())
	}
	for _, name := range topology.Names() {
		topo, err := topology.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := devices.CostsOf(topo.Device); err != nil || c.Device != topo.Device || c.Source == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	h200, err := os.ReadFile("h200.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, wrong, want string }{
		{`{`, `{{`, `costs:1:2: error: file of costs is no JSON: `},
		{`"source"`, `"speed"`, `3:3: error: file of costs: unknown key "speed"`},
		{`"memory_bytes_us"`, `"memory"`, `1:1: error: file of costs: key "memory_bytes_us" is missing`},
		{`4300000`, `0`, `4:22: error: memory_bytes_us: is 0, and must be more`},
		{`4300000`, `1e999`, `4:22: error: memory_bytes_us: is 1e999, more than`},
		{`4300000`, `"fast"`, `4:22: error: memory_bytes_us: is "fast", not a number`},
		{`"launch_us": `, `"launch_us": -`, `error: one_sided.launch_us: is -2.399, less than 0`},
		{`"threads": 512`, `"threads": 0`, `error: one_sided.threads: is 0, less than 1`},
		{`"LL128"`, `"LL64"`, `error: one_sided.protocols: key "LL128" is missing`},
		{`"step_us": `, `"step_us": -`, `error: one_sided.protocols.LL.step_us: is -0.286, less than 0`},
		{`"few_step_us": `, `"few_step_us": -`, `error: one_sided.protocols.LL.few_step_us: is -0.497, less than 0`},
		{`"wire": 2.118`, `"wire": 0.5`, `error: one_sided.protocols.LL: "wire" is 0.5, and a link`},
	} {
		text := strings.Replace(string(h200), c.old, c.wrong, 1)
		_, err := devices.ReadCosts("costs", strings.NewReader(text))
		list, _ := err.(diag.List)
		says := func(d diag.Diagnostic) bool { return strings.Contains(d.Error(), c.want) }
		if text == string(h200) || !slices.ContainsFunc(list, says) {
			t.Errorf("%s: %v, and not %s", c.wrong, err, c.want)
		}
	}
}
