package program

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// planOf makes a plan of one rank with n/each times what add adds.
func planOf(each int, add func(p *either.Program, i int)) func(n int) []byte {
	return func(n int) []byte {
		p := codegentest.Empty("h", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1})
		p.Fifo.Channels = 1
		for i := range n / each {
			add(p, i)
		}
		if len(p.Blocks) == 0 {
			p.Blocks = []ir.TB{{Block: ir.Block{SendPeer: -1, RecvPeer: -1}, Steps: ir.Range{End: int32(len(p.Steps))}}}
		}
		p.Rank = []ir.Range{{End: int32(len(p.Blocks))}}
		return Encode(p)
	}
}

// copying is a step from in[0] to out[0].
var copying = ir.Step{Op: ir.Copy, DstBuf: ir.Output, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1}

func addStep(change func(s *ir.Step, i int)) func(p *either.Program, i int) {
	return func(p *either.Program, i int) {
		s := copying
		change(&s, i)
		p.Steps = append(p.Steps, s)
	}
}

// ranksPlan returns a plan of n/40 ranks that do nothing.
func ranksPlan(kind ir.Kind) func(n int) []byte {
	return func(n int) []byte {
		c := &ir.Collective{Kind: kind, Ranks: n / planRankSize, Chunks: 1, In: 1, Out: 1}
		if kind == ir.Custom {
			c.Require = map[ir.Part][]ir.Part{}
		}
		p := codegentest.Empty("h", c)
		p.Rank = make([]ir.Range, c.Ranks)
		return Encode(p)
	}
}

// contractPlan returns a plan of a custom collective with n/each outputs, whose
// lists have that number of parts.
func contractPlan(each, parts int) func(n int) []byte {
	return func(n int) []byte {
		c := &ir.Collective{Kind: ir.Custom, Ranks: 1, Chunks: n/each + 1, In: n/each + 1, Out: n/each + 1,
			Require: map[ir.Part][]ir.Part{}}
		for i := range n / each {
			c.Require[ir.Part{Index: int32(i)}] = make([]ir.Part, parts)
		}
		p := codegentest.Empty("h", c)
		p.Rank = make([]ir.Range, 1)
		return Encode(p)
	}
}

func TestHostilePlans(t *testing.T) {
	cut := func(b []byte, to int) []byte { return b[:to] }
	copies := planOf(planStepSize, addStep(func(*ir.Step, int) {}))
	codegentest.JudgeTricks(t, 20, codegentest.Tricks{
		{"blocks", planOf(planBlockSize, func(p *either.Program, i int) {
			p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{SendPeer: -1, RecvPeer: -1}})
		}), ""},
		{"ranks", ranksPlan(ir.AllReduce), ""},
		{"ranks of a collective of its own", ranksPlan(ir.Custom), ""},
		{"ranks whose buffers multiply", ranksPlan(ir.AllToAll), "the buffers of all ranks have"},
		{"copies", copies, ""},
		{"counts", planOf(planStepSize, addStep(func(s *ir.Step, i int) { s.Count = 1<<31 - 1 })), "and input has 1 chunks"},
		{"offsets", planOf(planStepSize, addStep(func(s *ir.Step, i int) { s.Src, s.Count = 1<<31-1, 1<<31-1 })), "and input has 1 chunks"},
		{"operations", planOf(planStepSize, addStep(func(s *ir.Step, i int) { s.Op = 255 })), "operation 255"},
		{"waits", planOf(planStepSize, addStep(func(s *ir.Step, i int) { s.DepBlock, s.DepStep = 0, 1<<31-1 })), "waits for step 2147483647"},
		{"doubled sums", planOf(planStepSize, addStep(func(s *ir.Step, i int) { s.Op, s.SrcBuf, s.Flags = ir.Reduce, ir.Output, ir.HasDep })), ""},
		{"positions", planOf(planSpanSize, func(p *either.Program, i int) { p.Spans = append(p.Spans, diag.Span{}) }), ""},
		{"names of files", planOf(planSpanSize+10, func(p *either.Program, i int) {
			p.Spans = append(p.Spans, diag.Span{Pos: diag.Pos{Filename: fmt.Sprint(i)}})
		}), ""},
		{"wants of nothing", contractPlan(12, 0), ""},
		{"wants of one chunk", contractPlan(20, 1), ""},
		{"a want of many", contractPlan(1<<18, 1<<15), ""},
		{"cut in its header", func(n int) []byte { return cut(copies(n), headerSize-1) }, "shorter than its header"},
		{"cut in its middle", func(n int) []byte { return cut(copies(n), n/2) }, "says that it has"},
		{"cut and mended", func(n int) []byte {
			b := cut(copies(n), n/2)
			le.PutUint64(b[32:], uint64(len(b)))
			reseal(b)
			return b
		}, "out of place"},
		{"a section over another", func(n int) []byte {
			b := copies(n)
			copy(b[sectionTable+secContract*sectionSize:], b[sectionTable+secParts*sectionSize:][:16])
			reseal(b)
			return b
		}, "out of place"},
	}, func(b []byte) error {
		_, err := Decode("h.mprog", b, codegen.ReadOptions{})
		return err
	})
}

// jsonText returns the JSON of a good plan, cut where old is, which part replaces.
func jsonText(t *testing.T, old, part string) (head, tail string) {
	t.Helper()
	p := codegentest.Empty("h", &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1})
	codegentest.AddBlock(p, 0, -1, -1, 0, copying)
	var b bytes.Buffer
	if err := WriteJSON(&b, p); err != nil {
		t.Fatal(err)
	}
	head, tail, ok := strings.Cut(b.String(), old)
	if !ok {
		t.Fatalf("no %q in %s", old, b.String())
	}
	return head + part, tail
}

