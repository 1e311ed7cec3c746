package msccl

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/codegen/program"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// source returns a good file of two ranks; tests spoil it.
func source(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, codegentest.Pairs(), codegentest.Target(t, "msccl")); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReadBoundsWork: a short file cannot ask for hours of evaluation.
func TestReadBoundsWork(t *testing.T) {
	p := codegentest.Empty("big", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 30 << 20})
	for range 10 {
		codegentest.AddBlock(p, 0, -1, -1, 0, ir.Step{Op: ir.Copy, DstBuf: ir.Output, Count: 30 << 20, DepBlock: -1,
			DepStep: -1, Pos: -1})
	}
	var b, plan bytes.Buffer
	if err := errors.Join(Write(&b, p, codegentest.Lenient(codegentest.Target(t, "msccl"))),
		program.Write(&plan, p)); err != nil {
		t.Fatal(err)
	}
	for _, read := range []func() error{
		func() error { _, err := Read("x.xml", bytes.NewReader(b.Bytes()), codegen.ReadOptions{}); return err },
		func() error { _, err := program.Decode("x.mprog", plan.Bytes(), codegen.ReadOptions{}); return err },
	} {
		if err := read(); err == nil || !strings.Contains(err.Error(), "[limit]") {
			t.Errorf("a file of 10 steps: %v", err)
		}
	}
	if _, err := Read("x.xml", &b, codegen.ReadOptions{MaxCells: 1 << 26}); err == nil ||
		!strings.Contains(err.Error(), "the steps move 314572800 chunks") {
		t.Error(err)
	}
	if _, err := program.Decode("x.mprog", plan.Bytes(), codegen.ReadOptions{MaxCells: 1 << 26}); err == nil ||
		!strings.Contains(err.Error(), "the steps move 314572800 chunks") {
		t.Error(err)
	}
}

// TestReadReportsSeveral: independent errors are all there, in the file's order, those that both ranks have once.
func TestReadReportsSeveral(t *testing.T) {
	src := strings.ReplaceAll(source(t), `cnt="1"`, `cnt="9"`)
	_, err := Read("x.xml", strings.NewReader(src), codegen.ReadOptions{})
	var list diag.List
	// 4 real steps, copies and reductions with two operands
	if !errors.As(err, &list) || len(list) != 6 || len(list[0].Notes) == 0 {
		t.Errorf("got %d errors: %v", len(list), err)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Span.Offset < list[i-1].Span.Offset {
			t.Error("errors are out of order")
		}
	}
	many := codegentest.Ring(16)
	var b bytes.Buffer
	if err := Write(&b, many, codegentest.Target(t, "msccl")); err != nil {
		t.Fatal(err)
	}
	_, err = Read("x.xml", strings.NewReader(strings.ReplaceAll(b.String(), `cnt="1"`, `cnt="9" x="y"`)),
		codegen.ReadOptions{})
	if !errors.As(err, &list) || len(list) != diag.Shown {
		t.Errorf("got %d errors", len(list))
	}
}

