package choose

import (
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/selection"
)

// A round AllGather of the user's: by packets it takes three hops, where the catalog has algorithms of one.
const round = `algorithm round(ranks = 4)
collective allgather(ranks)
for i in 0..ranks {
    let c = chunk(i, input, 0).copy(i, output, i)
    for step in 1..ranks { c = c.copy((i + step) % ranks, output, i) }
}
`

// TestOwn holds that the user's programs are chosen among beside the catalog, in each of their forms, by the same
// times, and stand where the simulation of the same algorithm of the catalog stands.
func TestOwn(t *testing.T) {
	s := selector(t, "h200:gpus=4", "program")
	s.Call.Kind = ir.AllGather
	s.Own = UserPrograms{{Name: "round.mscl", File: "round.mscl", Tree: treeOf("round.mscl", round)}}
	list, err := s.Sizes([]int64{1 << 10, 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		own, err := s.Standings(&list[i])
		if err != nil || len(own) != 1 || own[0].Err != nil {
			t.Fatalf("%+v, %v", own, err)
		}
		_, like, err := s.fastest(Form{Choice: selection.Choice{Program: "allgather/ring", Protocol: own[0].Protocol}}, list[i].At)
		if err != nil || own[0].Latency != like.micros || own[0].Ratio < 1 || own[0].Ratio != like.micros/list[i].Micros {
			t.Errorf("at %d: %+v, where the catalog's ring takes %.2f us: %v", list[i].At, own[0], like.micros, err)
		}
	}
	if forms := s.Own.Own(); len(forms) != 2*int(ir.NumProtocols) {
		t.Errorf("forms %v", forms)
	}
}

// TestOwnCompiled holds that a compiled program is the one form that it is, beside one-sided ones too, for calls of its
// placement, ranks and collective.
func TestOwnCompiled(t *testing.T) {
	two := selection.Choice{Program: "allgather/ring", Sided: selection.TwoSided, Protocol: ir.LL128}
	call := Call{Kind: ir.AllGather, Ranks: 4}
	p, err := call.Compile(two)
	if err != nil {
		t.Fatal(err)
	}
	userPrograms := UserPrograms{{Name: "ring.xml", File: "far/ring.xml", Compiled: [2]*either.Program{p, nil}}}
	if forms := userPrograms.Own(); len(forms) != 1 ||
		forms[0] != (selection.Choice{Program: "ring.xml", Sided: selection.TwoSided, Protocol: ir.LL128}) {
		t.Errorf("forms %v", forms)
	}
	s := selector(t, "h200:gpus=4", "program")
	s.Call, s.Own = call, userPrograms
	list, err := s.Sizes([]int64{1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	own, err := s.Standings(&list[0])
	if err != nil || own[0].Err != nil || own[0].Protocol != ir.LL128 || own[0].Ratio < 1 ||
		own[0].Latency <= list[0].Latency {
		t.Errorf("%+v beside %+v: %v", own, list[0], err)
	}
	chooser := &Chooser{Device: "cpu", Own: userPrograms}
	if made, err := chooser.Program(userPrograms.Own()[0], call); err != nil || made != p {
		t.Errorf("%v", err)
	}
	for want, c := range map[string]Call{
		"not made for calls in place":           {Kind: ir.AllGather, Ranks: 4, Inplace: true},
		"is for allgather of 4 ranks, not of 3": {Kind: ir.AllGather, Ranks: 3},
		"of 4 ranks, not for alltoall of 4":     {Kind: ir.AllToAll, Ranks: 4},
		"is for allgather of 4 ranks, not for":  {Kind: ir.AllReduce, Ranks: 4},
	} {
		if err := userPrograms[0].Unfit(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestOwnSizes: a range that a compiled program wins ends where the program's sizes do.
func TestOwnSizes(t *testing.T) {
	call := Call{Kind: ir.AllGather, Ranks: 4}
	p, err := call.Compile(selection.Choice{Program: "allgather/allpairs", Sided: selection.TwoSided, Protocol: ir.LL})
	if err != nil {
		t.Fatal(err)
	}
	p.Sizes = ir.SizeRange{Min: 3 << 10, Max: 5 << 10}
	s := selector(t, "h200:gpus=4", "program")
	s.Call, s.Own = call, UserPrograms{{Name: "own.xml", File: "own.xml", Compiled: [2]*either.Program{p, nil}}}
	own, ring := Form{Choice: s.Own.Own()[0]}, Form{Choice: selection.Choice{Program: "allgather/ring", Protocol: ir.LL}}
	if at := s.boundary(own, ring, 1<<10, 1<<20); at > 5<<10 {
		t.Errorf("what is for calls below 5 KiB is taken below %d", at)
	}
	if at := s.boundary(ring, own, 1<<10, 1<<20); at < 3<<10 {
		t.Errorf("what is for calls from 3 KiB on is taken from %d on", at)
	}
}

// TestOwnTable holds that a table's rule may name a program of the user, and no other.
func TestOwnTable(t *testing.T) {
	text := `{"version":1,"entries":[{"device":"cpu","ranks":4,"collective":"allgather","rules":[{"program":"round.mscl","protocol":"LL"}]}]}`
	userPrograms := UserPrograms{{Name: "round.mscl", File: "round.mscl", Tree: treeOf("round.mscl", round)}}
	table, err := userPrograms.ReadTable("t", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := &Chooser{Table: table, Device: "cpu", Own: userPrograms}
	if v, measured, err := c.Choose(Call{Kind: ir.AllGather, Ranks: 4}, 1<<10, 4); err != nil || !measured ||
		v.Program != "round.mscl" {
		t.Errorf("%v, %v, %v", v, measured, err)
	}
	if _, err := ReadTable("t", strings.NewReader(text)); err == nil ||
		!strings.Contains(err.Error(), "which the catalog does not have") {
		t.Errorf("%v", err)
	}
}
