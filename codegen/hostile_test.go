package codegen

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mscclc/ir/diag"
)

// A trick makes a file of about n bytes that a careless reader hangs on, or
// spends memory on beyond the file's size.
type trick struct {
	name string
	make func(n int) []byte
	want string // is in the error; "" for a file that is read
}

// judgeTricks reads each file at two sizes, the second eight times the first.
// What is allocated, all that is freed again included, is at most perByte for
// each byte of the file and grows as the file does; times are logged, since
// machines differ. MSCCLC_HOSTILE=N makes files of N MB.
func judgeTricks(t *testing.T, perByte int, tricks []trick, read func(b []byte) error) {
	size := 2 << 20
	if s := os.Getenv("MSCCLC_HOSTILE"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		size = n << 20
	}
	for _, x := range tricks {
		small, took, err := measured(t, x.make(size/8), read)
		x.judge(t, err)
		file := x.make(size)
		large, tookLarge, err := measured(t, file, read)
		x.judge(t, err)
		t.Logf("%-30s %9d bytes: %6.1f bytes and %6.1f ns a byte; at an eighth %6.1f and %6.1f", x.name, len(file),
			float64(large)/float64(len(file)), float64(tookLarge.Nanoseconds())/float64(len(file)),
			8*float64(small)/float64(len(file)), 8*float64(took.Nanoseconds())/float64(len(file)))
		if most := uint64(perByte*len(file) + 1<<20); large > most {
			t.Errorf("%s: %d bytes make the reader allocate %d, more than %d", x.name, len(file), large, most)
		}
		if large > 12*small+4<<20 {
			t.Errorf("%s: an eightfold file makes the reader allocate %d for %d", x.name, large, small)
		}
	}
}

func (x *trick) judge(t *testing.T, err error) {
	t.Helper()
	var list diag.List
	switch {
	case err == nil && x.want != "":
		t.Errorf("%s: was read, want %q", x.name, x.want)
	case err != nil && (!errors.As(err, &list) || x.want == ""):
		t.Errorf("%s: %v", x.name, err)
	case err != nil && !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return strings.Contains(d.Text, x.want) }):
		t.Errorf("%s: %v, want %q", x.name, err, x.want)
	case len(list) > diag.Shown:
		t.Errorf("%s: %d errors", x.name, len(list))
	}
}

func measured(t *testing.T, file []byte, read func(b []byte) error) (allocated uint64, took time.Duration, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	err = read(file)
	took = time.Since(start)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, took, err
}

// repeated is head, part over and over up to about n bytes, and tail.
func repeated(head, part, tail string) func(n int) []byte {
	return func(n int) []byte {
		b := bytes.NewBufferString(head)
		for b.Len() < n {
			b.WriteString(part)
		}
		b.WriteString(tail)
		return b.Bytes()
	}
}

// numbered is repeated, with %[1]d in part counting from 0, %[2]d one more and
// %[3]d one less.
func numbered(head, part, tail string) func(n int) []byte {
	return func(n int) []byte {
		b := bytes.NewBufferString(head)
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(b, part, i, i+1, i-1)
		}
		b.WriteString(tail)
		return b.Bytes()
	}
}

const (
	xmlHead = `<algo name="h" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="1" coll="allreduce" inplace="0">` + "\n"
	xmlRank = `<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="1">` + "\n"
	xmlTB   = `<tb id="0" send="-1" recv="-1" chan="0">` + "\n"
	xmlTail = "</tb></gpu></algo>"
)

