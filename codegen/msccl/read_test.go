package msccl

import (
	"bytes"
	"errors"
	"fmt"
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

// source is a good file of two ranks; tests spoil it.
func source(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, codegentest.Pairs(), codegentest.Target(t, "msccl")); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// spoil replaces the first old by new and says at which line and column it is.
func spoil(t *testing.T, src, old, new string) (string, string) {
	t.Helper()
	at := strings.Index(src, old)
	if at < 0 {
		t.Fatalf("no %q in the source", old)
	}
	before := src[:at]
	where := fmt.Sprintf(":%d:%d", 1+strings.Count(before, "\n"), at-strings.LastIndexByte(before, '\n'))
	return before + new + src[at+len(old):], where
}

func TestReadRejects(t *testing.T) {
	src := source(t)
	step := `<step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="1" hasdep="0"/>`
	cases := []struct {
		old, new string
		skip     int // bytes from old to where the error is
		code     diag.Code
		text     string
	}{
		{"<algo", "<algorithm", 0, diag.Malformed, "begins with <algorithm>"},
		{` proto="Simple"`, ``, -len(`<algo name="pairs"`), diag.Malformed, "lacks attribute proto"},
		{`proto="Simple"`, `proto="LL16"`, 0, diag.Malformed, "none of Simple, LL and LL128"},
		{`ngpus="2"`, `ngpus="3"`, -9999, diag.Malformed, "has 3 ranks, and <gpu> for 2"},
		{`ngpus="2"`, `ngpus="2147483647"`, -9999, diag.Malformed, "<gpu> for 2 of them"},
		{`ngpus="2"`, `ngpus="1"`, -9999, diag.OutOfBounds, "this <gpu> is of rank 1, but the only rank is 0, since <algo> has ngpus=\"1\""},
		{`ngpus="2"`, `ngpus="0"`, 0, diag.Malformed, "not a number from 1"},
		{`ngpus="2"`, `ngpus="99999999999999999999999"`, 0, diag.Malformed, "not a number"},
		{`ngpus="2"`, `ngpus="02"`, 0, diag.Malformed, "not a number"},
		{`ngpus="2"`, `ngpus="0x2"`, 0, diag.Malformed, "not a number"},
		{`nchannels="1"`, `nchannels="2000000000"`, 0, diag.Limit, "channels, at most 65536"},
		{`coll="allreduce"`, `coll="alltoallv"`, 0, diag.Unsupported, "alltoallv cannot be read"},
		{`coll="allreduce"`, `coll="sum"`, 0, diag.Malformed, `"sum" is no collective`},
		{`coll="allreduce"`, `coll="allgather"`, -9999, diag.Malformed, "no multiple of the 2 ranks"},
		{`coll="allreduce"`, `coll="broadcast"`, -9999, diag.Unsupported, "root of this broadcast is not known: 2 ranks (0, 1) have an i_chunks above 0"},
		{`nchunksperloop="1"`, `nchunksperloop="2"`, -9999, diag.Malformed, "has 1 input chunks where"},
		{`inplace="0"`, `inplace="2"`, 0, diag.Malformed, "not a number from 0 to 1"},
		{`inplace="0"`, `inplace="0" outofplace="0" minBytes="0" maxBytes="0"`, len(`inplace="0" `), diag.Malformed, "neither for calls in place nor"},
		{`inplace="0"`, `inplace="0" minBytes="5" maxBytes="5"`, len(`inplace="0" `), diag.Malformed, "sizes from 5 is empty"},
		{`inplace="0"`, `inplace="0" colour="red"`, len(`inplace="0" `), diag.Malformed, `no attribute "colour"`},
		{`inplace="0"`, `inplace="0" inplace="0"`, len(`inplace="0" `), diag.Malformed, "stands twice"},
		{`<gpu id="1"`, `<gpu id="0"`, len(`<gpu `), diag.Malformed, "rank 0 stands twice"},
		{`s_chunks="1"`, `s_chunks="-1"`, 0, diag.Malformed, "not a number from 0"},
		{`s_chunks="1"`, `s_chunks="2147483647"`, -9999, diag.Limit, "the ranks' buffers have 2147483652 chunks"},
		{`s_chunks="1"`, `s_chunks="0"`, -9999, diag.OutOfBounds, "scratch chunk 0 is outside rank 0's 0"},
		{`<tb id="1"`, `<tb id="3"`, -9999, diag.Malformed, "thread block 2, but no 1"},
		{`<tb id="1"`, `<tb id="2"`, -9999, diag.Malformed, "has thread block 2, but no 1"},
		{`<tb id="1"`, `<tb id="0"`, 0, diag.Malformed, "has thread block 0 twice"},
		{`send="1"`, `send="0"`, 0, diag.Malformed, "itself for a peer"},
		{`send="1"`, `send="2"`, 0, diag.OutOfBounds, "of rank 0 sends to rank 2, but the ranks are 0 to 1, since <algo> has ngpus=\"2\""},
		{`send="1"`, `send="-1"`, -9999, diag.Malformed, "s sends, and its thread block has no peer"},
		{`recv="1"`, `recv="-1"`, -9999, diag.Malformed, "r receives, and its thread block has no peer"},
		{`chan="0"`, `chan="1"`, 0, diag.OutOfBounds, "channel 1 is beyond the 1"},
		{step, strings.Replace(step, `s="1"`, `s="2"`, 1), len("<step "), diag.Malformed, "numbered 2 where 1 is due"},
		{step, strings.Replace(step, `type="re"`, `type="ra"`, 1), len(`<step s="1" `), diag.Malformed, `type "ra" is none`},
		{step, strings.Replace(step, `srcbuf="s"`, `srcbuf="x"`, 1), len(`<step s="1" type="re" `), diag.Malformed, `buffer "x" is none`},
		{step, strings.Replace(step, `srcoff="0"`, `srcoff="1"`, 1), len(`<step s="1" type="re" srcbuf="s" `), diag.OutOfBounds, "scratch chunk 1 is outside rank 0's 1"},
		{step, strings.Replace(step, `srcoff="0"`, `srcoff="-1"`, 1), len(`<step s="1" type="re" srcbuf="s" `), diag.OutOfBounds, "scratch chunk -1"},
		{step, strings.Replace(step, `cnt="1"`, `cnt="2147483647"`, 1), -9999, diag.OutOfBounds, "chunks 0 to 2147483646 are outside"},
		{step, strings.Replace(step, `cnt="1"`, `cnt="0"`, 1), -9999, diag.Malformed, "moves 0 chunks"},
		{step, strings.Replace(step, `hasdep="0"`, `hasdep="2"`, 1), -9999, diag.Malformed, "hasdep is"},
		{step, strings.Replace(step, `depid="0"`, `depid="3"`, 1), 0, diag.OutOfBounds, "waits for thread block 3, and rank 0 has 3"},
		{step, strings.Replace(step, `deps="1"`, `deps="2"`, 1), 0, diag.OutOfBounds, "waits for step 2 of thread block 0, which has 2"},
		{step, strings.Replace(step, `deps="1"`, `deps="-1"`, 1), -9999, diag.OutOfBounds, "step -1 of a thread block"},
		{step, strings.Replace(step, `depid="0" deps="1"`, `depid="-1" deps="-1"`, 1), -9999, diag.Malformed, "step behind a nop waits for nothing"},
		{step, "", -9999, diag.Malformed, "nop is the last step"},
		{`depid="1"`, `depid="-1"`, 0, diag.Malformed, "nop waits for nothing"},
		{step, strings.Replace(step, "/>", ">", 1), 0, diag.Malformed, "<step> is not empty"},
		{step, `<stop/>`, 0, diag.Malformed, "<stop> has no place in <tb>"},
		{step, step + "text", len(step), diag.Malformed, "text stands between"},
		{step, `<!DOCTYPE x>` + step, 0, diag.Malformed, "no place in a program"},
		{step, `<![CDATA[x]]>`, 0, diag.Malformed, "no place in a program"},
		{step, `<?php ?>`, 0, diag.Malformed, "no place in a program"},
		{step, `<?xml version="1.0"?>`, 0, diag.Malformed, "stands first"},
		{step, `<!-- ` + step, 0, diag.Malformed, "comment has no end"},
		{`name="pairs"`, `name="&lt;"`, len(`name="`), diag.Malformed, "know no entities"},
		{`name="pairs"`, `name="` + strings.Repeat("x", 256) + `"`, 0, diag.Malformed, "plain text of up to 255"},
		{`name="pairs"`, "name=\"a\x00b\"", 0, diag.Malformed, "plain text"},
		{`name="pairs"`, `name=pairs`, len("name="), diag.Malformed, "not in quotes"},
		{`name="pairs"`, `name`, 0, diag.Malformed, "has no value"},
		{`name="pairs"`, `name="pairs"x="1"`, len(`name="pairs"`), diag.Malformed, "does not begin behind a space"},
		{`name="pairs"`, `name="` + strings.Repeat("x", 1<<17) + `"`, -6, diag.Malformed, "tag is longer"},
		{"    </tb>", "    </gpu>", 4, diag.Malformed, "</gpu> stands where </tb>"},
		{"</algo>", "", -9999, diag.Malformed, "<algo> has no end: the file ends before </algo>"},
		{"</algo>", "</algo", 0, diag.Malformed, "tag has no end"},
		{"</algo>", "</algo x>", len("</algo "), diag.Malformed, "holds more than its name"},
		{"</algo>", "</algo><algo/>", len("</algo>"), diag.Malformed, "follows the end"},
	}
	for _, c := range cases {
		bad, _ := spoil(t, src, c.old, c.new)
		_, err := Read("x.xml", strings.NewReader(bad), codegen.ReadOptions{})
		var list diag.List
		if !errors.As(err, &list) {
			t.Errorf("%.60q was accepted (%v)", c.new, err)
			continue
		}
		found := false
		for _, d := range list {
			if d.Code != c.code || !strings.Contains(d.Text, c.text) {
				continue
			}
			found = true
			if c.skip != -9999 {
				want := strings.Index(src, c.old) + c.skip
				if d.Span.Offset != want {
					t.Errorf("%.60q: at offset %d (%v), want %d", c.new, d.Span.Offset, d.Span.Pos, want)
				}
			}
		}
		if !found || len(list) > diag.Shown {
			t.Errorf("%.60q: %d errors, first %v; want [%s] with %q", c.new, len(list), list[0], c.code, c.text)
		}
	}
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
		"":                                   strings.Replace(src, "<algo", "<!-- \n by hand -->\n<algo", 1),
		"an XML declaration":                 `<?xml version="1.0"?>` + "\n" + src,
		"a tab":                              strings.ReplaceAll(src, "  ", "\t"),
		"attributes that are not one space":  strings.ReplaceAll(src, ` id=`, "\n  id="),
		"white space at the end":             strings.ReplaceAll(src, "/>", " />"),
		"white space around =":               strings.ReplaceAll(src, "=", " = "),
		"a value in single quotes":           strings.ReplaceAll(src, `"`, `'`),
		"attributes that are not one space ": strings.ReplaceAll(src, ` id=`, "  id="),
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
			t.Errorf("behind %d bytes: %v", n, err)
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
