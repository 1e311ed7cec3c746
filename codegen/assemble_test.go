package codegen

import (
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mscclc/ir"
)

// inst returns an instruction of no peers at (block, step).
func inst(op ir.Op, rank, block, step int32, edit ...func(*ir.Inst)) ir.Inst {
	in := ir.Inst{Op: op, SrcBuf: ir.Input, DstBuf: ir.Scratch, Rank: rank, Count: 1, SendPeer: -1, RecvPeer: -1,
		SendMate: -1, RecvMate: -1, Block: block, Step: step, Pos: -1}
	for _, e := range edit {
		e(&in)
	}
	return in
}

func edges(n int, pairs ...[2]int32) ir.Edges {
	rows := make([][]int32, n)
	for _, p := range pairs {
		rows[p[0]] = append(rows[p[0]], p[1])
	}
	e := ir.Edges{Start: make([]int32, n+1)}
	for i, row := range rows {
		e.To = append(e.To, row...)
		e.Start[i+1] = int32(len(e.To))
	}
	return e
}

// joined returns a DAG whose rank 1 has a block that waits for two others, and
// another that waits for that.
func joined() *ir.InstDAG {
	d := &ir.InstDAG{
		Header:  ir.Header{Name: "joined", Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 4, Inplace: true}},
		Scratch: []int32{0, 8},
		Blocks: []ir.Block{
			{Rank: 0, SendPeer: -1, RecvPeer: -1},
			{Rank: 1, SendPeer: -1, RecvPeer: -1}, {Rank: 1, SendPeer: -1, RecvPeer: -1},
			{Rank: 1, SendPeer: -1, RecvPeer: -1, Channel: 2}, {Rank: 1, SendPeer: -1, RecvPeer: -1},
		},
		Insts: []ir.Inst{
			inst(ir.Copy, 0, 0, 0),
			inst(ir.Copy, 1, 1, 0),
			inst(ir.Copy, 1, 2, 0, func(in *ir.Inst) { in.Dst = 1 }),
			inst(ir.Copy, 1, 3, 0, func(in *ir.Inst) { in.Dst = 2 }),
			inst(ir.Copy, 1, 3, 1, func(in *ir.Inst) { in.Dst, in.SrcBuf = 3, ir.Scratch }),
			inst(ir.Copy, 1, 4, 0, func(in *ir.Inst) { in.Dst, in.SrcBuf, in.Src = 4, ir.Scratch, 3 }),
		},
	}
	d.Waits = edges(6, [2]int32{4, 2}, [2]int32{4, 1}, [2]int32{5, 4})
	return d
}

func TestAssembleNops(t *testing.T) {
	p, err := Assemble(joined())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]ir.Range{{First: 0, End: 1}, {First: 1, End: 5}}, p.Rank); diff != "" {
		t.Error(diff)
	}
	if p.Channels != 3 || !p.InPlace || p.OutOfPlace {
		t.Errorf("channels %d, in place %v, out of place %v", p.Channels, p.InPlace, p.OutOfPlace)
	}
	got := p.StepsOf(&p.Blocks[3])
	want := []ir.Step{
		{Op: ir.Copy, SrcBuf: ir.Input, DstBuf: ir.Scratch, Dst: 2, Count: 1, DepBlock: -1, DepStep: -1, Pos: -1},
		{Op: ir.Nop, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, DepBlock: 0, DepStep: 0, Pos: -1},
		{Op: ir.Copy, SrcBuf: ir.Scratch, DstBuf: ir.Scratch, Dst: 3, Count: 1, DepBlock: 1, DepStep: 0, Pos: -1, Flags: ir.HasDep},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if last := p.StepsOf(&p.Blocks[4])[0]; last.DepBlock != 2 || last.DepStep != 2 {
		t.Errorf("the wait for the step after a nop names block %d step %d, want 2 and 2", last.DepBlock, last.DepStep)
	}
}

