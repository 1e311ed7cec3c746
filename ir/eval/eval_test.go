package eval

import (
	"math/rand"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
)

func TestSumsAreConsed(t *testing.T) {
	v := NewValues(&ir.Collective{Kind: ir.AllReduce, Ranks: 3, Chunks: 2})
	a, b, c := v.Leaf(0, 1), v.Leaf(1, 1), v.Leaf(2, 1)
	if ab := v.Sum(a, b); ab != v.Sum(a, b) || ab != v.Sum(b, a) || ab == v.Sum(a, c) || ab == v.Sum(b, c) {
		t.Error("a sum is not one value, whatever its order, or is that of others")
	}
	if v.Sum(v.Sum(a, b), c) == v.Sum(a, v.Sum(b, c)) {
		t.Error("two groupings are one value")
	}
	if v.Sum(v.Leaf(0, 0), v.Leaf(1, 0)).Plus(1) != v.Sum(a, b) {
		t.Error("neighbouring sums are no run")
	}
	if v.Sum(None, a) != None || v.Sum(a, None) != None {
		t.Error("a sum with nothing is something")
	}
	if x, y := v.Operands(v.Sum(b, c)); x != b || y != c {
		t.Errorf("operands %v %v", x, y)
	}
	seen := map[[2]Value]Value{}
	rnd, all := rand.New(rand.NewSource(1)), []Value{a, b, c}
	for range 10000 { // through several growths of the table
		x, y := all[rnd.Intn(len(all))], all[rnd.Intn(len(all))]
		s := v.Sum(x, y)
		if old, ok := seen[[2]Value{x, y}]; ok && old != s {
			t.Fatalf("sum of %v and %v is %v and %v", x, y, old, s)
		}
		seen[[2]Value{x, y}], seen[[2]Value{y, x}] = s, s
		all = append(all, s)
	}
}

func TestMatches(t *testing.T) {
	c := &ir.Collective{Kind: ir.AllReduce, Ranks: 4, Chunks: 2}
	v := NewValues(c)
	l := func(r int) Value { return v.Leaf(r, 1) }
	sum := func(xs ...Value) Value {
		x := xs[0]
		for _, y := range xs[1:] {
			x = v.Sum(x, y)
		}
		return x
	}
	want := ir.Want{Sum: true, Part: ir.Part{Rank: 0, Index: 1}}
	deep := l(0)
	for range 40 { // 2^40 leaves
		deep = v.Sum(deep, deep)
	}
	for _, x := range []struct {
		name  string
		x     Value
		w     ir.Want
		wrong string
	}{
		{"any order", v.Sum(sum(l(3), l(1)), sum(l(0), l(2))), want, ""},
		{"any", None, ir.Want{Any: true}, ""},
		{"nothing", None, want, "holds nothing"},
		{"lacking", sum(l(0), l(1), l(2)), want, "holds the sum of in[r][1] of ranks 0-2, lacks in[3][1]"},
		{"one", l(2), want, "holds in[2][1], lacks in[r][1] of ranks 0-1, 3"},
		{"twice", sum(l(0), l(1), l(2), l(1)), want, "holds in[1][1] twice, lacks in[3][1]"},
		{"once more", sum(l(0), l(1), l(2), l(3), l(3), l(3)), want, "holds in[3][1] 3 times"},
		{"foreign", sum(l(0), l(1), l(2), v.Leaf(3, 0)), want, "holds in[3][0], which is foreign, lacks in[3][1]"},
		{"other", v.Leaf(2, 0), want, "holds in[2][0]"},
		{"other sum", sum(v.Leaf(0, 0), v.Leaf(1, 0), v.Leaf(2, 0), v.Leaf(3, 0)), want, "holds the sum of in[r][0] of ranks 0-3"},
		{"part", l(1), ir.Want{Part: ir.Part{Rank: 1, Index: 1}}, ""},
		{"other part", l(1), ir.Want{Part: ir.Part{Rank: 2, Index: 0}}, "holds in[1][1]"},
		{"list", sum(l(1), v.Leaf(0, 0), l(1)), ir.Want{List: []ir.Part{{Rank: 0, Index: 0}, {Rank: 1, Index: 1}, {Rank: 1, Index: 1}}}, ""},
		{"short list", sum(l(1), v.Leaf(0, 0)), ir.Want{List: []ir.Part{{Rank: 0, Index: 0}, {Rank: 1, Index: 1}, {Rank: 1, Index: 1}}}, "holds the sum of in[0][0], in[1][1], lacks in[1][1]"},
		{"huge", deep, want, "holds in[0][1] 4100 times, holds far more than it should"},
	} {
		got := v.Differs(x.x, x.w)
		if got != x.wrong || v.Matches(x.x, x.w) != (x.wrong == "") {
			t.Errorf("%s: %q, want %q; matches %v", x.name, got, x.wrong, v.Matches(x.x, x.w))
		}
	}
}

