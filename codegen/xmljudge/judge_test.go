package xmljudge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/ir/irtest"
)

// good returns a file that both runtimes take but for the dialect's attributes.
func good(r *Runtime) string {
	extra := ""
	if r.inclusive {
		extra = ` outofplace="1" minBytes="0" maxBytes="0"`
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<algo name="t" proto="LL" nchannels="2" nchunksperloop="4" ngpus="2" coll="allreduce" inplace="0"%s>`+
		"\n", extra)
	for r := range 2 {
		fmt.Fprintf(&b, `  <gpu id="%d" i_chunks="4" o_chunks="4" s_chunks="4">`+"\n", r)
		fmt.Fprintf(&b, `    <tb id="0" send="%d" recv="%d" chan="1">`+"\n", 1-r, 1-r)
		b.WriteString(line(0, "s", "i", 0, "i", 0, 2, -1, -1, 0) + line(1, "r", "s", 0, "s", 0, 2, -1, -1, 1))
		b.WriteString("    </tb>\n    <tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n")
		b.WriteString(line(0, "cpy", "i", 0, "o", 0, 4, -1, -1, 1) +
			"    </tb>\n    <tb id=\"2\" send=\"-1\" recv=\"-1\" chan=\"0\">\n")
		b.WriteString(line(0, "nop", "i", -1, "o", -1, 0, 1, 0, 0) + line(1, "re", "s", 0, "o", 0, 1, 0, 1, 0) +
			line(2, "re", "s", 1, "o", 0, 1, -1, -1, 0))
		b.WriteString("    </tb>\n  </gpu>\n")
	}
	b.WriteString("</algo>\n")
	return b.String()
}

// line returns one <step>.
func line(s int, kind, srcbuf string, src int, dstbuf string, dst, count, depid, deps, hasdep int) string {
	return fmt.Sprintf(`      <step s="%d" type="%s" srcbuf="%s" srcoff="%d" dstbuf="%s" dstoff="%d" cnt="%d" depid="%d" deps="%d" hasdep="%d"/>`+"\n",
		s, kind, srcbuf, src, dstbuf, dst, count, depid, deps, hasdep)
}

// TestFindsFaults puts one fault at a time into a good file.
func TestFindsFaults(t *testing.T) {
	recv := line(1, "r", "s", 0, "s", 0, 2, -1, -1, 1)
	copied := line(0, "cpy", "i", 0, "o", 0, 4, -1, -1, 1)
	nop := line(0, "nop", "i", -1, "o", -1, 0, 1, 0, 0)
	re := line(1, "re", "s", 0, "o", 0, 1, 0, 1, 0)
	re2 := line(2, "re", "s", 1, "o", 0, 1, -1, -1, 0)
	long := ""
	for i := range 16 {
		long += line(2+i, "re", "s", i%4, "o", 0, 1, -1, -1, 0)
	}
	cases := []struct{ old, new, want string }{
		{"<algo", "<?xml version=\"1.0\"?>\n<algo", "unexpected '?' in a name"},
		{"  <gpu", "\t<gpu", `expected <, got '\t'`},
		{` proto=`, `  proto=`, `unexpected ' ' in a name`},
		{` proto=`, "\nproto=", "expected one space, / or >"},
		{`proto="LL"`, `proto='LL'`, "expected a quote"},
		{`proto="LL"`, `proto = "LL"`, "unexpected ' ' in a name"},
		{`proto="LL"`, `proto="LL16"`, "proto is"},
		{`proto="LL"`, ``, "unexpected ' ' in a name"},
		{` proto="LL"`, ``, "attribute proto 0 times"},
		{` proto="LL"`, ` proto="LL" proto="LL"`, "attribute proto 2 times"},
		{`name="t"`, `name="2D"`, "meaning of its own"},
		{`name="t"`, `name="` + strings.Repeat("t", 64) + `"`, "too long"},
		{`name="t"`, `name="&amp;"`, "escaped"},
		{`name="t"`, `name="` + strings.Repeat("t", 256) + `"`, "long or escaped"},
		{`name="t"`, `name="t" a="" b="" c="" d="" e="" f="" g="" h="" i="" j=""`, "attributes"},
		{`nchannels="2"`, `nchannels="3"`, "last channel is 1"},
		{`nchannels="2"`, `nchannels="1"`, "chan is 1, not from 0 to 0"},
		{`nchannels="2"`, `nchannels="02"`, "no plain number"},
		{`nchannels="2"`, `nchannels="129"`, "nchannels is 129"},
		{`ngpus="2"`, `ngpus="3"`, "ngpus is 3, and there are 2"},
		{`coll="allreduce"`, `coll="reduce-scatter"`, "coll is"},
		{`inplace="0"`, `inplace="2"`, "inplace is 2"},
		{`<gpu id="1"`, `<gpu id="0"`, "gpu 0 stands twice"},
		{`s_chunks="4"`, `s_chunks="1"`, "s[0..2] is not inside its 1"},
		{`s_chunks="4"`, `s_chunks="40000"`, "s_chunks is 40000"},
		{`<tb id="1"`, `<tb id="2"`, "without gaps"},
		{`<tb id="0" send="1"`, `<tb id="0" send="0"`, "itself for a peer"},
		{`<tb id="0" send="1"`, `<tb id="0" send="2"`, "send is 2"},
		{`<tb id="0" send="1"`, `<tb id="0" send="-1"`, "s in a block without send"},
		{`recv="1"`, `recv="-1"`, "r in a block without recv"},
		{recv, "", "differ in counts"},
		{recv, strings.Replace(recv, `cnt="2"`, `cnt="1"`, 1), "differ in counts"},
		{recv, strings.Replace(recv, `hasdep="1"`, `hasdep="0"`, 1), "step 1 of block 0 publishes nothing"},
		{recv, strings.Replace(recv, `s="1"`, `s="2"`, 1), "step 1 is numbered 2"},
		{recv, strings.Replace(recv, `srcoff="0"`, `srcoff="40000"`, 1), "an offset is 40000"},
		{recv, strings.Replace(recv, `"r"`, `"rcs"`, 1), "differ in counts"},
		{recv, strings.Replace(recv, `"r"`, `"ra"`, 1), `type is "ra"`},
		{copied, strings.Replace(copied, `cnt="4"`, `cnt="72"`, 1), "cnt is 72"},
		{copied, strings.Replace(copied, `cnt="4"`, `cnt="0"`, 1), "cnt is 0"},
		{copied, strings.Replace(copied, `cnt="4"`, `cnt="5"`, 1), "i[0..5] is not inside its 4"},
		{copied, strings.Replace(copied, `dstoff="0"`, `dstoff="-1"`, 1), "o[-1..3] is not inside"},
		{copied, strings.Replace(copied, `srcbuf="i"`, `srcbuf="t"`, 1), `buffer "t"`},
		{copied, strings.Replace(copied, ` deps="-1"`, "", 1), "attribute deps 0 times"},
		{copied, strings.TrimSuffix(copied, "/>\n") + " />\n", `unexpected '/' in a name`},
		{nop, strings.Replace(nop, `depid="1"`, `depid="-1"`, 1), "a nop has no dependence"},
		{nop, strings.Replace(nop, `depid="1"`, `depid="9"`, 1), "depid is 9"},
		{nop, strings.Replace(nop, `deps="0"`, `deps="1"`, 1), "step 1 of block 1 does not exist"},
		{re, strings.Replace(re, `depid="0" deps="1"`, `depid="-1" deps="-1"`, 1), "the runtime rejects the chain"},
		{re + re2, "", "a nop is the last step"},
		{re2, strings.Replace(re2, `cnt="1"`, `cnt="2"`, 1), "chain of reductions with counts 1 and 2"},
		{re + re2, strings.Replace(re+re2, `srcbuf="s"`, `srcbuf="o"`, 2), "a chain of reductions reads what it writes"},
		{re2, long, "a chain of 17"},
		{"</algo>\n", "", "<algo> of line 1 has no end"},
		{"</algo>\n", "</algo>\n<algo/>", "not one <algo>"},
		{"<algo", "<!-- a=b -->\n<algo", ""},
		{"<algo", "<!--a=b -->\n<algo", "word with = in it"},
	}
	for _, r := range []*Runtime{&MSCCL, &RCCL} {
		src := good(r)
		if found := Judge([]byte(src), r); len(found) > 0 {
			t.Fatalf("%s: the good file: %v", r.name, found)
		}
		for _, c := range cases {
			if !strings.Contains(src, c.old) {
				t.Fatalf("no %q in the file", c.old)
			}
			want := c.want
			if c.new == long && r == &RCCL { // it chains without limit
				want = ""
			}
			found := Judge([]byte(strings.Replace(src, c.old, c.new, 1)), r)
			hit := want == "" && len(found) == 0
			for _, p := range found {
				hit = hit || want != "" && strings.Contains(p.Text, want)
			}
			if !hit {
				t.Errorf("%s: %.80q gives %v, want %q", r.name, c.new, found, want)
			}
		}
	}
}

// TestLimits builds files at and above the limits that a small file cannot show.
func TestLimits(t *testing.T) {
	file := func(channels, blocks, steps int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `<algo name="t" proto="LL" nchannels="%d" nchunksperloop="1" ngpus="1" coll="allreduce" inplace="0" outofplace="1" minBytes="0" maxBytes="1">`, channels)
		b.WriteString(`<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="0">`)
		for i := range blocks {
			fmt.Fprintf(&b, `<tb id="%d" send="-1" recv="-1" chan="%d">`, i, channels-1)
			for s := range steps {
				b.WriteString(line(s, "cpy", "i", 0, "o", 0, 1, -1, -1, 0))
			}
			b.WriteString("</tb>")
		}
		b.WriteString("</gpu></algo>")
		return b.String()
	}
	cases := []struct {
		r    *Runtime
		src  string
		want string
	}{
		{&MSCCL, file(32, 1, 256), ""}, {&MSCCL, file(33, 1, 1), "nchannels is 33"}, {&MSCCL, file(1, 1, 257), "number of steps is 257"},
		{&RCCL, file(128, 1, 64), ""}, {&RCCL, file(129, 1, 1), "nchannels is 129"}, {&RCCL, file(1, 1, 65), "number of steps is 65"},
		{&MSCCL, file(1, 216, 1), ""}, {&MSCCL, file(1, 217, 1), "thread blocks is 217"},
		{&RCCL, file(1, 64, 1), ""}, {&RCCL, file(1, 65, 1), "thread blocks is 65"},
		{&MSCCL, file(1, 17, 239), ""}, {&MSCCL, file(1, 16, 255), "reads 4098 nodes"},
	}
	for i, c := range cases {
		found := Judge([]byte(c.src), c.r)
		if (c.want == "") != (len(found) == 0) || c.want != "" && !strings.Contains(found[0].Text, c.want) {
			t.Errorf("case %d: %v, want %q", i, found, c.want)
		}
	}
}

// TestJudgesOthersPrograms: programs that these runtimes run have no problem,
// but for the one that RCCL rejects at launch.
func TestJudgesOthersPrograms(t *testing.T) {
	files, _ := filepath.Glob("../testdata/xml/*.xml")
	judged := 0
	for _, f := range append(files, irtest.Files(t, irtest.XML)...) {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		r := &MSCCL
		if strings.Contains(filepath.Base(f), "rccl") {
			r = &RCCL
		}
		found := Judge(src, r)
		if fused := filepath.Base(f) == "rccl-all-reduce-ring-ll.xml"; fused != (len(found) > 0) {
			t.Errorf("%s: %v", f, found)
		}
		judged++
	}
	if judged < 5 {
		t.Errorf("only %d programs were judged", judged)
	}
}
