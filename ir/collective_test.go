package ir_test

import (
	"testing"

	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/irtest"

	"pgregory.net/rapid"
)

// The table of collectives of the language, for 3 ranks and 2 chunks, root 1:
// rank 2's input and output, and what the last chunk of its output must hold.
func TestCollectives(t *testing.T) {
	for _, x := range []struct {
		kind         ir.Kind
		in, out      int
		last         string
		inOut, outIn int
		divisor      int
	}{
		{ir.AllReduce, 2, 2, "the sum of in[r][1] of ranks 0-2", 0, -1, 2},
		{ir.AllGather, 2, 6, "in[2][1]", 4, -1, 6},
		{ir.ReduceScatter, 6, 2, "the sum of in[r][5] of ranks 0-2", -1, 4, 6},
		{ir.AllToAll, 6, 6, "in[2][5]", 0, -1, 6},
		{ir.Broadcast, 0, 2, "in[1][1]", 0, -1, 2},
		{ir.ReduceTo, 2, 0, "", -1, 0, 2},
		{ir.Gather, 2, 0, "", 0, -1, 6},
		{ir.Scatter, 0, 2, "in[1][5]", -1, 0, 6},
		{ir.SendRecv, 2, 2, "in[1][1]", 0, -1, 2},
	} {
		c := &ir.Collective{Kind: x.kind, Ranks: 3, Chunks: 2, Root: 1, Peer: []int32{1, 2, 0}}
		if c.InChunks(2) != x.in || c.OutChunks(2) != x.out || c.Divisor() != x.divisor {
			t.Errorf("%v: %d in, %d out, divisor %d", c, c.InChunks(2), c.OutChunks(2), c.Divisor())
		}
		if inOut, outIn := c.Shift(2); inOut != x.inOut || outIn != x.outIn {
			t.Errorf("%v: input lies at %d of the output, output at %d of the input", c, inOut, outIn)
		}
		if x.out > 0 {
			if got := eval.NewValues(c).DescribeWant(c.Want(2, x.out-1)); got != x.last {
				t.Errorf("%v: the last chunk must hold %s", c, got)
			}
		}
		if wrong := c.Valid(1000); wrong != "" {
			t.Errorf("%v: %s", c, wrong)
		}
	}
	root := &ir.Collective{Kind: ir.Gather, Ranks: 3, Chunks: 2, Root: 1}
	if inOut, _ := root.Shift(1); inOut != 2 || root.OutChunks(1) != 6 {
		t.Error("the root's part of a gather lies elsewhere")
	}
	root.Kind = ir.Scatter
	if _, outIn := root.Shift(1); outIn != 2 || root.InChunks(1) != 6 {
		t.Error("the root's part of a scatter lies elsewhere")
	}
}

// Cells of a rank's buffers are its own, and only in place are input and output
// one memory: where NCCL has them.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := irtest.AnyCollective(t)
		scratch := irtest.AnyScratch(t, c.Ranks)
		m := ir.NewMemory(c, scratch)
		owner := make([]int, m.Len())
		for r := range c.Ranks {
			first, end := m.Rank(r)
			sizes := []int{c.InChunks(r), c.OutChunks(r), 0}
			if scratch != nil {
				sizes[2] = int(scratch[r])
			}
			for b, n := range sizes {
				for i := range n {
					cell := m.Cell(r, ir.Buf(b), i)
					if cell < first || cell >= end {
						t.Fatalf("%v: rank %d %v[%d] is cell %d of %d to %d", c, r, ir.Buf(b), i, cell, first, end)
					}
					owner[cell]++
					buf, index := m.Chunk(r, cell)
					if m.Cell(r, buf, index) != cell || !c.Inplace && (buf != ir.Buf(b) || index != i) {
						t.Fatalf("%v: cell %d is %v[%d], and %v[%d]", c, cell, ir.Buf(b), i, buf, index)
					}
				}
			}
			if inOut, outIn := c.Shift(r); c.Inplace && sizes[0] > 0 && sizes[1] > 0 {
				if inOut >= 0 && m.Cell(r, ir.Input, 0) != m.Cell(r, ir.Output, inOut) || outIn >= 0 &&
					m.Cell(r, ir.Output, 0) != m.Cell(r, ir.Input, outIn) {
					t.Fatalf("%v: rank %d's buffers do not lie as Shift says", c, r)
				}
			}
		}
		for cell, n := range owner {
			if n == 0 || n > 1 && !c.Inplace {
				t.Fatalf("%v: %d chunks lie in cell %d", c, n, cell)
			}
		}
	})
}

func TestMessageChunks(t *testing.T) {
	c := &ir.Collective{Kind: ir.AllGather, Ranks: 4, Chunks: 2}
	for _, x := range []struct {
		bytes int64
		want  int
	}{{0, 71}, {8 << 20, 2}, {8<<20 + 1, 1}, {16 << 20, 1}, {1 << 40, 1}, {1 << 20, 16}, {1000, 71}} {
		if got := c.MessageChunks(x.bytes, ir.Simple.SlotBytes()); got != x.want {
			t.Errorf("%d bytes: %d chunks", x.bytes, got)
		}
	}
}

// TestAllowsAnything: only a collective that states that no output need hold anything allows anything.
func TestAllowsAnything(t *testing.T) {
	one := map[ir.Part][]ir.Part{{1, 0}: {{0, 0}}}
	for _, c := range []struct {
		coll ir.Collective
		want bool
	}{
		{ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: 1, In: 1, Out: 1}, true},
		{ir.Collective{Kind: ir.Custom, Ranks: 2, Chunks: 1, In: 1, Out: 1, Require: one}, false},
		{ir.Collective{Kind: ir.Opaque, Ranks: 2, Chunks: 1, In: 1, Out: 1}, false},
		{ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1}, false},
		{ir.Collective{Kind: ir.SendRecv, Ranks: 2, Chunks: 1, Peer: []int32{-1, 0}}, false},
		{ir.Collective{Kind: ir.SendRecv, Ranks: 2, Chunks: 1, Peer: []int32{-1, -1}}, true},
	} {
		if got := c.coll.AllowsAnything(); got != c.want {
			t.Errorf("%+v allows anything: %v", c.coll, got)
		}
	}
}
