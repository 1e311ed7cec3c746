package choose

import (
	"bufio"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/selection"
	"mscclc/simulate"
)

// A measurement is one of simulate/testdata: what a variant took on two H200s.
type measurement struct {
	Collective string
	selection.Choice
	Ranks   int
	Inplace bool
	Bytes   int64
	Us      float64
}

func measurements(t *testing.T, path string) (list []measurement) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m measurement
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// TestSimulatedChoice holds what choosing by simulation costs where all of the catalog was measured: how many times as
// long as the best of the same call the chosen program takes, in the width in which it was measured. What was measured
// are intervals, and by these it is held; what is chosen by latency is fast by these too.
func TestSimulatedChoice(t *testing.T) {
	for _, figure := range []simulate.Figure{simulate.Latency, simulate.Interval} {
		t.Run(figure.String(), func(t *testing.T) { simulatedChoice(t, figure) })
	}
}

func simulatedChoice(t *testing.T, figure simulate.Figure) {
	type key struct {
		collective string
		ranks      int
		inplace    bool
		bytes      int64
	}
	type form struct {
		program  string
		protocol ir.Protocol
	}
	calls := map[key]map[form]float64{}
	for _, m := range measurements(t, "../../simulate/testdata/h200.jsonl") {
		k, f := key{m.Collective, m.Ranks, m.Inplace, m.Bytes}, form{m.Program, m.Protocol}
		if m.Sided != selection.OneSided || m.Via != ir.ViaAny {
			continue
		}
		if calls[k] == nil {
			calls[k] = map[form]float64{}
		}
		if was, there := calls[k][f]; !there || m.Us < was {
			calls[k][f] = m.Us
		}
	}
	c := &Chooser{Device: "NVIDIA H200", By: figure}
	var ratios []float64
	for k, times := range calls {
		kind, _ := ir.KindByName(k.collective)
		if len(times) < 4 {
			continue // there is little to choose
		}
		ranked, _, err := c.Ranked(Call{Kind: kind, Ranks: k.ranks, Inplace: k.inplace}, k.bytes, 2)
		if err != nil {
			t.Fatal(err)
		}
		best := math.Inf(1)
		for _, us := range times {
			best = min(best, us)
		}
		for _, v := range ranked {
			if us, there := times[form{v.Program, v.Protocol}]; there {
				ratios = append(ratios, us/best)
				if us > 1.2*best {
					t.Logf("%+v: %v takes %.2f us, the best %.2f", k, v, us, best)
				}
				break
			}
		}
	}
	slices.SortFunc(ratios, cmp.Compare[float64])
	n, sum := len(ratios), 0.0
	if n < 50 {
		t.Fatalf("%d calls", n)
	}
	for _, r := range ratios {
		sum += math.Log(r)
	}
	mean, within := math.Exp(sum/float64(n)), 0
	for within < n && ratios[within] <= 1.05 {
		within++
	}
	t.Logf("%d calls: geometric mean %.3f, median %.3f, 90 %% below %.3f, worst %.3f; %d within 5 %%", n, mean,
		ratios[n/2], ratios[n*9/10], ratios[n-1], within)
	if mean > 1.05 || ratios[n*9/10] > 1.15 {
		t.Errorf("the simulation chooses what takes %.3f times as long as the best on average", mean)
	}
}
