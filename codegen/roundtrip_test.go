package codegen

import (
	"bytes"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mscclc/codegen/xmljudge"
	"mscclc/ir"
)

func target(t testing.TB, name string) *Target {
	t.Helper()
	target, err := TargetByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// asRead is p with what XML loses as the reader sets it: no positions, and the
// classes of the chunks that steps name.
func asRead(p *ir.Program) *ir.Program {
	q := *p
	q.Steps = append([]ir.Step(nil), p.Steps...)
	(&xmlReader{p: &q}).guessClasses()
	deduce(&q)
	return &q
}

var programsOnly = []cmp.Option{cmpopts.IgnoreFields(ir.Header{}, "Spans"), cmpopts.IgnoreFields(ir.Step{}, "Pos"), cmpopts.EquateEmpty()}

// TestRandomRoundTrips: a program is the same after XML, a plan and JSON; what
// is written is the same each time, and the judge has nothing to say.
func TestRandomRoundTrips(t *testing.T) {
	judges := map[string]*xmljudge.Runtime{"msccl": &xmljudge.MSCCL, "rccl": &xmljudge.RCCL}
	steps := 0
	for name, runtime := range judges {
		to := target(t, name)
		for seed := range int64(150) {
			p := random(rand.New(rand.NewSource(seed)), to)
			steps += len(p.Steps)
			var b, b2 bytes.Buffer
			if err := WriteMSCCL(&b, p, to); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			if err := WriteMSCCL(&b2, p, to); err != nil || !bytes.Equal(b.Bytes(), b2.Bytes()) {
				t.Fatalf("%s, seed %d: written twice, it differs", name, seed)
			}
			if err := xmljudge.Error(b.Bytes(), runtime); err != nil {
				t.Fatalf("%s, seed %d: the judge says %v\n%s", name, seed, err, b.Bytes())
			}
			for _, opt := range []ReadOptions{{}, {Target: to}} {
				got, err := ReadMSCCL("x.xml", bytes.NewReader(b.Bytes()), opt)
				if err != nil {
					t.Fatalf("%s, seed %d: %v\n%s", name, seed, err, b.Bytes())
				}
				if diff := cmp.Diff(asRead(p), got, programsOnly...); diff != "" {
					t.Fatalf("%s, seed %d: %s\n%s", name, seed, diff, b.Bytes())
				}
				throughPlans(t, got)
			}
		}
	}
	if steps < 3000 {
		t.Errorf("the programs had only %d steps", steps)
	}
}

// diff is cmp.Diff without its cost for equal programs.
func diff(want, got *ir.Program) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// throughPlans takes p through a plan and its JSON, where nothing is lost.
func throughPlans(t *testing.T, p *ir.Program) {
	t.Helper()
	b := EncodePlan(p)
	got, err := ReadPlan("x.plan", bytes.NewReader(b), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := diff(p, got); diff != "" {
		t.Fatalf("through a plan: %s", diff)
	}
	if !bytes.Equal(EncodePlan(got), b) {
		t.Fatal("a plan that was read is written with other bytes")
	}
	var j bytes.Buffer
	if err := WritePlanJSON(&j, p); err != nil {
		t.Fatal(err)
	}
	if kind := Detect(j.Bytes()); kind != KindPlanJSON {
		t.Errorf("JSON is detected as %v", kind)
	}
	if got, err = ReadPlanJSON("x.plan.json", &j, ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := diff(p, got); diff != "" {
		t.Fatalf("through JSON: %s", diff)
	}
}

// TestPlanKeepsContracts: what XML cannot say, a plan can.
func TestPlanKeepsContracts(t *testing.T) {
	contracts := []*ir.Collective{
		{Kind: ir.SendRecv, Ranks: 3, Chunks: 2, Peer: []int32{1, 2, 0}},
		{Kind: ir.Custom, Ranks: 2, Chunks: 3, In: 3, Out: 2, Require: map[ir.Part][]ir.Part{
			{Rank: 1, Index: 1}: {{Rank: 0, Index: 0}, {Rank: 1, Index: 2}}, {Rank: 0, Index: 0}: {{Rank: 1, Index: 1}}}},
		{Kind: ir.Custom, Ranks: 2, Chunks: 3, In: 3, Out: 2, PerRank: [][2]int32{{3, 0}, {0, 2}}, Require: map[ir.Part][]ir.Part{}},
		{Kind: ir.Broadcast, Ranks: 4, Chunks: 5, Root: 3, Inplace: true},
	}
	for _, c := range contracts {
		p := &ir.Program{Header: ir.Header{Name: "contract", Coll: c, Protocol: ir.LL16, RanksPerNode: 1, Sizes: ir.SizeRange{Min: 5, Max: 1 << 40}},
			Scratch: make([]int32, c.Ranks), Rank: make([]ir.Range, c.Ranks), InPlace: c.Inplace, OutOfPlace: true}
		throughPlans(t, p)
	}
}

// TestPlanRankAlone: a rank reads its part as it stands in the whole.
func TestPlanRankAlone(t *testing.T) {
	for seed := range int64(30) {
		p := random(rand.New(rand.NewSource(seed)), target(t, "msccl"))
		b := EncodePlan(p)
		for r := range p.Rank {
			got, err := ReadPlanRank("x.plan", bytes.NewReader(b), int64(len(b)), r, ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var whole, part [][]ir.Step
			for _, tb := range p.TBsOf(r) {
				whole = append(whole, p.StepsOf(&tb))
			}
			for _, tb := range got.TBsOf(r) {
				part = append(part, got.StepsOf(&tb))
			}
			if diff := cmp.Diff(whole, part); diff != "" || len(got.Blocks) != len(p.TBsOf(r)) {
				t.Fatalf("seed %d, rank %d: %s", seed, r, diff)
			}
		}
		if _, err := ReadPlanRank("x.plan", bytes.NewReader(b), int64(len(b)), len(p.Rank), ReadOptions{}); err == nil {
			t.Error("a rank beyond the last was read")
		}
	}
}
