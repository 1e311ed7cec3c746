package choose

import (
	"errors"
	"testing"

	"mscclc/ir"
)

// TestStaged: staged programs serve both placements, reach no buffers of other ranks, and of two placements are one
// program.
func TestStaged(t *testing.T) {
	for _, kind := range []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Broadcast, ir.ReduceTo} {
		found := 0
		for _, v := range StagedCandidates(kind) {
			p, err := v.Compile(Call{Kind: kind, Ranks: 2})
			if errors.Is(err, ErrNotStaged) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			found++
			if !p.Staged() || !p.OutOfPlace || p.InPlace != HasInPlace(kind) || p.Coll.Inplace {
				t.Errorf("%v: staged %v, out of place %v, in place %v, called in place %v", v, p.Staged(), p.OutOfPlace,
					p.InPlace, p.Coll.Inplace)
			}
		}
		if found == 0 {
			t.Errorf("no staged program of %v", kind)
		}
	}
}

// TestNotStaged: what cannot be staged is refused: other bits on other ranks, two-sided programs, copies by a port.
func TestNotStaged(t *testing.T) {
	for _, c := range []struct {
		Variant
		ranks int
	}{
		{Variant{Program: "allreduce/allpairs_onestep", Protocol: "Simple", Staged: true}, 4},
		{Variant{Program: "allreduce/ring", Protocol: "Simple", Sided: "two", Staged: true}, 2},
		{Variant{Program: "allreduce/ring", Protocol: "Simple", Via: "port", Staged: true}, 2},
	} {
		if _, err := c.Compile(Call{Kind: ir.AllReduce, Ranks: c.ranks}); !errors.Is(err, ErrNotStaged) {
			t.Errorf("%v: %v", c.Variant, err)
		}
	}
}
