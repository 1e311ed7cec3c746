package lang

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/lang/langtest"
	"mscclc/lang/syntax"
)

func mustExpand(t testing.TB, name string, opt Options) *ir.ChunkDAG {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := syntax.Parse(name, src)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Expand(f, opt)
	if err != nil {
		t.Fatalf("%v %v: %v", opt.Params, opt.Inplace, err)
	}
	return d
}

// sweep gives the parameters that a program is tried with.
func sweep(t testing.TB, name string) []Params {
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var list []Params
	if strings.Contains(string(src), "(nodes") {
		for _, n := range []int{1, 2, 3, 4} {
			for _, g := range []int{1, 2, 3, 4} {
				list = append(list, Params{"nodes": n, "gpus": g})
			}
		}
		return list
	}
	powers := regexp.MustCompile("powers? of two").Match(src)
	even := strings.Contains(string(src), "even number of ranks")
	for r := 1; r <= 17; r++ {
		if powers && r&(r-1) != 0 || even && r%2 != 0 {
			continue
		}
		list = append(list, Params{"ranks": r})
		if strings.Contains(string(src), "root = 0)") {
			list = append(list, Params{"ranks": r, "root": r / 2})
		}
	}
	return list
}

// TestPrograms expands every program for many parameters in its own way and,
// where that exists, the other, and has package ir evaluate what came out.
func TestPrograms(t *testing.T) {
	ran := 0
	for _, name := range langtest.Programs(t, "..") {
		src, _ := os.ReadFile(name)
		if !strings.Contains(string(src), "\nalgorithm ") {
			continue
		}
		t.Run(strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(name), "../algorithms/"), "../"), func(t *testing.T) {
			for _, params := range sweep(t, name) {
				for _, inplace := range []*bool{nil, new(false), new(true)} {
					if inplace != nil && *inplace && !strings.Contains(string(src), "inplace = true") {
						continue
					}
					d := mustExpand(t, name, Options{Params: params, Inplace: inplace})
					if errs := eval.Chunks(d); len(errs) > 0 {
						t.Fatalf("%v, %v: %v", params, d.Coll, errs)
					}
					if inplace != nil && d.Coll.Inplace != *inplace {
						t.Fatalf("%v: asked for inplace = %v", d.Coll, *inplace)
					}
					checkReadOnly(t, d)
					ran++
				}
			}
		})
	}
	t.Logf("%d programs expanded", ran)
	if ran < 1000 {
		t.Errorf("only %d programs expanded", ran)
	}
}

// checkReadOnly sees that no operation writes input that is not output too.
func checkReadOnly(t *testing.T, d *ir.ChunkDAG) {
	t.Helper()
	mem := ir.NewMemory(d.Coll, nil)
	for i := range d.Ops {
		dst := d.Ops[i].Dst
		if dst.Buf != ir.Input {
			continue
		}
		c, r := mem.Cell(int(dst.Rank), ir.Input, int(dst.Index)), int(dst.Rank)
		first, end := mem.Cell(r, ir.Output, 0), mem.Cell(r, ir.Output, d.Coll.OutChunks(r))
		if !d.Coll.Inplace || c < first || c+int(d.Ops[i].Count) > end {
			t.Fatalf("%v: operation %d writes input[%d] of rank %d", d.Coll, i, dst.Index, dst.Rank)
		}
	}
}

// TestSame expands programs, good and bad ones, twice, and sees that all is the
// same.
func TestSame(t *testing.T) {
	for _, name := range langtest.Programs(t, "..") {
		src, _ := os.ReadFile(name)
		if !strings.Contains(string(src), "\nalgorithm ") {
			continue
		}
		if a, b := mustExpand(t, name, Options{}), mustExpand(t, name, Options{}); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two expansions differ", name)
		}
	}
	for _, c := range errorCases(t) {
		if strings.Contains(c.name, "limits") {
			continue
		}
		if a, b := c.run(t), c.run(t); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: two lists of errors differ", c.name)
		}
	}
}

// TestHeader sees that what a file says arrives in the chunk DAG.
func TestHeader(t *testing.T) {
	ll := ir.LL
	d := mustExpand(t, "testdata/programs/language.mscl",
		Options{Params: Params{"ranks": 3, "parts": "1K"}, Limits: syntax.Limits{Parts: 2048}})
	if d.Name != "language" || d.Protocol != ir.LL128 || d.RanksPerNode != 3 || d.Coll.Chunks != 2048 ||
		d.Sizes != (ir.SizeRange{Min: 0, Max: 2 << 20}) {
		t.Errorf("%+v", d.Header)
	}
	if len(d.Scratch) != 2 || d.Scratch[0].Name != "stage" || d.Scratch[0].Chunks != 3*2048 || d.Scratch[1].Chunks != 0 {
		t.Errorf("%+v", d.Scratch)
	}
	hints := map[ir.Hint]bool{}
	for i := range d.Ops {
		op := &d.Ops[i]
		hints[d.Hints[op.Hint]] = true
		if span := d.Span(op.Pos); span.Line < 29 && op.Ways == 1024 || span.Line == 0 {
			t.Errorf("operation %d in %d parts is at %v", i, op.Ways, span)
		}
	}
	want := map[ir.Hint]bool{
		ir.NoHint: true, {Channel: 0, SendTB: -1, RecvTB: -1, Lane: -1}: true,
		{Channel: 1, SendTB: -1, RecvTB: -1, Lane: -1}:                              true,
		{Channel: -1, SendTB: 0, RecvTB: 1, Lane: 2, Via: ir.ViaMemory, Pull: true}: true,
	}
	if !reflect.DeepEqual(hints, want) {
		t.Errorf("hints %v", hints)
	}
	if d := mustExpand(t, "testdata/programs/language.mscl", Options{Protocol: &ll}); d.Protocol != ir.LL {
		t.Errorf("protocol %v", d.Protocol)
	}
}

// BenchmarkJudge has ranks that each make every sum.
func BenchmarkJudge(b *testing.B) {
	for b.Loop() {
		mustExpand(b, "testdata/programs/recursive_doubling.mscl", Options{Params: Params{"ranks": 512}})
	}
}

func BenchmarkExpandRing(b *testing.B) {
	for _, ranks := range []string{"16", "64", "256", "1024"} {
		b.Run(ranks, func(b *testing.B) {
			ops := 0
			for b.Loop() {
				ops = len(mustExpand(b, "../algorithms/allreduce/ring.mscl", Options{Params: Params{"ranks": ranks}}).Ops)
			}
			b.ReportMetric(float64(ops)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			b.ReportMetric(float64(ops), "ops")
		})
	}
}
