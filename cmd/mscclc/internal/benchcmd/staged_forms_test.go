package benchcmd

import (
	"path"
	"slices"
	"testing"

	"mscclc/algorithms/choose"
	"mscclc/executor/data"
	"mscclc/ir"
)

// lanedTuning returns a tuning of 8 H200s, for sizes.
func lanedTuning(kind ir.Kind, own choose.Shelf, sizes ...int64) *stagedTuning {
	plan := &benchPlan{benchFlags: &benchFlags{}, dtype: data.BF16, sizes: sizes, own: own}
	return &stagedTuning{benchWorld: &benchWorld{benchPlan: plan, chooser: &choose.Chooser{Device: "NVIDIA H200"},
		compiled: compiled{coll: &ir.Collective{Kind: kind, Ranks: 8}}}}
}

// TestDistinct holds that variants are measured once whose programs do the same: without scratch all numbers of copies
// are one, and lanes are as many as a rank has to do.
func TestDistinct(t *testing.T) {
	for program, want := range map[string][]choose.InLanes{
		"allgather/ring":     {{}, {Lanes: 4}, {Lanes: 8}},
		"allgather/allpairs": {{}},
		"reducescatter/ring": {{}, {Lanes: 4}, {Lanes: 4, Copies: 2}, {Lanes: 4, Copies: 5}, {Lanes: 8}},
	} {
		kind, _ := ir.KindByName(path.Dir(program))
		w := lanedTuning(kind, nil).benchWorld
		var list []choose.Variant
		for _, lanes := range []choose.InLanes{{}, {Lanes: 4}, {Lanes: 4, Copies: 2}, {Lanes: 4, Copies: 5}, {Lanes: 8}} {
			list = append(list, choose.Variant{Program: program, Protocol: "Simple", InLanes: lanes})
		}
		var got []choose.InLanes
		for _, v := range w.distinct(choose.Call{Kind: kind, Ranks: 8}, list) {
			got = append(got, v.InLanes)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", program, got, want)
		}
	}
}

// TestLaned holds which variants in several lanes --tune --staged measures: of each size the first of those that the
// simulation says are near the best, but for the user's own, each once and without a width.
func TestLaned(t *testing.T) {
	const small, large, larger = 64 << 10, choose.LanesFrom, 16 << 20
	tuning := lanedTuning(ir.AllReduce, nil, small, large, larger)
	var want []choose.Variant
	one, left, wide, twice := 0, 0, 0, 0
	for _, bytes := range []int64{large, larger} {
		ranked, micros, err := tuning.chooser.Ranked(tuning.call(false), bytes, tuning.dtype.Size())
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for i, v := range ranked {
			switch plain := v.Plain(); {
			case v.Lanes < 2:
				one++
			case micros[i] > withinBest*micros[0] || tried == mostLaned:
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
	if got := tuning.laned(); !slices.Equal(got, want) {
		t.Errorf("the variants in several lanes are\n%v, not\n%v", got, want)
	}

	own := choose.Shelf{{Name: want[0].Program}}
	others := lanedTuning(ir.AllReduce, own, small, large, larger).laned()
	of := func(v choose.Variant) bool { return own.Has(v.Program) }
	if len(others) == 0 || slices.ContainsFunc(others, of) {
		t.Errorf("beside the user's %s, these are measured: %v", want[0].Program, others)
	}
	if got := lanedTuning(ir.AllReduce, nil, small).laned(); len(got) > 0 {
		t.Errorf("%v are measured for small calls", got)
	}
	if got := lanedTuning(ir.Opaque, nil, large).laned(); len(got) > 0 {
		t.Errorf("%v are measured where nothing can be simulated", got)
	}
}
