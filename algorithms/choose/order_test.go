package choose

import (
	"errors"
	"os"
	"slices"
	"testing"

	"mscclc/executor/launch"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/selection"
	"mscclc/simulate"
	"mscclc/topology/bound"
)

// kindSelector returns what chooses programs of a collective for mscclc's executor.
func kindSelector(t *testing.T, spec string, kind ir.Kind) *Selector {
	t.Helper()
	s := selector(t, spec, "program")
	s.Call.Kind = kind
	s.Call.On = InBlocks(s.Call.Ranks, s.Topology.Nodes)
	return s
}

// TestExhaustive holds that the search in the order of least times chooses what the exhaustive one does, or something
// as fast: of each collective on a third of the machines, and with MSCCLC_TESTS=ci on all. With MSCCLC_PAPERS=full it
// compares more machines, which takes a minute.
func TestExhaustive(t *testing.T) {
	const torus = "testdata/torus.topo:rows=2,cols=4"
	specs := []string{"h200:gpus=4", "cpu:gpus=4", "h200:nodes=2,gpus=2", torus}
	usual := len(specs)
	if os.Getenv("MSCCLC_PAPERS") == "full" {
		specs = append(specs, "dgx_h100", "dgx1v", "pcie_4gpu", "dgx_h100:nodes=3")
	}
	for m, spec := range specs {
		for k, kind := range bound.Kinds {
			if !covering.OneIn(m*len(bound.Kinds)+k, 3) && len(specs) == usual {
				continue
			}
			if spec == "dgx_h100:nodes=3" && kind != ir.AllReduce && kind != ir.AllGather {
				continue // these take a minute
			}
			var took [2]float64
			var best [2]Form
			selectors := [2]*Selector{kindSelector(t, spec, kind), kindSelector(t, spec, kind)}
			for _, bytes := range []int64{2 << 10, 5 << 20, 384 << 20} {
				for k, s := range selectors { // each compiles a program once for all sizes
					s.Exhaustive, s.OwnWidth = k == 1, s.Topology.Device == "cpu"
					list, err := s.rank(bytes, nil)
					if errors.Is(err, ErrNothing) {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					took[k], best[k] = list[0].micros, list[0].Form
				}
				if took[0] > took[1]*gain {
					t.Errorf("%s: %v of %d bytes: %v takes %.2f us, and exhaustively %v %.2f", spec, kind, bytes, best[0], took[0],
						best[1], took[1])
				}
			}
		}
	}
}

// TestLeast holds that no form is simulated faster than the least time that is known without compiling it:
// of a third of the collectives on each machine, and with MSCCLC_TESTS=ci of all.
func TestLeast(t *testing.T) {
	compared, near := 0, 0
	for m, c := range []struct{ spec, target string }{{"h200:gpus=3", "program"}, {"cpu:gpus=4", "program"},
		{"h200:nodes=2,gpus=2", "program"}, {"testdata/torus.topo:rows=2,cols=3", "program"}, {"pcie_4gpu", "rccl"},
		{"h200:nodes=2,gpus=2", "msccl"}, {"h200:gpus=4", "mscclpp"}} {
		for k, kind := range bound.Kinds {
			if !covering.OneIn(m*len(bound.Kinds)+k, 3) {
				continue
			}
			s := selector(t, c.spec, c.target)
			s.Call.Kind, s.Exhaustive = kind, true
			if c.target == "program" {
				s.Call.On = InBlocks(s.Call.Ranks, s.Topology.Nodes)
			}
			for _, by := range []simulate.Figure{simulate.Latency, simulate.Interval} {
				s.By = by // programs are compiled once for both
				for _, bytes := range []int64{3 << 10, 48 << 10, 6 << 20} {
					list, _ := s.rank(bytes, nil)
					for _, f := range list {
						least := s.least(f.Form, bytes)
						compared++
						if least > 0.5*f.micros {
							near++
						}
						if least > f.micros*(1+1e-9) {
							t.Errorf("%s for %s: %v of %d bytes by %v: %v takes %.3f us, and at least %.3f", c.spec, c.target, kind,
								bytes, by, f.Form, f.micros, least)
						}
					}
				}
			}
		}
	}
	if compared < covering.Share(5000) || near < compared/3 {
		t.Errorf("of %d forms, %d take up to twice their least time", compared, near)
	}
}

// TestFew holds that forms with other copies of scratch are simulated well only where they are faster for it.
func TestFew(t *testing.T) {
	form := func(lanes, copies int, micros float64) timed {
		v := selection.Choice{Program: "p", Width: launch.Width{Replicas: 8, Tile: 64 << 10}}
		v.InLanes = selection.InLanes{Lanes: lanes, Copies: copies}
		return timed{Form{Choice: v}, micros}
	}
	kept := few([]timed{form(16, 0, 100), form(16, 2, 100), form(16, 4, 99), form(8, 4, 100), form(16, 6, 101)})
	want := []timed{form(16, 4, 99), form(16, 0, 100), form(8, 4, 100)}
	if !slices.Equal(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
}
