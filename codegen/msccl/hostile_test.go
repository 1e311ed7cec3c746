package msccl

import (
	"bytes"
	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"runtime"
	"strings"
	"testing"
)

const (
	xmlHead = `<algo name="h" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="1" coll="allreduce" inplace="0">` +
		"\n"
	xmlRank = `<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="1">` + "\n"
	xmlTB   = `<tb id="0" send="-1" recv="-1" chan="0">` + "\n"
	xmlTail = "</tb></gpu></algo>"
)

// xmlStep returns a copy of in[0] with other values in some attributes.
func xmlStep(changes ...string) string {
	s := `<step s="%[1]d" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>` + "\n"
	for i := 0; i < len(changes); i += 2 {
		at := strings.Index(s, changes[i]+`="`)
		end := at + len(changes[i]) + 2 + strings.IndexByte(s[at+len(changes[i])+2:], '"')
		s = s[:at] + changes[i] + `="` + changes[i+1] + s[end:]
	}
	return s
}

// laughs are entities that stand for billions of others.
const laughs = `<!DOCTYPE algo [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">`

func TestHostileXML(t *testing.T) {
	const oneStep = xmlHead + xmlRank + xmlTB
	steps := func(changes ...string) func(int) []byte {
		return codegentest.Numbered(oneStep, xmlStep(changes...), xmlTail)
	}
	codegentest.JudgeTricks(t, 20, codegentest.Tricks{
		{"entities defined", codegentest.Repeated(laughs, `<!ENTITY d "&c;&c;&c;&c;">`, "]>"+xmlHead+xmlTail), "no place in a program"},
		{"entities used", codegentest.Repeated(strings.Replace(xmlHead, `"h"`, `"&lt;`, 1), "&amp;", `"></algo>`), "longer than"},
		{"deep ranks", codegentest.Repeated(xmlHead, xmlRank, ""), "<gpu> has no place in <gpu>"},
		{"deep programs", codegentest.Repeated("", xmlHead, ""), "<algo> has no place in <algo>"},
		{"deep steps", codegentest.Repeated(oneStep, "<step>", ""), "<step> lacks attribute s"},
		{"endless tag", codegentest.Repeated("<algo ", "x", ""), "longer than"},
		{"endless value", codegentest.Repeated(`<algo name="`, ">", ""), "longer than"},
		{"endless space", codegentest.Repeated("", " \n", "<algo"), "tag has no end"},
		{"endless comment", codegentest.Repeated("<!--", "--  >", ""), "comment has no end"},
		{"comments", codegentest.Repeated("", "<!---->", ""), "holds no <algo>"},
		{"comments in a block", codegentest.Repeated(oneStep, "<!-- <step> -->\n", xmlTail), ""},
		{"spaces in a block", codegentest.Repeated(oneStep, " \t\r\n", xmlTail), ""},
		{"many attributes", codegentest.Repeated("<algo", ` a="1"`, ""), "longer than"},
		{"tags of many attributes", codegentest.Repeated(xmlHead+"<gpu", strings.Repeat(` a="1"`, 9000)+"/><gpu", "/></algo>"), `no attribute "a"`},
		{"one attribute over and over", codegentest.Repeated(xmlHead, "<gpu"+strings.Repeat(` id="0"`, 9000)+"/>", "</algo>"), "attribute id stands twice"},
		{"programs one after another", codegentest.Repeated(xmlHead+"</algo>", xmlHead+"</algo>", ""), "follows the end"},
		{"a rank over and over", codegentest.Repeated(xmlHead, `<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="1"/>`, "</algo>"), "rank 0 stands twice"},
		{"a block over and over", codegentest.Repeated(xmlHead+xmlRank, `<tb id="0" send="-1" recv="-1" chan="0"/>`, "</gpu></algo>"), "has thread block 0 twice"},
		{"a step over and over", codegentest.Repeated(oneStep, strings.ReplaceAll(xmlStep(), "%[1]d", "0"), xmlTail), "numbered 0 where 1 is due"},
		{"blocks without 0", codegentest.Numbered(xmlHead+xmlRank, `<tb id="%[2]d" send="-1" recv="-1" chan="0"/>`, "</gpu></algo>"), "but no 0"},
		{"blocks of one rank", codegentest.Numbered(xmlHead+xmlRank, `<tb id="%[1]d" send="-1" recv="-1" chan="0"/>`, "</gpu></algo>"), ""},
		{"ranks", codegentest.Numbered(strings.Replace(xmlHead, `ngpus="1"`, `ngpus="2147483647"`, 1), `<gpu id="%[1]d" i_chunks="1" o_chunks="1" s_chunks="0"/>`, "</algo>"), "program has 2147483647 ranks"},
		{"every step wrong", steps("cnt", "0"), "moves 0 chunks"},
		{"counts", steps("cnt", "2147483647"), "are outside"},
		{"offsets", steps("srcoff", "2147483647", "cnt", "2147483647"), "are outside"},
		{"negative offsets", steps("srcoff", "-2147483648"), "is outside"},
		{"copies", steps(), ""},
		{"waits for the step before", steps("depid", "0", "deps", "%[3]d", "hasdep", "1"), "step -1 of a thread block"},
		{"waits for itself", steps("depid", "0", "deps", "%[1]d", "hasdep", "1"), ""},
		{"waits for a step far on", steps("depid", "0", "deps", "2147483647"), "waits for step 2147483647"},
		{"nops", codegentest.Numbered(oneStep, xmlStep("type", "nop", "depid", "0", "deps", "0"), xmlTail), "nop is the last step"},
		{"a chain of sums", steps("type", "re"), ""},
		{"doubled sums", codegentest.Numbered(oneStep, xmlStep("type", "re", "srcbuf", "o", "hasdep", "1"), xmlTail), ""},
	}, func(b []byte) error {
		_, err := Read("h.xml", bytes.NewReader(b), codegen.ReadOptions{})
		return err
	})
}