func TestHostileJSON(t *testing.T) {
	// in puts part in place of old in a good plan, and over after it again and again.
	in := func(old, part, over string) func(n int) []byte {
		head, tail := jsonText(t, old, part)
		return codegentest.Repeated(head, over, tail)
	}
	const step = `{"op":"cpy","src":{"buf":"i","index":0},"dst":{"buf":"o","index":0},"count":1}`
	codegentest.JudgeTricks(t, 80, codegentest.Tricks{
		{"deep lists", codegentest.Repeated("", "[", ""), "no JSON"},
		{"deep objects", codegentest.Repeated("", `{"ranks":`, ""), "no JSON"},
		{"deep lists in a field", in(`"files":[]`, `"files":`, "["), "no JSON"},
		{"endless string", codegentest.Repeated(`{"name":"`, "x", ""), "unexpected end"},
		{"endless space", codegentest.Repeated("{", " \n", ""), "unexpected end"},
		{"endless number", codegentest.Repeated(`{"version":`, "1", ""), "unexpected end"},
		{"a comma too many", in(step, "", step+","), "invalid character"},
		{"steps", func(n int) []byte {
			head, tail := jsonText(t, step, "")
			return codegentest.Repeated(head, step+",", step+tail)(n)
		}, ""},
		{"steps of nothing", func(n int) []byte {
			head, tail := jsonText(t, step, "")
			return codegentest.Repeated(head, "{},", "{}"+tail)(n)
		}, "holds nothing"},
		{"steps of little", func(n int) []byte {
			head, tail := jsonText(t, step, "")
			return codegentest.Repeated(head, `{"op":""},`, `{"op":""}`+tail)(n)
		}, `ranks[0].blocks[0].steps[0].op: is "", which is none of nop`},
		{"ranks of nothing", in(`"ranks":[`, `"ranks":[`, "{},"), "holds nothing"},
		{"positions of nothing", func(n int) []byte {
			head, tail := jsonText(t, `"spans":[]`, `"spans":[[]`)
			return codegentest.Repeated(head, ",[]", "]"+tail)(n)
		}, "spans[0]: has 0 numbers, and 5 are due"},
		{"positions of little", func(n int) []byte {
			head, tail := jsonText(t, `"files":[],"spans":[]`, `"files":[""],"spans":[[0]`)
			return codegentest.Repeated(head, ",[0]", "]"+tail)(n)
		}, "spans[0]: has 1 numbers, and 5 are due"},
		{"one field over and over", in(`"even":true`, `"even":true`, `,"even":true`), "twice"},
		{"ranks over and over", in(`"files":[]`, `"files":[]`, `,"ranks":[]`), "twice"},
		{"a field in capitals", in(`"even":true`, `"even":true,"Even":true`, " "), "unknown key"},
		{"a field in escapes", in(`"even":true`, `"even":true,"\u0065ven":true`, " "), "unknown key"},
	}, func(b []byte) error {
		_, err := ReadJSON("h.json", bytes.NewReader(b), codegen.ReadOptions{})
		return err
	})
}

// TestHostileJSONCuts: no JSON that ends early is read, and none whose fields
// stand twice, wherever they are.
func TestHostileJSONCuts(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, codegentest.Pairs()); err != nil {
		t.Fatal(err)
	}
	src := b.String()
	read := func(text string) error {
		_, err := ReadJSON("h.json", strings.NewReader(text), codegen.ReadOptions{})
		return err
	}
	for n := range strings.LastIndexByte(src, '}') {
		if read(src[:n]) == nil {
			t.Errorf("the first %d bytes were read", n)
		}
	}
	if err := read(src); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for at, c := range src {
		if c != '"' || !slices.Contains([]byte("{,"), src[max(at-1, 0)]) ||
			seen[src[at:][:strings.IndexByte(src[at+1:], '"')+2]] {
			continue
		}
		key := src[at:][:strings.IndexByte(src[at+1:], '"')+2]
		seen[key] = true
		var found diag.List
		err := read(src[:at] + key + ":0," + src[at:])
		if !errors.As(err, &found) ||
			!slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return strings.Contains(d.Text, "twice") }) {
			t.Errorf("%s stands twice: %v", key, err)
		}
	}
	if len(seen) < 20 {
		t.Errorf("only the fields %v", seen)
	}
}

// TestJSONMemory: a plan that would take too much memory is refused where it does, whatever the rest is, unless that is
// no JSON.
func TestJSONMemory(t *testing.T) {
	for name, c := range map[string]struct{ head, over, tail string }{
		"names":     {`{"files":[`, `"",`, `1]}`},
		"positions": {`{"files":[""],"spans":[`, `[0,0,0,0,0],`, `1]}`},
		"steps":     {`{"ranks":[{"blocks":[{"steps":[`, `{"op":"nop"},`, `1]}]}]}`},
		"wants":     {`{"collective":{"require":[`, `{"rank":0,"index":0,"parts":[[0,0]]},`, `1]}}`},
	} {
		text := c.head + strings.Repeat(c.over, 1<<16) + c.tail
		for end, want := range map[string]string{"": " of memory up to here, the most that is read", "]": "plan is no JSON"} {
			var found diag.List
			_, err := ReadJSON("a.json", strings.NewReader(text+end), codegen.ReadOptions{MaxFile: 1 + int64(len(text))})
			if !errors.As(err, &found) || len(found) != 1 || !strings.Contains(found[0].Text, want) {
				t.Errorf("%s%s: %v, want %s", name, end, err, want)
			} else if end == "" && found[0].Hint != "--limit file=512M allows more" {
				t.Errorf("%s: hint %q", name, found[0].Hint)
			}
		}
	}
}
