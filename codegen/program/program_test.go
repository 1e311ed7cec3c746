package program

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"math/rand"
	"runtime"
	"strings"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// reseal makes the sums of a plan fit again after a change, as far as its
// tables lie inside it.
func reseal(b []byte) {
	if len(b) < headerSize {
		return
	}
	sum := func(at, n uint64) (uint32, bool) {
		if at > uint64(len(b)) || n > uint64(len(b))-at {
			return 0, false
		}
		return crc32.Checksum(b[at:at+n], castagnoli), true
	}
	section := func(i int) (at, n uint64) {
		o := b[sectionTable+i*sectionSize:]
		return le.Uint64(o), le.Uint64(o[8:])
	}
	at, n := section(secRanks)
	each := uint64(rankSize(le.Uint64(b[16:])&planOneSided != 0))
	for r := uint64(0); at <= uint64(len(b)) && (r+1)*each <= n && at+(r+1)*each <= uint64(len(b)); r++ {
		row := b[at+r*each:]
		size := uint64(le.Uint32(row[8:]))*planBlockSize + uint64(le.Uint32(row[12:]))*planStepSize
		if each == planOneRankSize {
			size += uint64(le.Uint32(row[48:])) * planOperandSize
		}
		if s, ok := sum(le.Uint64(row), size); ok {
			le.PutUint32(row[36:], s)
		}
	}
	for i := range numSections {
		if i != secParts {
			at, n := section(i)
			if s, ok := sum(at, n); ok {
				le.PutUint32(b[sectionTable+i*sectionSize+16:], s)
			}
		}
	}
	le.PutUint32(b[40:], 0)
	le.PutUint32(b[40:], crc32.Checksum(b[:headerSize], castagnoli))
}

func readPlan(b []byte) (*either.Program, error) { return Decode("x.mprog", b, codegen.ReadOptions{}) }

// TestPlanDamage: no prefix of a plan and no plan with one changed byte is
// read, and nothing is read whose sums were mended unless its form is good. Each byte but those of versions means
// something, or is 0.
func TestPlanDamage(t *testing.T) {
	p := codegentest.Pairs()
	p.Spans = []diag.Span{{Pos: diag.Pos{Filename: "pairs.mscl", Line: 1, Column: 1}, Len: 5}}
	p.Steps[0].Pos = 0
	t.Run("two-sided", func(t *testing.T) { damage(t, p) })
	t.Run("one-sided", func(t *testing.T) { damage(t, codegentest.Swap()) })
}

