package tuning

import (
	"slices"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/selection"
)

// lanedTuner returns what measures a collective of 8 H200s.
func lanedTuner(kind ir.Kind, own choose.UserPrograms) *Tuner {
	lab := &Lab{Chooser: &choose.Chooser{Device: "NVIDIA H200"}, Own: own, DType: data.BF16}
	coll := &ir.Collective{Kind: kind, Ranks: 8}
	return &Tuner{Lab: lab, coll: coll, call: choose.Call{Kind: kind, Ranks: 8, Nodes: 1}}
}

// TestLaned holds which variants in several lanes search --staged measures: of each size the first of those that the
// simulation says are near the best, but for the user's own, each once and without a width.
func TestLaned(t *testing.T) {
	const small, large, larger = 64 << 10, choose.LanesFrom, 16 << 20
	tuner := lanedTuner(ir.AllReduce, nil)
	var want []selection.Choice
	one, left, wide, twice := 0, 0, 0, 0
	for _, bytes := range []int64{large, larger} {
		ranked, micros, err := tuner.Chooser.Ranked(tuner.call, bytes, tuner.DType.Size())
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for i, v := range ranked {
			switch plain := v.Plain(); {
			case v.Lanes < 2:
				one++
			case micros[i] > WithinBest*micros[0] || tried == MostLaned:
				left++
			default:
				tried++
				if v != plain {
					wide++
				}
				if slices.Contains(want, plain) {
					twice++
					continue
				}
				want = append(want, plain)
			}
		}
	}
	if min(one, left, wide, twice, len(want)) == 0 {
		t.Fatalf("%d variants have one lane, %d are left out, %d have a width, %d are there twice, %d are wanted: that tests "+
			"too little", one, left, wide, twice, len(want))
	}
	if got := tuner.laned([]int64{small, large, larger}); !slices.Equal(got, want) {
		t.Errorf("the variants in several lanes are\n%v, not\n%v", got, want)
	}

	own := choose.UserPrograms{{Name: want[0].Program}}
	others := lanedTuner(ir.AllReduce, own).laned([]int64{small, large, larger})
	of := func(v selection.Choice) bool { return own.Has(v.Program) }
	if len(others) == 0 || slices.ContainsFunc(others, of) {
		t.Errorf("beside the user's %s, these are measured: %v", want[0].Program, others)
	}
	if got := lanedTuner(ir.AllReduce, nil).laned([]int64{small}); len(got) > 0 {
		t.Errorf("%v are measured for small calls", got)
	}
	if got := lanedTuner(ir.Opaque, nil).laned([]int64{large}); len(got) > 0 {
		t.Errorf("%v are measured where nothing can be simulated", got)
	}
}
