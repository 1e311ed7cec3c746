package lang

import (
	"fmt"
	"math/rand"
	"testing"

	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/form"
	"mscclc/ir/placement"
	"mscclc/lang/syntax"
)

// randomInplace makes a random program on in-place buffers: the operations
// read only what has a value, and overlap as the language allows. It writes to
// any input, which the language calls strays.
func randomInplace(rnd *rand.Rand) *ir.ChunkDAG {
	kinds := []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.Broadcast, ir.ReduceTo, ir.Gather, ir.Scatter,
		ir.Custom}
	c := &ir.Collective{Kind: kinds[rnd.Intn(len(kinds))], Ranks: 1 + rnd.Intn(4), Chunks: 1 + rnd.Intn(4), Inplace: true}
	c.Root = rnd.Intn(c.Ranks)
	if c.Kind == ir.Custom {
		c.In, c.Out = c.Chunks, 1+rnd.Intn(4)
		c.Chunks = max(c.In, c.Out)
	}
	d := &ir.ChunkDAG{Header: ir.Header{Coll: c, RanksPerNode: c.Ranks}, Hints: []ir.Hint{ir.NoHint}}
	d.Spans = append(d.Spans, (&syntax.Node{}).Span())
	if rnd.Intn(2) == 0 {
		d.Scratch = []ir.ScratchDecl{{Name: "moved", Chunks: 1 + rnd.Intn(5)}}
	}
	mem := ir.NewMemory(c, d.ScratchChunks())
	full := make([]bool, mem.Len())
	for r := range c.Ranks {
		for i := range c.InChunks(r) {
			full[mem.Cell(r, ir.Input, i)] = true
		}
	}
	chunks := func(r int, b ir.Buf) int {
		switch b {
		case ir.Input:
			return c.InChunks(r)
		case ir.Output:
			return c.OutChunks(r)
		}
		return d.Scratch[0].Chunks
	}
	pick := func(count int) (ir.Ref, int, bool) {
		x := ir.Ref{Rank: int32(rnd.Intn(c.Ranks)), Buf: ir.Buf(rnd.Intn(2 + len(d.Scratch)))}
		n := chunks(int(x.Rank), x.Buf)
		if n < count {
			return x, 0, false
		}
		x.Index = int32(rnd.Intn(n - count + 1))
		return x, mem.Cell(int(x.Rank), x.Buf, int(x.Index)), true
	}
	for range 1 + rnd.Intn(30) {
		count := 1 + rnd.Intn(4)
		dst, to, ok := pick(count)
		if !ok {
			continue
		}
		op := ir.ChunkOp{Dst: dst, Count: int32(count), Src: int32(len(d.Srcs)), Ways: 1}
		for range 1 + rnd.Intn(3) {
			src, from, ok := pick(count)
			if rnd.Intn(4) == 0 {
				src, from = dst, to
			}
			for k := range count {
				ok = ok && full[from+k]
			}
			if ok && (from == to || from+count <= to || to+count <= from) {
				d.Srcs = append(d.Srcs, src)
				op.NSrc++
			}
		}
		if op.NSrc == 0 || op.NSrc == 1 && d.Srcs[op.Src] == dst {
			d.Srcs = d.Srcs[:op.Src]
			continue
		}
		for k := range count {
			full[to+k] = true
		}
		d.Ops = append(d.Ops, op)
	}
	return d
}

// outputs runs d and returns what every output chunk holds, and whether input
// that is not also output changed.
func outputs(d *ir.ChunkDAG, v *eval.Values) (out []eval.Value, changed bool, err error) {
	c := d.Coll
	mem, base := ir.NewMemory(c, d.ScratchChunks()), d.ScratchBase()
	cell := func(x ir.Ref) int {
		if x.Buf >= ir.Scratch {
			return mem.Cell(int(x.Rank), ir.Scratch, base[x.Buf-ir.Scratch]+int(x.Index))
		}
		return mem.Cell(int(x.Rank), x.Buf, int(x.Index))
	}
	now := make([]eval.Value, mem.Len())
	isOut := make([]bool, mem.Len())
	for i := range now {
		now[i] = eval.None
	}
	for r := range c.Ranks {
		for i := range c.InChunks(r) {
			now[mem.Cell(r, ir.Input, i)] = v.Leaf(r, i)
		}
		for i := range c.OutChunks(r) {
			isOut[mem.Cell(r, ir.Output, i)] = true
		}
	}
	for i := range d.Ops {
		op := &d.Ops[i]
		for k := range int(op.Count) {
			x := eval.None
			for s, src := range d.Sources(op) {
				y := now[cell(src)+k]
				if y == eval.None {
					return nil, false, fmt.Errorf("operation %d reads nothing at %v", i, src)
				}
				if s > 0 {
					y = v.Sum(x, y)
				}
				x = y
			}
			now[cell(op.Dst)+k] = x
		}
	}
	for r := range c.Ranks {
		for i := range c.InChunks(r) {
			at := mem.Cell(r, ir.Input, i)
			changed = changed || !isOut[at] && now[at] != v.Leaf(r, i)
		}
		for i := range c.OutChunks(r) {
			out = append(out, now[mem.Cell(r, ir.Output, i)])
		}
	}
	return out, changed, nil
}

// TestRelocate checks on random programs that what relocate makes, for either
// placement, leaves in output what the program leaves there, and touches no
// input that is not also output.
func TestRelocate(t *testing.T) {
	strays, split := 0, 0
	for seed := range int64(20000) {
		d := randomInplace(rand.New(rand.NewSource(seed)))
		v := eval.NewValues(d.Coll)
		want, changed, err := outputs(d, v)
		if err != nil {
			t.Fatal(err)
		}
		if changed {
			strays++
		}
		for _, inplace := range []bool{false, true} {
			got := placement.Relocate(d, inplace, 0)
			if errs := form.CheckChunks(got); len(errs) > 0 {
				t.Fatalf("seed %d, inplace %v: %v", seed, inplace, errs)
			}
			if len(got.Ops) > len(d.Ops) {
				split++
			}
			out, changed, err := outputs(got, v)
			if err != nil || changed {
				t.Fatalf("seed %d, %v, inplace %v: input changed: %v; %v", seed, d.Coll, inplace, changed, err)
			}
			for i := range want {
				if want[i] != out[i] {
					t.Fatalf("seed %d, %v, inplace %v: output %d differs", seed, d.Coll, inplace, i)
				}
			}
		}
	}
	if strays < 1000 || split < 1000 {
		t.Errorf("only %d programs wrote to input, %d grew", strays, split)
	}
}