// xmlStep is a copy of in[0] with other values in some attributes.
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
	steps := func(changes ...string) func(int) []byte { return numbered(oneStep, xmlStep(changes...), xmlTail) }
	judgeTricks(t, 20, []trick{
		{"entities defined", repeated(laughs, `<!ENTITY d "&c;&c;&c;&c;">`, "]>"+xmlHead+xmlTail), "no place in a program"},
		{"entities used", repeated(strings.Replace(xmlHead, `"h"`, `"&lt;`, 1), "&amp;", `"></algo>`), "longer than"},
		{"deep ranks", repeated(xmlHead, xmlRank, ""), "<gpu> has no place in <gpu>"},
		{"deep programs", repeated("", xmlHead, ""), "<algo> has no place in <algo>"},
		{"deep steps", repeated(oneStep, "<step>", ""), "<step> is not empty"},
		{"endless tag", repeated("<algo ", "x", ""), "longer than"},
		{"endless value", repeated(`<algo name="`, ">", ""), "longer than"},
		{"endless space", repeated("", " \n", "<algo"), "tag has no end"},
		{"endless comment", repeated("<!--", "--  >", ""), "comment has no end"},
		{"comments", repeated("", "<!---->", ""), "holds no <algo>"},
		{"comments in a block", repeated(oneStep, "<!-- <step> -->\n", xmlTail), ""},
		{"spaces in a block", repeated(oneStep, " \t\r\n", xmlTail), ""},
		{"many attributes", repeated("<algo", ` a="1"`, ""), "longer than"},
		{"tags of many attributes", repeated(xmlHead+"<gpu", strings.Repeat(` a="1"`, 9000)+"/><gpu", "/></algo>"), `no attribute "a"`},
		{"one attribute over and over", repeated(xmlHead, "<gpu"+strings.Repeat(` id="0"`, 9000)+"/>", "</algo>"), "attribute id stands twice"},
		{"programs behind each other", repeated(xmlHead+"</algo>", xmlHead+"</algo>", ""), "follows the end"},
		{"a rank over and over", repeated(xmlHead, `<gpu id="0" i_chunks="1" o_chunks="1" s_chunks="1"/>`, "</algo>"), "rank 0 stands twice"},
		{"a block over and over", repeated(xmlHead+xmlRank, `<tb id="0" send="-1" recv="-1" chan="0"/>`, "</gpu></algo>"), "has thread block 0 twice"},
		{"a step over and over", repeated(oneStep, strings.ReplaceAll(xmlStep(), "%[1]d", "0"), xmlTail), "numbered 0 where 1 is due"},
		{"blocks without 0", numbered(xmlHead+xmlRank, `<tb id="%[2]d" send="-1" recv="-1" chan="0"/>`, "</gpu></algo>"), "but no 0"},
		{"blocks of one rank", numbered(xmlHead+xmlRank, `<tb id="%[1]d" send="-1" recv="-1" chan="0"/>`, "</gpu></algo>"), ""},
		{"ranks", numbered(strings.Replace(xmlHead, `ngpus="1"`, `ngpus="2147483647"`, 1), `<gpu id="%[1]d" i_chunks="1" o_chunks="1" s_chunks="0"/>`, "</algo>"), "program has 2147483647 ranks"},
		{"every step wrong", steps("cnt", "0"), "moves 0 chunks"},
		{"counts", steps("cnt", "2147483647"), "are outside"},
		{"offsets", steps("srcoff", "2147483647", "cnt", "2147483647"), "are outside"},
		{"negative offsets", steps("srcoff", "-2147483648"), "is outside"},
		{"copies", steps(), ""},
		{"waits for the step before", steps("depid", "0", "deps", "%[3]d", "hasdep", "1"), "step -1 of a thread block"},
		{"waits for itself", steps("depid", "0", "deps", "%[1]d", "hasdep", "1"), ""},
		{"waits for a step far on", steps("depid", "0", "deps", "2147483647"), "waits for step 2147483647"},
		{"nops", numbered(oneStep, xmlStep("type", "nop", "depid", "0", "deps", "0"), xmlTail), "nop is the last step"},
		{"a chain of sums", steps("type", "re"), ""},
		{"doubled sums", numbered(oneStep, xmlStep("type", "re", "srcbuf", "o"), xmlTail), ""},
	}, func(b []byte) error {
		_, err := ReadMSCCL("h.xml", bytes.NewReader(b), ReadOptions{})
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
	for _, name := range []string{"nchannels", "nchunksperloop", "ngpus", "i_chunks", "o_chunks", "s_chunks", "id", "inplace"} {
		for _, coll := range []string{"allreduce", "allgather", "reduce_scatter", "alltoall", "broadcast", "reduce", "gather", "scatter", "custom"} {
			for _, value := range []string{"2147483647", "2147483648", "-2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "99999999999999999999", "0x10", "1e9", "+1", "-0", "00", "", " 1"} {
				text := strings.Replace(file, `"allreduce"`, `"`+coll+`"`, 1)
				at := strings.Index(text, name+`="`) + len(name) + 2
				text = text[:at] + value + text[at+strings.IndexByte(text[at:], '"'):]
				if _, err := ReadMSCCL("h.xml", strings.NewReader(text), ReadOptions{}); err == nil && !(name == "nchunksperloop" && coll == "custom") {
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
		if _, err := ReadMSCCL("h.xml", strings.NewReader(src[:n]), ReadOptions{}); err == nil {
			t.Errorf("the first %d bytes were read", n)
		}
	}
	if _, err := ReadMSCCL("h.xml", strings.NewReader(src[:whole]), ReadOptions{}); err != nil {
		t.Error(err)
	}
}