// TestHostileNumbers: a short file whose numbers ask for more than any memory
// is refused before anything of their size is made.
func TestHostileNumbers(t *testing.T) {
	const file = xmlHead + xmlRank + "</gpu></algo>"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tries := 0
	for _, name := range []string{"nchannels", "nchunksperloop", "ngpus", "i_chunks", "o_chunks", "s_chunks", "id",
		"inplace"} {
		for _, coll := range []string{"allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast", "reduce",
			"gather", "scatter", "custom"} {
			for _, value := range []string{"2147483647", "2147483648", "-2147483648", "4294967296", "9223372036854775807",
				"9223372036854775808", "99999999999999999999", "0x10", "1e9", "+1", "-0", "00", "", " 1"} {
				text := strings.Replace(file, `"allreduce"`, `"`+coll+`"`, 1)
				at := strings.Index(text, name+`="`) + len(name) + 2
				text = text[:at] + value + text[at+strings.IndexByte(text[at:], '"'):]
				if _, err := Read("h.xml", strings.NewReader(text), codegen.ReadOptions{}); err == nil &&
					!(name == "nchunksperloop" && coll == "custom") {
					t.Errorf("%s with %s=%q was read", coll, name, value)
				}
				tries++
			}
		}
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / uint64(tries); each > 8*maxTag {
		t.Errorf("a file of %d bytes makes the reader allocate %d", len(file), each)
	}
}

// TestHostileCuts: no file that ends early is read.
func TestHostileCuts(t *testing.T) {
	src := source(t)
	whole := strings.LastIndex(src, ">") + 1
	for n := range whole {
		if _, err := Read("h.xml", strings.NewReader(src[:n]), codegen.ReadOptions{}); err == nil {
			t.Errorf("the first %d bytes were read", n)
		}
	}
	if _, err := Read("h.xml", strings.NewReader(src[:whole]), codegen.ReadOptions{}); err != nil {
		t.Error(err)
	}
}
