package program

import (
	"bytes"
	"math/rand"
	"os"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/codegen/msccl"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
	"mscclc/ir/irtest"
)

// throughPlans takes p through a plan and its JSON, where nothing is lost.
func throughPlans(t *testing.T, p *either.Program) {
	t.Helper()
	b := Encode(p)
	got, err := Read("x.mprog", bytes.NewReader(b), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := codegentest.Diff(p, got); diff != "" {
		t.Fatalf("through a plan: %s", diff)
	}
	if !bytes.Equal(Encode(got), b) {
		t.Fatal("a plan that was read is written with other bytes")
	}
	var j bytes.Buffer
	if err := WriteJSON(&j, p); err != nil {
		t.Fatal(err)
	}
	if kind := codegen.Detect(j.Bytes()); kind != codegen.KindProgramJSON {
		t.Errorf("JSON is detected as %v", kind)
	}
	if got, err = ReadJSON("x.mprog.json", &j, codegen.ReadOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := codegentest.Diff(p, got); diff != "" {
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
		p := either.OfFifo(&fifo.Program{Program: ir.Program{
			Header: ir.Header{Name: "contract", Coll: c, Protocol: ir.LL16, RanksPerNode: 1,
				Sizes: ir.SizeRange{Min: 5, Max: 1 << 40}}, Scratch: make([]int32, c.Ranks), Rank: make([]ir.Range, c.Ranks),
			InPlace: c.Inplace, OutOfPlace: true}})
		throughPlans(t, p)
	}
}

// TestReadXMLRoundTrips: programs that were read from XML, random ones and those of others, are the same after a
// program file.
func TestReadXMLRoundTrips(t *testing.T) {
	steps := 0
	for _, name := range []string{"msccl", "rccl"} {
		to := codegentest.Target(t, name)
		for seed := range int64(150) {
			var b bytes.Buffer
			if err := msccl.Write(&b, codegentest.Random(rand.New(rand.NewSource(seed)), to), to); err != nil {
				t.Fatal(err)
			}
			p, err := msccl.Read("x.xml", &b, codegen.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			steps += len(p.Steps)
			throughPlans(t, either.OfFifo(p))
		}
	}
	if steps < 3000 {
		t.Errorf("the programs had only %d steps", steps)
	}
	for _, file := range irtest.Files(t, irtest.XML) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := msccl.Read(file, bytes.NewReader(text), codegen.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		throughPlans(t, either.OfFifo(p))
	}
}
