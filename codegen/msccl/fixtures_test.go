package msccl

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"mscclc/codegen/codegentest"
	"mscclc/codegen/xmljudge"
	"mscclc/ir"
	"mscclc/ir/either"
)

var update = flag.Bool("update", false, "write the fixtures of testdata anew")

var fixtures = []struct {
	file, target string
	program      func() *either.Program
}{
	{"ring4.msccl.xml", "msccl", func() *either.Program { return codegentest.Ring(4) }},
	{"pairs.msccl.xml", "msccl", codegentest.Pairs},
	{"pairs.rccl.xml", "rccl", func() *either.Program {
		p := codegentest.Pairs()
		p.Protocol, p.Sizes, p.InPlace = ir.LL128, ir.SizeRange{Min: 1 << 10, Max: 1 << 20}, true
		return p
	}},
	{"gather.rccl.xml", "rccl", func() *either.Program {
		p := codegentest.Rooted(ir.Gather, false)
		p.Sizes = ir.SizeRange{Min: 3 << 10, Max: 3 << 20}
		return p
	}},
	{"scatter_inplace.msccl.xml", "msccl", func() *either.Program { return codegentest.Rooted(ir.Scatter, true) }},
	{"gather_inplace.msccl.xml", "msccl", func() *either.Program { return codegentest.Rooted(ir.Gather, true) }},
	{"chain.msccl.xml", "msccl", func() *either.Program { return codegentest.Chain(33) }},
}

// TestFixtures compares what is written with the files of testdata, which
// other tests read, and has each judged.
func TestFixtures(t *testing.T) {
	judges := map[string]*xmljudge.Runtime{"msccl": &xmljudge.MSCCL, "rccl": &xmljudge.RCCL}
	for _, f := range fixtures {
		var b bytes.Buffer
		if err := Write(&b, f.program(), codegentest.Target(t, f.target)); err != nil {
			t.Errorf("%s: %v", f.file, err)
			continue
		}
		if err := xmljudge.Error(b.Bytes(), judges[f.target]); err != nil {
			t.Errorf("%s: %v", f.file, err)
		}
		path := filepath.Join("testdata", f.file)
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s differs from what is written now:\n%s", f.file, b.Bytes())
		}
	}
}