// TestReadTakesXMLAtLarge: without a target, XML that the runtimes' readers do
// not take is fine, in any order; with one it is an error.
func TestReadTakesXMLAtLarge(t *testing.T) {
	src := source(t)
	want, err := Read("x.xml", strings.NewReader(src), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first := strings.Index(src, "  <gpu")
	second := strings.LastIndex(src, "  <gpu")
	end := strings.Index(src, "</algo>")
	swapped := src[:first] + src[second:end] + src[first:second] + src[end:]
	block := src[strings.Index(src, "    <tb id=\"0\""):strings.Index(src, "    <tb id=\"1\"")]
	turned := strings.Replace(strings.Replace(src, block, "", 1), "  </gpu>", block+"  </gpu>", 1)
	variants := map[string]string{
		"":                             strings.Replace(src, "<algo", "<!-- \n by hand -->\n<algo", 1),
		"an XML declaration":           `<?xml version="1.0"?>` + "\n" + src,
		"a tab":                        strings.ReplaceAll(src, "  ", "\t"),
		"a tab or a line end in a tag": strings.ReplaceAll(src, ` id=`, "\n  id="),
		"white space in a closing tag": strings.ReplaceAll(src, "</gpu>", "</gpu >"),
		"a byte order mark":            "\ufeff" + `<?xml version="1.0"?>` + "\n" + src,
		"white space around =":         strings.ReplaceAll(src, "=", " = "),
		"a value in single quotes":     strings.ReplaceAll(src, `"`, `'`),
	}
	for quirk, text := range variants {
		got, err := Read("x.xml", iotest.OneByteReader(strings.NewReader(text)), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", quirk, err)
			continue
		}
		if diff := cmp.Diff(want, got, codegentest.ProgramsOnly...); diff != "" {
			t.Errorf("%s: %s", quirk, diff)
		}
		_, err = Read("x.xml", strings.NewReader(text), codegen.ReadOptions{Target: codegentest.Target(t, "msccl")})
		if (quirk == "") != (err == nil) || err != nil &&
			!strings.Contains(err.Error(), "reader does not take "+strings.TrimSpace(quirk)) {
			t.Errorf("%q for msccl: %v", quirk, err)
		}
	}
	for name, text := range map[string]string{"ranks": swapped, "blocks": turned} {
		if text == src {
			t.Fatalf("%s: nothing was moved", name)
		}
		got, err := Read("x.xml", strings.NewReader(text), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s in another order: %v", name, err)
		} else if diff := cmp.Diff(want, got, codegentest.ProgramsOnly...); diff != "" {
			t.Errorf("%s in another order: %s", name, diff)
		}
	}
}

// TestReadForTarget applies what a target's runtime wants.
func TestReadForTarget(t *testing.T) {
	cases := []struct {
		target string
		edit   func(string) string
		text   string
	}{
		{"rccl", func(s string) string { return s }, "lacks attribute outofplace, which rccl wants"},
		{"msccl", func(s string) string { return strings.Replace(s, ` name="pairs"`, "", 1) }, "lacks attribute name, which msccl wants"},
		{"msccl", func(s string) string { return strings.Replace(s, "allreduce", "gather", 1) }, `msccl has no collective "gather"`},
		{"rccl", func(s string) string { return strings.Replace(s, "allreduce", "reduce_scatter", 1) }, `rccl has no collective "reduce_scatter"`},
		{"rccl", func(s string) string { return strings.Replace(s, "allreduce", "custom", 1) }, `rccl has no collective "custom"`},
	}
	for _, c := range cases {
		_, err := Read("x.xml", strings.NewReader(c.edit(source(t))),
			codegen.ReadOptions{Target: codegentest.Target(t, c.target)})
		var list diag.List
		found := false
		if errors.As(err, &list) {
			for _, d := range list {
				found = found || strings.Contains(d.Text, c.text)
			}
		}
		if !found {
			t.Errorf("%s: %v, want %q", c.target, err, c.text)
		}
	}
	var b bytes.Buffer
	if err := Write(&b, codegentest.Chain(16), codegentest.Lenient(codegentest.Target(t, "msccl"))); err != nil {
		t.Fatal(err)
	}
	inMSCCL := strings.Replace(b.String(), ` outofplace="0" minBytes="0" maxBytes="0"`, "", 1)
	if _, err := Read("x.xml", strings.NewReader(inMSCCL), codegen.ReadOptions{Target: codegentest.Target(t,
		"msccl")}); err == nil || !strings.Contains(err.Error(), "chains at most 15") {
		t.Errorf("a chain of 16: %v", err)
	}
	if _, err := Read("x.xml", strings.NewReader(inMSCCL), codegen.ReadOptions{}); err != nil {
		t.Errorf("a chain of 16 for ourselves: %v", err)
	}
}

func TestReadSizes(t *testing.T) {
	for attrs, want := range map[string]ir.SizeRange{
		``:                              {Min: 0, Max: 1 << 27},
		` minBytes="7"`:                 {Min: 7, Max: 1 << 27},
		` minBytes="7" maxBytes="9"`:    {Min: 7, Max: 9},
		` outofplace="1" maxBytes="0"`:  {},
		` outofplace="1" maxBytes="99"`: {Max: 100},
		` outofplace="1" maxBytes="9223372036854775807"`: {},
	} {
		src := strings.Replace(source(t), ` inplace="0"`, ` inplace="0"`+attrs, 1)
		p, err := Read("x.xml", strings.NewReader(src), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", attrs, err)
		} else if p.Sizes != want {
			t.Errorf("%s: sizes %v, want %v", attrs, p.Sizes, want)
		}
	}
}

func TestReadErrorsOfTheReader(t *testing.T) {
	src := source(t)
	for _, n := range []int{0, 3, 100, len(src) - 9} {
		r := io.MultiReader(strings.NewReader(src[:n]), iotest.ErrReader(errors.New("no disk")))
		if _, err := Read("x.xml", r, codegen.ReadOptions{}); err == nil || !strings.Contains(err.Error(), "no disk") {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// TestReadIsFastAndFrugal reads a million steps.
func TestReadIsFastAndFrugal(t *testing.T) {
	p := codegentest.Large(64, 16384)
	var b bytes.Buffer
	start := time.Now()
	if err := Write(&b, p, codegentest.Lenient(codegentest.Target(t, "msccl"))); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d steps written in %v, %d MB", len(p.Steps), time.Since(start), b.Len()>>20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start = time.Now()
	got, err := Read("x.xml", &b, codegen.ReadOptions{})
	took := time.Since(start)
	if err != nil || len(got.Steps) != len(p.Steps) {
		t.Fatalf("%v", err)
	}
	runtime.ReadMemStats(&after)
	t.Logf("read in %v, %d MB allocated", took, (after.TotalAlloc-before.TotalAlloc)>>20)
	if took > 30*time.Second {
		t.Errorf("%d steps were read in %v", len(got.Steps), took)
	}
}
