package msccl

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/codegen/program"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/form"
)

// FuzzRead: whatever is read is well formed, and is the same after it is
// written and read again.
func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join("testdata", "*.xml"))
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Add([]byte(`<!-- c --><algo name='a' proto="LL" nchannels="1" nchunksperloop="1" ngpus="1" coll="custom" inplace="1"><gpu id="0" i_chunks="1" o_chunks="0" s_chunks="0"/></algo>`))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, to := range []*codegen.Target{codegentest.Target(t, "msccl"), codegentest.Target(t, "rccl")} {
			Read("x.xml", bytes.NewReader(src), codegen.ReadOptions{Target: to})
		}
		p, err := Read("x.xml", bytes.NewReader(src), codegen.ReadOptions{MaxCells: 1 << 20, MaxMoved: 1 << 20})
		if err != nil {
			return
		}
		most := form.Bounds{Cells: 1 << 20, Memory: 1 << 20, Moved: 1 << 20}
		if found := form.Check(either.OfFifo(p), most); len(found) > 0 {
			t.Fatalf("was read, and is no program: %v", found)
		}
		again, err := program.Decode("x.mprog", program.Encode(either.OfFifo(p)), codegen.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, again.Fifo, codegentest.ProgramsOnly...); diff != "" {
			t.Fatal(diff)
		}
		to := codegentest.Lenient(codegentest.Target(t, "msccl"))
		if p.Coll.Kind == ir.Gather || p.Coll.Kind == ir.Scatter {
			to = codegentest.Lenient(codegentest.Target(t, "rccl"))
		}
		var b bytes.Buffer
		if p.Coll.Kind == ir.Opaque || Write(&b, either.OfFifo(p), to) != nil { // opaque buffers grow to nchunksperloop
			return
		}
		read, err := Read("x.xml", &b, codegen.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.Name = safeName(p.Name)
		if diff := cmp.Diff(p, read, codegentest.ProgramsOnly...); diff != "" {
			t.Fatal(diff)
		}
	})
}
