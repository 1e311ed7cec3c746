package simulate_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/fifo"
	"mscclc/selection"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// A point is a measured time: a line of testdata/DEVICE.jsonl (compare -o; of the widths of a variant, the
// fastest), one of a two-sided program of testdata/DEVICE_two.jsonl (bench FILE --sided two), or a rule of the built-in
// table. Programs of a switch are not among them: without multicast, as it was measured, they go from rank to rank.
// DEVICE_narrow.jsonl has widths of calibrated collectives that are too narrow, which show what a block moves.
type point struct {
	Collective string `json:"collective"`
	selection.Choice
	Instances int     `json:"instances"`
	Ranks     int     `json:"ranks"`
	Inplace   bool    `json:"inplace"`
	Bytes     int64   `json:"bytes"`
	Micros    float64 `json:"us"`

	prog *either.Program
}

// measured returns the times that are known of a device. The variants of a table are the fastest of their sizes;
// testdata has all.
func measured(t *testing.T, device string) (list []point) {
	t.Helper()
	for _, name := range []string{device, device + "_narrow", device + "_two"} {
		text, err := os.ReadFile("testdata/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var p point
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
		}
	}
	table := choose.DefaultTable()
	for _, e := range table.Entries {
		if !strings.Contains(strings.ToLower(e.Device), device) {
			continue
		}
		for _, r := range e.Rules {
			if r.Micros > 0 { // at the largest of 1K, 4K, ..., 1G that the rule is for; rules meet half way between two
				list = append(list, point{e.Collective, r.Choice, 1, e.Ranks, e.Inplace, cmp.Or(r.UpTo/2, 1<<30), r.Micros, nil})
			}
		}
	}
	made := map[string]*either.Program{}
	for i := range list {
		p := &list[i]
		key := fmt.Sprint(p.Program, p.Sided, p.Protocol, p.Via, p.Instances, p.Ranks, p.Inplace)
		if made[key] == nil {
			made[key] = p.compile(t)
		}
		p.prog = made[key]
	}
	return list
}

func (p *point) compile(t *testing.T) *either.Program {
	t.Helper()
	kind, _ := ir.KindByName(p.Collective)
	if p.Sided == selection.OneSided {
		prog, err := (&choose.Chooser{}).Program(p.Choice, choose.Call{Kind: kind, Ranks: p.Ranks, Inplace: p.Inplace})
		if err != nil {
			t.Fatal(err)
		}
		return prog
	}
	text, err := algorithms.Open(p.Program)
	if err != nil {
		t.Fatal(p.Program, p.Protocol, err)
	}
	prog, err := mscclc.Compile(p.Program, text, mscclc.Options{Passes: fifo.Options{Instances: p.Instances},
		Lang: lang.Options{Params: lang.Params{"ranks": p.Ranks}, Inplace: &p.Inplace, Protocol: &p.Protocol,
			Open: algorithms.Open}})
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

func (p *point) simulate(t *testing.T, topo *topology.Topology, costs *devices.Costs) float64 {
	t.Helper()
	r, err := simulate.Run(p.prog, topo, costs, simulate.Call{Bytes: p.Bytes, DType: data.BF16,
		Width: launch.Width{Replicas: p.Replicas, Threads: p.Threads, Tile: p.Tile}, Figure: simulate.Interval})
	if err != nil {
		t.Fatal(err)
	}
	return r.Micros
}

// TestMeasured holds the median error of what costs were not fitted to: times from 16 KB up of the variants that a
// table says are the fastest. MSCCLC_POINTS=1 prints all.
func TestMeasured(t *testing.T) {
	costs, err := devices.CostsOf("h200")
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.Open("h200")
	if err != nil {
		t.Fatal(err)
	}
	errs := map[string][]float64{}
	for _, p := range measured(t, "h200") {
		micros := p.simulate(t, topo, costs)
		off := micros/p.Micros - 1
		if p.Bytes >= 16<<10 {
			name := p.Collective + map[selection.Sided]string{selection.TwoSided: ", two-sided"}[p.Sided]
			errs[name] = append(errs[name], math.Abs(off))
		}
		if os.Getenv("MSCCLC_POINTS") != "" {
			fmt.Printf("%-14s %d %-40v %10d  %9.2f us measured %9.2f simulated  %+6.1f%%\n", p.Collective, p.Ranks, p.Choice,
				p.Bytes, p.Micros, micros, 100*off)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		list := errs[name]
		slices.Sort(list)
		median := list[len(list)/2]
		t.Logf("%s: median error %.1f %%, of %d", name, 100*median, len(list))
		if !slices.Contains(calibrated, strings.TrimSuffix(name, ", two-sided")) && (median > 0.15 || len(list) < 10) {
			t.Errorf("%s: the median error of %d is %.1f %%", name, len(list), 100*median)
		}
	}
}
