package choose

import (
	"context"
	"errors"
	"testing"

	"mscclc/internal/covering"
	"mscclc/simulate"
	"mscclc/topology/bound"
)

// TestBound holds that no candidate of the catalog is simulated faster than the bound of the machine, by either time:
// of each collective on each machine by one of them, and with MSCCLC_TESTS=ci by both.
func TestBound(t *testing.T) {
	compared := 0
	for m, spec := range []string{"h200:gpus=3", "pcie_4gpu", "h200:nodes=2,gpus=2"} {
		for k, kind := range bound.Kinds {
			for i, by := range []simulate.Figure{simulate.Latency, simulate.Interval} {
				if !covering.CI() && (m+k+i)%2 > 0 {
					continue
				}
				s := selector(t, spec, "program")
				s.Call.Kind, s.By, s.Rough, s.Exhaustive = kind, by, true, true
				if s.Topology.Nodes > 1 {
					s.Call.On = InBlocks(s.Call.Ranks, s.Topology.Nodes)
				}
				b, err := bound.Of(context.Background(), s.Topology, bound.Question{Kind: kind})
				if err != nil {
					t.Fatal(err)
				}
				const bytes = 48 << 20
				list, err := s.rank(bytes, nil)
				if errors.Is(err, ErrNothing) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				least := b.Micros(bytes)
				for _, f := range list {
					compared++
					if f.micros < least*(1-1e-9) {
						t.Errorf("%s: %v: %v takes %.3f us by %v, and the bound is %.3f us", spec, kind, f.Form, f.micros, by, least)
					}
				}
			}
		}
	}
	if compared < covering.Share(600)/2 {
		t.Errorf("only %d candidates were compared", compared)
	}
}
