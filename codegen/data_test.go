package codegen

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mscclc/ir"
)

// dataFolder is the folder of programs by other compilers, which lies beside
// the clone, or where MSCCLC_DATA says. It is not part of the repository.
func dataFolder(t *testing.T) string {
	if dir := os.Getenv("MSCCLC_DATA"); dir != "" {
		dir = filepath.Join(dir, "msccl-xml")
		if _, err := os.Stat(dir); err != nil {
			t.Fatalf("MSCCLC_DATA is set, and there is no %s", dir)
		}
		return dir
	}
	dir := filepath.Join("..", "..", "shared", "data", "msccl-xml")
	if _, err := os.Stat(dir); err != nil {
		t.Logf("no folder %s: only the fixtures of the repository are read", dir)
		return ""
	}
	return dir
}

// TestReadsOthersPrograms reads every program of the data folder and of
// testdata/xml, counts its steps, and takes it through XML and through a plan.
func TestReadsOthersPrograms(t *testing.T) {
	steps := map[string]int{}
	dirs := []string{filepath.Join("testdata", "xml")}
	if data := dataFolder(t); data != "" {
		dirs = append(dirs, data)
		table, err := os.ReadFile(filepath.Join(data, "expected.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
			f := strings.Split(line, "\t")
			steps[f[0]], _ = strconv.Atoi(f[1])
		}
	}
	read := 0
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "*.xml"))
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(file)
			p, err := ReadMSCCL(name, bytes.NewReader(src), ReadOptions{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			read++
			if want, ok := steps[name]; ok && want != len(p.Steps) {
				t.Errorf("%s: %d steps, want %d", name, len(p.Steps), want)
			}
			delete(steps, name)
			roundTrips(t, name, p)
		}
	}
	t.Logf("%d programs", read)
	if read < 5 {
		t.Errorf("only %d programs were read", read)
	}
	for name := range steps {
		t.Errorf("%s was not read", name)
	}
}

// roundTrips takes p through XML, where its dialect allows, and a plan.
func roundTrips(t *testing.T, name string, p *ir.Program) {
	t.Helper()
	dialect := "msccl"
	if p.Coll.Kind == ir.Gather || p.Coll.Kind == ir.Scatter {
		dialect = "rccl"
	}
	target := target(t, dialect)
	if p.InPlace && p.OutOfPlace || Fits(p, target) != nil {
		target = lenient(target)
	}
	var b bytes.Buffer
	if err := WriteMSCCL(&b, p, target); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	again, err := ReadMSCCL(name, &b, ReadOptions{})
	if err != nil {
		t.Errorf("%s, written and read again: %v", name, err)
		return
	}
	if diff := cmp.Diff(p, again, cmpopts.IgnoreFields(ir.Header{}, "Spans")); diff != "" {
		t.Errorf("%s, written and read again: %s", name, diff)
	}
	throughPlans(t, p)
}

// lenient is target without limits, as the executor reads it.
func lenient(target *Target) *Target {
	t := *target
	t.Limits = ir.Limits{Target: "test", ReceiveFused: true}
	t.Inclusive = true
	return &t
}

func TestReadStatesPositions(t *testing.T) {
	src := "<algo name=\"a\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"1\" ngpus=\"1\" coll=\"allreduce\" inplace=\"0\">\n" +
		"  <gpu id=\"0\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">\n    <tb id=\"0\" send=\"-1\" recv=\"-1\" chan=\"0\">\n" +
		"      <step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n" +
		"    </tb>\n  </gpu>\n</algo>\n"
	p, err := ReadMSCCL("a.xml", strings.NewReader(src), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at := p.Span(p.Steps[0].Pos)
	if at.Line != 4 || at.Column != 7 || at.Filename != "a.xml" || src[at.Offset:at.Offset+at.Len] != strings.TrimSpace(strings.Split(src, "\n")[3]) {
		t.Errorf("the step is at %v for %d bytes from %d", at.Pos, at.Len, at.Offset)
	}
}
