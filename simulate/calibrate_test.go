package simulate_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"mscclc/ir"
	"mscclc/selection"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// calibrated are the collectives that costs are fitted to; the others judge them.
var calibrated = []string{"broadcast", "reduce", "sendrecv"}

// TestCalibrate fits the costs of H200s to what was measured of calibrated, where MSCCLC_CALIBRATE says in how many
// rounds, and writes devices/h200.json.
func TestCalibrate(t *testing.T) {
	rounds, _ := strconv.Atoi(os.Getenv("MSCCLC_CALIBRATE"))
	costs, err := devices.CostsOf("h200")
	if err != nil {
		t.Fatal(err)
	}
	topo, err := topology.Open("h200")
	if err != nil {
		t.Fatal(err)
	}
	all := measured(t, "h200")
	one, two := &costs.OneSided, &costs.TwoSided
	knobs := map[selection.Sided][]*float64{
		selection.OneSided: {&one.Launch, &one.Few, &one.Signal, &one.Await, &one.Joint, &one.Port, &costs.Memory},
		selection.TwoSided: {&two.Launch, &two.Flag, &two.Credit},
	}
	for p := range ir.NumProtocols {
		if p.Row().Like != p {
			continue
		}
		m, n := &one.Protocol[p], &two.Protocol[p]
		knobs[selection.OneSided] = append(knobs[selection.OneSided], &m.Step, &m.FewStep, &m.Block, &m.FewBlock, &m.Wire)
		knobs[selection.TwoSided] = append(knobs[selection.TwoSided], &n.Step, &n.Block, &n.Wire)
	}
	for _, sided := range []selection.Sided{selection.OneSided, selection.TwoSided} {
		set := slices.DeleteFunc(slices.Clone(all), func(p point) bool {
			return p.Sided != sided ||
				!slices.Contains(calibrated, p.Collective)
		})
		if len(set) < 50 {
			t.Fatalf("%d points to fit to", len(set))
		}
		fit(t, rounds, costs, knobs[sided], func() (sum float64) {
			for _, p := range set {
				sum += math.Abs(math.Log(p.simulate(t, topo, costs) / p.Micros))
			}
			return sum / float64(len(set))
		})
	}
	if rounds == 0 {
		return
	}
	for _, k := range slices.Concat(knobs[selection.OneSided], knobs[selection.TwoSided]) {
		*k = round3(*k)
	}
	text, err := costsText(costs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("devices/h200.json", append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fit turns one knob at a time, up and down, and keeps what makes the loss less.
func fit(t *testing.T, rounds int, costs *devices.Costs, knobs []*float64, loss func() float64) {
	best, step := loss(), 1.5
	for round := range rounds {
		before := best
		for _, k := range knobs {
			for _, f := range []float64{step, 1 / step} {
				old := *k
				*k *= f
				physical(costs)
				if l := loss(); l < best {
					best = l
				} else {
					*k = old
					physical(costs)
				}
			}
		}
		t.Logf("round %d: %.4f", round, best)
		if before-best < 0.002 {
			step = math.Sqrt(step)
		}
	}
}

// costsText returns what devices/*.json has of costs.
func costsText(c *devices.Costs) ([]byte, error) {
	type protocols map[string]devices.MoveCosts
	type oneSided struct {
		devices.OneSidedCosts
		Named protocols `json:"protocols"`
	}
	type twoSided struct {
		devices.TwoSidedCosts
		Named protocols `json:"protocols"`
	}
	named := func(costs *devices.ProtocolCosts) protocols {
		list := protocols{}
		for p, m := range costs {
			if ir.Protocol(p).Row().Like != ir.Protocol(p) {
				continue
			}
			list[ir.Protocol(p).String()] = devices.MoveCosts{Step: round3(m.Step), Block: math.Round(m.Block),
				Wire: round3(m.Wire), FewStep: round3(m.FewStep), FewBlock: math.Round(m.FewBlock),
				FewRows: math.Round(m.FewRows)}
		}
		return list
	}
	return json.MarshalIndent(struct {
		*devices.Costs
		OneSided oneSided `json:"one_sided"`
		TwoSided twoSided `json:"two_sided"`
	}{c, oneSided{c.OneSided, named(&c.OneSided.Protocol)}, twoSided{c.TwoSided, named(&c.TwoSided.Protocol)}}, "", "  ")
}

// Costs are read as they are written.
func TestCostsText(t *testing.T) {
	c, err := devices.CostsOf("h200")
	if err != nil {
		t.Fatal(err)
	}
	text, err := costsText(c)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := devices.ReadCosts("again", bytes.NewReader(text)); err != nil || !reflect.DeepEqual(again, c) {
		t.Errorf("%+v, and again %+v, %v", c, again, err)
	}
}

// physical keeps costs to what can be: a packet has its flags, and a block moves so much at most. A protocol that is
// like another has the costs of that.
func physical(costs *devices.Costs) {
	costs.Memory = min(costs.Memory, 4.3e6)
	for _, list := range []*devices.ProtocolCosts{&costs.OneSided.Protocol, &costs.TwoSided.Protocol} {
		for p := range ir.NumProtocols {
			m, least := &list[p], float64(p.Row().Packet)/float64(p.Row().Data)
			m.Wire, m.Block, m.FewBlock = max(m.Wire, least), min(m.Block, 100e3), min(m.FewBlock, 100e3)
		}
		for p := range ir.NumProtocols {
			list[p] = list[p.Row().Like]
		}
	}
}

func round3(x float64) float64 { return math.Round(x*1000) / 1000 }
