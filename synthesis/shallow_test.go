package synthesis

import (
	"errors"
	"math/rand/v2"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// height returns the most hops of a result's trees.
func height(r *Result) (most int) {
	for _, list := range [][]Tree{r.Plan.Spread, r.Plan.Gather} {
		for _, t := range list {
			most = max(most, t.Height())
		}
	}
	return most
}

// TestShallow holds that trees have as few hops as asked for, that no tree has fewer than the least, and that their
// certificates and programs are right.
func TestShallow(t *testing.T) {
	for seed := range irtest.Count(t, 20) {
		r := rand.New(rand.NewPCG(uint64(seed), 11))
		m := anyMachine(r)
		kind := []ir.Kind{ir.AllGather, ir.ReduceScatter, ir.AllReduce, ir.Broadcast, ir.ReduceTo}[seed%5]
		least := 0
		for _, hops := range []int{LeastHops, 1, 2, 3, 4} {
			found, err := Find(t.Context(), m, Request{Kind: kind, Hops: hops, Chunks: 1 + r.IntN(2)})
			if errors.Is(err, ErrFewHops) && hops > 0 && hops < least {
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v in %d hops: %v", seed, kind, hops, err)
			}
			if hops == LeastHops {
				least = height(found)
			}
			if h := height(found); h > max(hops, least) || h < least && hops > 0 {
				t.Errorf("seed %d: %v: %d hops, where %d were asked for and %d are the least", seed, kind, h, hops, least)
			}
			if _, err := certificate.Check(&found.Certificate, m, certificate.Part{}); err != nil {
				t.Errorf("seed %d: %v in %d hops: %v", seed, kind, hops, err)
			}
			if hops == LeastHops {
				compiledPlan(t, "shallow", found)
			}
		}
	}
}

// TestShallowFigures compares with what is known: SCCL's AllGathers of a DGX-1 need 2 steps.
func TestShallowFigures(t *testing.T) {
	dgx, err := topology.Open("dgx1v")
	if err != nil {
		t.Fatal(err)
	}
	found, err := Find(t.Context(), dgx, Request{Kind: ir.AllGather, Hops: LeastHops, Chunks: 1, Direct: true})
	if err != nil {
		t.Fatal(err)
	}
	if h := height(found); h != 2 {
		t.Errorf("%d hops", h)
	}
}