func TestAssembleIgnoresSliceOrder(t *testing.T) {
	want, err := Assemble(joined())
	if err != nil {
		t.Fatal(err)
	}
	for seed := range int64(50) {
		d := joined()
		d.Shuffle(rand.New(rand.NewSource(seed)))
		got, err := Assemble(d)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// TestAssembleClosesChains: where a chain would not mean what its steps mean
// one by one, the earlier step closes it.
func TestAssembleClosesChains(t *testing.T) {
	re := func(step int32, edit func(*ir.Inst)) ir.Inst {
		return inst(ir.Reduce, 0, 0, step, func(in *ir.Inst) {
			in.SrcBuf, in.DstBuf, in.Src = ir.Scratch, ir.Input,
				step
		}, edit)
	}
	same := func(*ir.Inst) {}
	cases := []struct {
		name   string
		inst   [2]func(*ir.Inst)
		closes bool
	}{
		{"two sources", [2]func(*ir.Inst){same, same}, false},
		{"counts differ", [2]func(*ir.Inst){same, func(in *ir.Inst) { in.Count = 2 }}, true},
		{"destination read by the second", [2]func(*ir.Inst){
			func(in *ir.Inst) { in.SrcBuf, in.Src = ir.Input, 2 }, func(in *ir.Inst) { in.SrcBuf, in.Src = ir.Input, 0 }}, true},
		{"destination read by the first", [2]func(*ir.Inst){
			func(in *ir.Inst) { in.SrcBuf, in.Src = ir.Input, 0 }, func(in *ir.Inst) { in.SrcBuf, in.Src = ir.Input, 2 }}, true},
		{"destination read by its other name", [2]func(*ir.Inst){
			func(in *ir.Inst) { in.SrcBuf, in.Src = ir.Output, 2 }, func(in *ir.Inst) { in.SrcBuf, in.Src = ir.Output, 0 }},
			true},
		{"other places do not chain", [2]func(*ir.Inst){same, func(in *ir.Inst) { in.Dst, in.Count = 2, 2 }}, false},
		{"other buffers do not chain", [2]func(*ir.Inst){same, func(in *ir.Inst) { in.SrcBuf, in.Count = ir.Input, 2 }}, false},
	}
	for _, c := range cases {
		d := &ir.InstDAG{
			Header:  ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 4, Inplace: true}},
			Scratch: []int32{4}, Blocks: []ir.Block{{SendPeer: -1, RecvPeer: -1}},
			Insts: []ir.Inst{re(0, c.inst[0]), re(1, c.inst[1])},
		}
		p, err := Assemble(d)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Steps[0].Flags&ir.HasDep != 0; got != c.closes {
			t.Errorf("%s: closed is %v, want %v", c.name, got, c.closes)
		}
	}
}

func TestAssembleRefusesUnfinished(t *testing.T) {
	cases := map[string]func(*ir.InstDAG){
		"in no block":         func(d *ir.InstDAG) { d.Insts[0].Block = -1 },
		"missing or taken":    func(d *ir.InstDAG) { d.Insts[4].Step = 0 },
		"out of order":        func(d *ir.InstDAG) { d.Blocks[0].Rank = 1 },
		"not in another":      func(d *ir.InstDAG) { d.Waits = edges(6, [2]int32{4, 3}) },
		"missing or taken ":   func(d *ir.InstDAG) { d.Insts[4].Step = 2 },
		"not in another bloc": func(d *ir.InstDAG) { d.Waits = edges(6, [2]int32{4, 0}) },
	}
	for text, spoil := range cases {
		d := joined()
		spoil(d)
		if text == "out of order" {
			d.Blocks[1].Rank = 0
		}
		if _, err := Assemble(d); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(text)) {
			t.Errorf("want an error with %q, got %v", text, err)
		}
	}
}

func TestAssembleIsFast(t *testing.T) {
	d := largeDAG(256, 8192)
	start := time.Now()
	p, err := Assemble(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d steps in %v", len(p.Steps), time.Since(start))
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("%d steps took %v", len(p.Steps), took)
	}
}

// largeDAG returns a DAG of one block a rank, each step of which is a copy.
func largeDAG(ranks, steps int) *ir.InstDAG {
	d := &ir.InstDAG{Header: ir.Header{Name: "large", Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: ranks, Chunks: 8}},
		Scratch: make([]int32, ranks)}
	for r := range ranks {
		d.Scratch[r] = 8
		d.Blocks = append(d.Blocks, ir.Block{Rank: int32(r), SendPeer: -1, RecvPeer: -1})
		for s := range steps {
			d.Insts = append(d.Insts,
				inst(ir.Copy, int32(r), int32(r), int32(s), func(in *ir.Inst) { in.Dst, in.Src = int32(s%8), int32(s%8) }))
		}
	}
	return d
}
