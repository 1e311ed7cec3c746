package simulate_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/simulate"
	"mscclc/topology"
)

// A point is a measured time.
type point struct {
	entry *choose.Entry
	rule  choose.Rule
	bytes int64
	prog  *ir.Program
}

// measured are the times that tables have of a device.
func measured(t *testing.T, device string) (list []point) {
	t.Helper()
	chooser := &choose.Chooser{}
	table := choose.DefaultTable()
	for i := range table.Entries {
		e := &table.Entries[i]
		kind, _ := ir.KindByName(e.Collective)
		if !strings.Contains(strings.ToLower(e.Device), device) {
			continue
		}
		for _, r := range e.Rules {
			if r.Micros == 0 {
				continue
			}
			prog, err := chooser.Program(r.Variant, choose.Call{Kind: kind, Ranks: e.Ranks, Inplace: e.Inplace})
			if err != nil {
				t.Fatal(err)
			}
			// It was measured at the largest of 1K, 4K, ..., 1G that the rule is for; rules meet half way between two.
			list = append(list, point{e, r, cmp.Or(r.UpTo/2, 1<<30), prog})
		}
	}
	return list
}

func (p *point) simulate(t *testing.T, topo *topology.Topology, costs *simulate.Costs) float64 {
	t.Helper()
	r, err := simulate.Run(p.prog, topo, costs, simulate.Call{Bytes: p.bytes, DType: executor.BF16, Columns: p.rule.Columns, Threads: p.rule.Threads, Tile: p.rule.Tile})
	if err != nil {
		t.Fatal(err)
	}
	return r.Micros
}

// TestMeasured holds the median error of what costs were not fitted to: times from 16 KB up of the variants that a table says are the
// fastest. MSCCLC_POINTS=1 prints all.
func TestMeasured(t *testing.T) {
	costs, err := simulate.CostsOf("h200")
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
		off := micros/p.rule.Micros - 1
		if p.bytes >= 16<<10 {
			errs[p.entry.Collective] = append(errs[p.entry.Collective], math.Abs(off))
		}
		if os.Getenv("MSCCLC_POINTS") != "" {
			fmt.Printf("%-14s %d %-40v %10d  %9.2f us measured %9.2f simulated  %+6.1f%%\n", p.entry.Collective, p.entry.Ranks, p.rule.Variant, p.bytes, p.rule.Micros, micros, 100*off)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(errs)) {
		list := errs[name]
		slices.Sort(list)
		median := list[len(list)/2]
		t.Logf("%s: median error %.1f %%, of %d", name, 100*median, len(list))
		if !slices.Contains(calibrated, name) && (median > 0.15 || len(list) < 10) {
			t.Errorf("%s: the median error of %d is %.1f %%", name, len(list), 100*median)
		}
	}
}