func damage(t *testing.T, p *either.Program) {
	b := Encode(p)
	for n := range b {
		if _, err := readPlan(b[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were read", n, len(b))
		}
	}
	if _, err := readPlan(append(bytes.Clone(b), 0)); err == nil {
		t.Error("a plan with one byte more was read")
	}
	mended := 0
	for i := range b {
		for _, flip := range []byte{1, 0x80, 0xff} {
			c := bytes.Clone(b)
			c[i] ^= flip
			if _, err := readPlan(c); err == nil {
				t.Errorf("byte %d changed by %#x was not noticed", i, flip)
			}
			reseal(c)
			got, err := readPlan(c)
			if err != nil {
				continue
			}
			mended++
			if version := i >= 8 && i < 16; !version && !bytes.Equal(c, b) && bytes.Equal(Encode(got), b) {
				t.Errorf("byte %d changed by %#x, with the sums mended, changes nothing", i, flip)
			}
			if again, err := readPlan(Encode(got)); err != nil || again == nil {
				t.Errorf("byte %d changed by %#x: read, and not read again: %v", i, flip, err)
			}
		}
	}
	if mended == 0 {
		t.Error("no mended change was read: reseal does nothing")
	}
}

// TestPlanRejects names what is wrong with plans whose sums are right.
func TestPlanRejects(t *testing.T) {
	b := Encode(codegentest.Pairs())
	layout := newLayout(codegentest.Pairs())
	row, part := layout.at[secRanks], layout.at[secParts]
	step := part + 3*planBlockSize
	put := func(at int, n uint32) func([]byte) { return func(b []byte) { le.PutUint32(b[at:], n) } }
	cases := []struct {
		name string
		edit func([]byte)
		code diag.Code
		text string
	}{
		{"magic", func(b []byte) { b[0] = 'X' }, diag.Malformed, "file is no plan"},
		{"version", put(12, 2), diag.Unsupported, "needs a reader of version 2"},
		{"features", put(16, 33), diag.Unsupported, "needs features 0x20"},
		{"abi", put(24, 0), diag.Unsupported, "other operations than this build's"},
		{"size", put(32, 1), diag.Malformed, "says that it has"},
		{"ranks", put(44, 1<<31), diag.Malformed, "has rows for"},
		{"kind", put(48, 99), diag.Malformed, "collective 99"},
		{"chunks", put(52, 1<<30), diag.Malformed, "more than 2147483647 chunks"},
		{"root", put(56, 2), diag.Malformed, "the root is rank 2 of 2"},
		{"channels", put(60, 1<<30), diag.Malformed, "channels"},
		{"flags", put(76, 1<<9), diag.Malformed, "flags 0x200"},
		{"depth", put(100, 1), diag.Malformed, "has 1 copies of packets"},
		{"sizes", put(92, 1<<31), diag.Malformed, "no size is from"},
		{"section", put(sectionTable+8, 1<<31), diag.Malformed, "section 0 of the program file is out of place"},
		{"sections overlap", put(sectionTable+sectionSize, 256), diag.Malformed, "section 1 of the program file is out of place"},
		{"strings", put(headerSize, 1<<31), diag.Malformed, "strings of the plan"},
		{"part", put(row, 8), diag.Malformed, "part of rank 0 is out of place"},
		{"blocks", put(row+8, 1<<31), diag.Malformed, "part of rank 0 is out of place"},
		{"steps", put(row+12, 1<<31), diag.Malformed, "part of rank 0 is out of place"},
		{"scratch", put(row+16, 1<<31), diag.Malformed, "has -2147483648 chunks of scratch"},
		{"input", put(row+20, 9), diag.Malformed, "buffers of rank 0 are not those"},
		{"peer", put(part, 0), diag.Malformed, "sends to its own rank"},
		{"channel", put(part+8, 1), diag.OutOfBounds, "on channel 1"},
		{"first step", put(part+12, 1), diag.Malformed, "does not hold the steps from 0"},
		{"operation", func(b []byte) { b[step] = 99 }, diag.Malformed, "operation 99"},
		{"buffer", func(b []byte) { b[step+1] = 3 }, diag.Malformed, "has no buffer as its source"},
		{"operand too many", func(b []byte) { b[step+2] = 0 }, diag.Malformed, "and its operation has none"},
		{"step flags", func(b []byte) { b[step+3] = 0x80 }, diag.Malformed, "flags 128"},
		{"index", put(step+4, 1), diag.OutOfBounds, "has input[1]*1 as its source, and input has 1 chunks"},
		{"negative index", put(step+4, 1<<31), diag.OutOfBounds, "has input[-2147483648]*1"},
		{"count", put(step+12, 1<<31-1), diag.OutOfBounds, "has input[0]*2147483647"},
		{"class", put(step+16, 1), diag.Malformed, "begins at class 1 of 1"},
		{"wait", put(step+20, 3), diag.OutOfBounds, "waits for block 3, and its rank has 3"},
		{"position", put(step+28, 0), diag.Malformed, "is at source position 0 of 0"},
	}
	for _, c := range cases {
		bad := bytes.Clone(b)
		c.edit(bad)
		reseal(bad)
		_, err := readPlan(bad)
		var list diag.List
		if !errors.As(err, &list) || list[0].Code != c.code || !strings.Contains(list[0].Text, c.text) ||
			list[0].Span.Filename != "x.mprog" {
			t.Errorf("%s: %v, want [%s] with %q", c.name, err, c.code, c.text)
		}
	}
}

// TestPlanNumbersAllocateNothing: whatever numbers a small file holds, reading
// it allocates little.
func TestPlanNumbersAllocateNothing(t *testing.T) {
	p := codegentest.Pairs()
	p.Coll = &ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: 1, In: 1, Out: 1,
		Require: map[ir.Part][]ir.Part{{Rank: 0, Index: 0}: {{Rank: 1, Index: 0}}}}
	allocatesLittle(t, Encode(p))
	allocatesLittle(t, Encode(codegentest.Swap()))
}

