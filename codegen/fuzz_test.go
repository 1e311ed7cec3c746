package codegen

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mscclc/ir"
	"mscclc/ir/form"
)

// FuzzReadXML: whatever is read is well formed, and is the same after it is
// written and read again.
func FuzzReadXML(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "xml", "*.xml"))
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte(`<!-- c --><algo name='a' proto="LL" nchannels="1" nchunksperloop="1" ngpus="1" coll="custom" inplace="1"><gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0"/></algo>`))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, to := range []*Target{target(t, "msccl"), target(t, "rccl")} {
			ReadMSCCL("x.xml", bytes.NewReader(src), ReadOptions{Target: to})
		}
		p, err := ReadMSCCL("x.xml", bytes.NewReader(src), ReadOptions{MaxCells: 1 << 20, MaxMoved: 1 << 20})
		if err != nil {
			return
		}
		if found := form.Check(p, form.Bounds{Cells: 1 << 20, Moved: 1 << 20}); len(found) > 0 {
			t.Fatalf("was read, and is no program: %v", found)
		}
		again, err := DecodePlan("x.plan", EncodePlan(p), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, again, programsOnly...); diff != "" {
			t.Fatal(diff)
		}
		to := lenient(target(t, "msccl"))
		if p.Coll.Kind == ir.Gather || p.Coll.Kind == ir.Scatter {
			to = lenient(target(t, "rccl"))
		}
		var b bytes.Buffer
		if p.Coll.Kind == ir.Opaque || WriteMSCCL(&b, p, to) != nil { // opaque buffers grow to nchunksperloop
			return
		}
		if again, err = ReadMSCCL("x.xml", &b, ReadOptions{}); err != nil {
			t.Fatal(err)
		}
		p.Name = safeName(p.Name)
		if diff := cmp.Diff(p, again, programsOnly...); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzReadPlan mends the sums of what it is given, so that the numbers behind
// them are reached.
func FuzzReadPlan(f *testing.F) {
	for _, p := range []*ir.Program{pairs(), ring(3), rootedRanks(ir.Gather, true), chain(3), swap()} {
		f.Add(EncodePlan(p))
	}
	c := pairs()
	c.Coll = &ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: 1, In: 1, Out: 1, Require: map[ir.Part][]ir.Part{{Rank: 0, Index: 0}: {{Rank: 1, Index: 0}}}}
	f.Add(EncodePlan(c))
	f.Fuzz(func(t *testing.T, b []byte) {
		b = bytes.Clone(b)
		reseal(b)
		p, err := DecodePlan("x.plan", b, ReadOptions{MaxCells: 1 << 20, MaxMoved: 1 << 20})
		if err != nil {
			return
		}
		again, err := DecodePlan("x.plan", EncodePlan(p), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatal(diff)
		}
		var j bytes.Buffer
		if err := WritePlanJSON(&j, p); err != nil {
			t.Fatal(err)
		}
		for r := range p.Rank {
			if _, err := ReadPlanRank("x.plan", bytes.NewReader(b), int64(len(b)), r, ReadOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
