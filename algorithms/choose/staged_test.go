package choose

import (
	"errors"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/selection"
)

// TestStaged: staged programs serve both placements, reach no buffers of other ranks, and of two placements are one
// program.
func TestStaged(t *testing.T) {
	for _, kind := range []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Broadcast, ir.ReduceTo} {
		found := 0
		for _, v := range StagedCandidates(Call{Kind: kind}) {
			p, err := Call{Kind: kind, Ranks: 2}.Compile(v)
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
		selection.Choice
		ranks int
	}{
		{selection.Choice{Program: "allreduce/allpairs_onestep", Protocol: ir.Simple, Placement: selection.Staged}, 4},
		{selection.Choice{Program: "allreduce/ring", Protocol: ir.Simple, Sided: selection.TwoSided, Placement: selection.Staged}, 2},
		{selection.Choice{Program: "allreduce/ring", Protocol: ir.Simple, Via: ir.ViaPort, Placement: selection.Staged}, 2},
	} {
		if _, err := (Call{Kind: ir.AllReduce, Ranks: c.ranks}).Compile(c.Choice); !errors.Is(err, ErrNotStaged) {
			t.Errorf("%v: %v", c.Choice, err)
		}
	}
}

// TestMixesRefused: a step that reads input after a write to output is no matter where no rank is in place, nor where
// all are if the values are the same, and is refused.
func TestMixesRefused(t *testing.T) {
	v := selection.Choice{Program: "allgather/ring", Protocol: ir.Simple, Placement: selection.Staged}
	p, err := Call{Kind: ir.AllGather, Ranks: 2}.Compile(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := mixes(p); err != nil {
		t.Fatal(err)
	}
	var moves []*ir.Step // of rank 0
	for i := p.Blocks[0].Steps.First; i < p.Blocks[0].Steps.End; i++ {
		if p.Steps[i].Op == ir.Move {
			moves = append(moves, &p.Steps[i])
		}
	}
	first, last := p.OneSided.Sources(moves[0]), p.OneSided.Sources(moves[len(moves)-1])
	kept := first[0]
	first[0], last[0] = last[0], kept // output[0] of scratch, and then input
	if err := mixes(p); err == nil || !strings.Contains(err.Error(), "reads input that is written before") {
		t.Errorf("%v", err)
	}
	first[0], last[0] = kept, first[0]
	p.OneSided.Dests(moves[0])[0].Buf = ir.Input
	if err := mixes(p); err == nil || !strings.Contains(err.Error(), "writes input") {
		t.Errorf("%v", err)
	}
}

// TestStagedCandidates: programs that take nodes and GPUs are candidates for calls on equal blocks of ranks.
func TestStagedCandidates(t *testing.T) {
	for on, want := range map[string]bool{"": false, "0,0,1,1": true, "0,1,0,1": false, "0,0,0,1": false} {
		found := false
		for _, v := range StagedCandidates(Call{Kind: ir.AllReduce, Ranks: 4, Nodes: 2, On: on}) {
			found = found || v.Program == "allreduce/hierarchical"
			if v.Sided != selection.OneSided || v.Placement != selection.Staged {
				t.Errorf("on %q: %v", on, v)
			}
		}
		if found != want {
			t.Errorf("on %q: allreduce/hierarchical is a candidate: %v", on, found)
		}
	}
}