func allocatesLittle(t *testing.T, b []byte) {
	rnd := rand.New(rand.NewSource(1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const tries = 20000
	for range tries {
		c := bytes.Clone(b)
		le.PutUint32(c[rnd.Intn(len(c)/4)*4:], []uint32{1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 20}[rnd.Intn(4)])
		reseal(c)
		readPlan(c)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / tries; each > 64<<10 {
		t.Errorf("a plan of %d bytes allocates %d", len(b), each)
	}
}

func TestPlanJSONRejects(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, codegentest.Pairs()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, text string }{
		{`"version":1`, `"version":2`, "version 2"}, {`"mscclc-program"`, `"other"`, `format "other"`},
		{`"allreduce"`, `"opaquer"`, "no collective"}, {`"Simple"`, `"simple"`, "protocol"},
		{`"op":"s"`, `"op":"x"`, `op: is "x", which is none of`}, {`"buf":"i"`, `"buf":"q"`, `buf: is "q", which is none of`},
		{`"rank":1`, `"rank":0`, "rank 0 stands where 1"}, {`"count":1`, `"count":99`, "and input has 1 chunks"},
		{`"even"`, `"odd"`, "unknown key"}, {"\n]}", "\n]}{}", "after top-level value"}, {"\n]}", "\n]}{\"name\":0}", "after top-level value"}, {"\n]}", "", "plan is no JSON: unexpected end"},
		{`"ranks":2`, `"ranks":3`, "collective of 3 ranks has 2"}, {`"chunks":1`, `"chunks":2000000000`, "more than 2147483647 chunks"},
	} {
		bad := strings.Replace(b.String(), c.old, c.new, 1)
		if bad == b.String() {
			t.Errorf("no %q in the plan", c.old)
		}
		if _, err := ReadJSON("x.mprog.json", strings.NewReader(bad), codegen.ReadOptions{}); err == nil ||
			!strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", c.new, err, c.text)
		}
	}
}

func TestPlanIsFast(t *testing.T) {
	p := codegentest.Large(256, 8192)
	var b bytes.Buffer
	start := time.Now()
	if err := Write(&b, p); err != nil {
		t.Fatal(err)
	}
	wrote := time.Since(start)
	start = time.Now()
	if _, err := readPlan(b.Bytes()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d steps: written in %v, read in %v, %d MB", len(p.Steps), wrote, time.Since(start), b.Len()>>20)
	if wrote > 30*time.Second {
		t.Errorf("writing took %v", wrote)
	}
}

// endless is a reader of zeros that counts what was read.
type endless struct{ read int64 }

func (e *endless) Read(b []byte) (int, error) {
	clear(b)
	e.read += int64(len(b))
	return len(b), nil
}

// TestReadPlanStopsEarly: of a file that is longer than its header says no more is read than shows it.
func TestReadPlanStopsEarly(t *testing.T) {
	for _, p := range []*either.Program{codegentest.Pairs(), codegentest.Ring(3), codegentest.Swap()} {
		tail := &endless{}
		_, err := Read("x.mprog", io.MultiReader(bytes.NewReader(Encode(p)), tail), codegen.ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), "and has more") || tail.read > 1<<16 {
			t.Errorf("%v after %d bytes after the plan", err, tail.read)
		}
	}
}