// Where only one rank has input, leaves still belong to the right rank.
func TestPartSkipsRanksWithoutInput(t *testing.T) {
	v := NewValues(&ir.Collective{Kind: ir.Broadcast, Ranks: 4, Chunks: 3, Root: 2})
	for i := range 3 {
		if p := v.Part(v.Leaf(2, i)); p != (ir.Part{Rank: 2, Index: int32(i)}) {
			t.Errorf("leaf %d is %v", i, p)
		}
	}
}

func TestEvalRing(t *testing.T) {
	for n := 2; n < 9; n++ {
		if list := Chunks(irtest.RingChunks(n)); len(list) > 0 {
			t.Errorf("chunks, %d ranks: %v", n, list)
		}
		d := irtest.RingInsts(n)
		d.Shuffle(rand.New(rand.NewSource(int64(n))))
		if list := Insts(d); len(list) > 0 {
			t.Errorf("insts, %d ranks: %v", n, list)
		}
	}
}

func TestEvalChunksReports(t *testing.T) {
	expect := func(d *ir.ChunkDAG, want string) {
		t.Helper()
		list := Chunks(d)
		if len(list) == 0 || !strings.Contains(irtest.Text(list), want) {
			t.Errorf("got %s, want %s", irtest.Text(list), want)
		}
	}
	d := irtest.RingChunks(4)
	d.Ops = d.Ops[:len(d.Ops)-1]
	expect(d, "wrong-result: output[3] of rank 1 must hold the sum of in[r][3] of ranks 0-3, but holds the sum of in[r][3] of ranks 0-1, 3, lacks in[2][3]; this wrote it last")
	d = irtest.RingChunks(4)
	d.Ops = d.Ops[3:]
	expect(d, "all that is wrong: output[0] of ranks 0 to 3")
	d = irtest.RingChunks(2)
	d.Scratch = []ir.ScratchDecl{{Name: "a", Chunks: 1}, {Name: "b", Chunks: 2}}
	d.Srcs[d.Ops[0].Src+1] = ir.Ref{Rank: 1, Index: 1, Buf: ir.Scratch + 1}
	expect(d, "uninitialized: rank 1 reads b[1] before anything writes it; b is declared here, with 2 chunks")
}

// A ring of 1,024 ranks is 2 million instructions.
func BenchmarkEvalInsts(b *testing.B) {
	for _, n := range []int{64, 256, 1024} {
		d := irtest.RingInsts(n)
		b.Run(d.Coll.String(), func(b *testing.B) {
			for range b.N {
				if list := Insts(d); len(list) > 0 {
					b.Fatal(list)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(d.Insts)), "ns/inst")
		})
	}
}

// A list of wrong chunks names all where there are few, ranks that have the same ones together, and is short where
// there are many.
func TestWrongList(t *testing.T) {
	var l WrongList
	for _, r := range []int{1, 2, 3, 5} {
		for _, i := range []int{0, 1, 2, 6} {
			l.Add(r, i)
		}
		if r == 3 {
			l.Add(3, 9)
		}
	}
	want := "output[0..3] and output[6] of ranks 1 to 2 and 5; output[0..3], output[6] and output[9] of rank 3"
	if got := l.String(); got != want || l.N != 17 {
		t.Errorf("%d: %s", l.N, got)
	}

	var many WrongList
	for r := range 1000 {
		for i := range 1000 {
			if i%(2+r%7) == 0 {
				many.Add(r, i)
			}
		}
	}
	if got := many.String(); len(got) > 1000 {
		t.Errorf("%d bytes: %s", len(got), got)
	}

	var each WrongList
	for r := range 8 {
		each.Add(r, r)
	}
	want = "output[0] of rank 0; output[1] of rank 1; output[2] of rank 2; output[3] of rank 3; others of 4 more ranks"
	if got := each.String(); got != want {
		t.Error(got)
	}
}

// TestOneRank: of one rank, the sum is its chunk, and no sum of it with itself.
func TestOneRank(t *testing.T) {
	v := NewValues(&ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 2})
	want, own := ir.Want{Sum: true, Part: ir.Part{Index: 1}}, v.Leaf(0, 1)
	for x, good := range map[Value]bool{own: true, v.Leaf(0, 0): false, v.Sum(own, own): false, None: false} {
		if v.Matches(x, want) != good {
			t.Errorf("%v: %v, want %v", v.Describe(x), !good, good)
		}
	}
}
