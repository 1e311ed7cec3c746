package msccl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/ir/diag"
)

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
		{`ngpus="2"`, `ngpus="02"`, 0, diag.Malformed, "numbers here are digits"},
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
		{step, strings.Replace(step, `depid="0" deps="1"`, `depid="-1" deps="-1"`, 1), -9999, diag.Malformed, "step after a nop waits for nothing"},
		{step, "", -9999, diag.Malformed, "nop is the last step"},
		{`depid="1"`, `depid="-1"`, 0, diag.Malformed, "nop waits for nothing"},
		{step, strings.Replace(step, "/>", ">", 1), -9999, diag.Malformed, "</tb> stands where </step> is due"},
		{step, strings.Replace(step, "/>", "><note/></step>", 1), len(step) - 1, diag.Malformed, "<note> stands in a <step>"},
		{step, `<stop/>`, 0, diag.Malformed, "<stop> has no place in <tb>"},
		{step, `<STEP/>`, 0, diag.Malformed, "<STEP> has no place in <tb>"},
		{step, `<gpu/>`, 0, diag.Malformed, "<gpu> has no place in <tb>"},
		{step, `<note><a></note>`, len("<note><a>"), diag.Malformed, "</note> stands where </a> is due"},
		{step, `<note>`, -9999, diag.Malformed, "</tb> stands where </note> is due"},
		{step, strings.Repeat("<a>", 1001), -9999, diag.Malformed, "more than 1000 elements"},
		{step, strings.Replace(step, "<step", `<step ss="0"`, 1), len("<step "), diag.Malformed, "no attribute \"ss\""},
		{step, strings.Replace(step, `cnt="1"`, `count="1"`, 1), -9999, diag.Malformed, "no attribute \"count\""},
		{step, strings.Replace(step, `cnt="1"`, `CNT="1" cnt="1"`, 1), -9999, diag.Malformed, "no attribute \"CNT\""},
		{step, strings.Replace(step, `cnt="1"`, `cnt="01"`, 1), -9999, diag.Malformed,
			`cnt is "01": numbers here are digits`},
		{step, strings.Replace(step, `cnt="1"`, `cnt="+1"`, 1), -9999, diag.Malformed,
			`cnt is "+1": numbers here are digits`},
		{step, strings.Replace(step, `cnt="1"`, `cnt="&#49;"`, 1), -9999, diag.Malformed, "cnt is \"&#49;\", not a number"},
		{`inplace="0"`, `inplace="0" minbytes="1"`, len(`inplace="0" `), diag.Malformed, "no attribute \"minbytes\""},
		{step, step + "text", len(step), diag.Malformed, "text stands between"},
		{step, `<!DOCTYPE x>` + step, 0, diag.Malformed, "no place in a program"},
		{step, `<![CDATA[x]]>`, 0, diag.Malformed, "no place in a program"},
		{step, `<?php ?>`, 0, diag.Malformed, "no place in a program"},
		{step, `<?xml version="1.0"?>`, 0, diag.Malformed, "stands first"},
		{step, `<!-- ` + step, 0, diag.Malformed, "comment has no end"},
		{`name="pairs"`, `name="a<b"`, len(`name="a`), diag.Malformed, "which no value of XML may"},
		{`name="pairs"`, `name="` + strings.Repeat("x", 256) + `"`, 0, diag.Malformed, "plain text of up to 255"},
		{`name="pairs"`, "name=\"a\x00b\"", 0, diag.Malformed, "plain text"},
		{`name="pairs"`, `name=pairs`, len("name="), diag.Malformed, "not in quotes"},
		{`name="pairs"`, `name`, 0, diag.Malformed, "has no value"},
		{`name="pairs"`, `name="pairs"x="1"`, len(`name="pairs"`), diag.Malformed, "does not begin after a space"},
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
