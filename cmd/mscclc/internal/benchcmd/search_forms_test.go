package benchcmd

import (
	"path"
	"slices"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/selection"
)

// worldOf returns what is measured of a collective of 8 H200s.
func worldOf(kind ir.Kind) *benchWorld {
	plan := &benchPlan{benchFlags: &benchFlags{}, dtype: data.BF16}
	return &benchWorld{benchPlan: plan, chooser: &choose.Chooser{Device: "NVIDIA H200"},
		compiled: compiled{coll: &ir.Collective{Kind: kind, Ranks: 8}}}
}

// TestDistinct holds that variants are measured once whose programs do the same: without scratch all numbers of copies
// are one, and lanes are as many as a rank has to do.
func TestDistinct(t *testing.T) {
	for program, want := range map[string][]selection.InLanes{
		"allgather/ring":     {{}, {Lanes: 4}, {Lanes: 8}},
		"allgather/allpairs": {{}},
		"reducescatter/ring": {{}, {Lanes: 4}, {Lanes: 4, Copies: 2}, {Lanes: 4, Copies: 5}, {Lanes: 8}},
	} {
		kind, _ := ir.KindByName(path.Dir(program))
		w := worldOf(kind)
		var list []selection.Choice
		for _, lanes := range []selection.InLanes{{}, {Lanes: 4}, {Lanes: 4, Copies: 2}, {Lanes: 4, Copies: 5}, {Lanes: 8}} {
			list = append(list, selection.Choice{Program: program, Protocol: ir.Simple, InLanes: lanes})
		}
		var got []selection.InLanes
		for _, v := range w.distinct(choose.Call{Kind: kind, Ranks: 8}, list) {
			got = append(got, v.InLanes)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", program, got, want)
		}
	}
}
