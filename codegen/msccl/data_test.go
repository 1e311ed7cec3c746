package msccl

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
)

// TestReadsOthersPrograms reads every program of testdata, of the repository's own and of other compilers, counts
// its steps, and takes it through XML.
func TestReadsOthersPrograms(t *testing.T) {
	read := func(t *testing.T, file string) int {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(file)
		p, err := Read(name, bytes.NewReader(src), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return 0
		}
		roundTrips(t, name, either.OfFifo(p))
		return len(p.Steps)
	}
	fixtures, _ := filepath.Glob(filepath.Join("testdata", "*.xml"))
	if len(fixtures) < 5 {
		t.Errorf("only %d fixtures", len(fixtures))
	}
	for _, file := range fixtures {
		read(t, file)
	}
	irtest.Each(t, irtest.XML, func(t *testing.T, dir string) {
		table := irtest.Table(t, dir)
		for _, f := range table {
			if steps := read(t, filepath.Join(dir, f.File)); steps != f.Steps {
				t.Errorf("%s: %d steps, want %d", f.File, steps, f.Steps)
			}
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.xml"))
		if len(files) != len(table) {
			t.Errorf("%d files, and %d in the table", len(files), len(table))
		}
	})
}

// roundTrips takes p through XML, where its dialect allows.
func roundTrips(t *testing.T, name string, p *either.Program) {
	t.Helper()
	dialect := "msccl"
	if p.Coll.Kind == ir.Gather || p.Coll.Kind == ir.Scatter || p.Sizes.Max == 0 { // which MSCCL's has no words for
		dialect = "rccl"
	}
	target := codegentest.Target(t, dialect)
	if p.InPlace && p.OutOfPlace || codegen.CheckLimits(p, target) != nil {
		target = codegentest.Lenient(target)
	}
	var b bytes.Buffer
	if err := Write(&b, p, target); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	again, err := Read(name, &b, codegen.ReadOptions{})
	if err != nil {
		t.Errorf("%s, written and read again: %v", name, err)
		return
	}
	if diff := cmp.Diff(p.Fifo, again, cmpopts.IgnoreFields(ir.Header{}, "Spans", "Declaration")); diff != "" {
		t.Errorf("%s, written and read again: %s", name, diff)
	}
}

func TestReadStatesPositions(t *testing.T) {
	src := "<algo name=\"a\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"1\" coll=\"allreduce\" inplace=\"0\">\n" +
		"  <gpu id=\"0\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">\n    <tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n" +
		"      <step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n" +
		"    </tb>\n  </gpu>\n</algo>\n"
	p, err := Read("a.xml", strings.NewReader(src), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := p.Span(p.Steps[0].Pos)
	if at.Line != 4 || at.Column != 7 || at.Filename != "a.xml" ||
		src[at.Offset:at.Offset+at.Len] != strings.TrimSpace(strings.Split(src, "\n")[3]) {
		t.Errorf("the step is at %v for %d bytes from %d", at.Pos, at.Len, at.Offset)
	}
}
