package ir

import (
	"testing"

	"pgregory.net/rapid"
)

// The table of collectives of the language, for 3 ranks and 2 chunks, root 1:
// rank 2's input and output, and what the last chunk of its output must hold.
func TestCollectives(t *testing.T) {
	for _, x := range []struct {
		kind         Kind
		in, out      int
		last         string
		inOut, outIn int
		divisor      int
	}{
		{AllReduce, 2, 2, "the sum of in[r][1] of ranks 0-2", 0, -1, 2},
		{AllGather, 2, 6, "in[2][1]", 4, -1, 6},
		{ReduceScatter, 6, 2, "the sum of in[r][5] of ranks 0-2", -1, 4, 6},
		{AllToAll, 6, 6, "in[2][5]", 0, -1, 6},
		{Broadcast, 0, 2, "in[1][1]", 0, -1, 2},
		{ReduceTo, 2, 0, "", -1, 0, 2},
		{Gather, 2, 0, "", 0, -1, 6},
		{Scatter, 0, 2, "in[1][5]", -1, 0, 6},
		{SendRecv, 2, 2, "in[1][1]", 0, -1, 2},
	} {
		c := &Collective{Kind: x.kind, Ranks: 3, Chunks: 2, Root: 1, Peer: []int32{1, 2, 0}}
		if c.InChunks(2) != x.in || c.OutChunks(2) != x.out || c.Divisor() != x.divisor {
			t.Errorf("%v: %d in, %d out, divisor %d", c, c.InChunks(2), c.OutChunks(2), c.Divisor())
		}
		if inOut, outIn := c.Shift(2); inOut != x.inOut || outIn != x.outIn {
			t.Errorf("%v: input lies at %d of the output, output at %d of the input", c, inOut, outIn)
		}
		if x.out > 0 {
			if got := NewValues(c).DescribeWant(c.Want(2, x.out-1)); got != x.last {
				t.Errorf("%v: the last chunk must hold %s", c, got)
			}
		}
		if wrong := c.Valid(1000); wrong != "" {
			t.Errorf("%v: %s", c, wrong)
		}
	}
	root := &Collective{Kind: Gather, Ranks: 3, Chunks: 2, Root: 1}
	if inOut, _ := root.Shift(1); inOut != 2 || root.OutChunks(1) != 6 {
		t.Error("the root's part of a gather lies elsewhere")
	}
	root.Kind = Scatter
	if _, outIn := root.Shift(1); outIn != 2 || root.InChunks(1) != 6 {
		t.Error("the root's part of a scatter lies elsewhere")
	}
}

// Cells of a rank's buffers are its own, and only in place are input and output
// one memory: where NCCL has them.
func TestMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCollective(t)
		scratch := anyScratch(t, c.Ranks)
		m := NewMemory(c, scratch)
		owner := make([]int, m.Len())
		for r := range c.Ranks {
			first, end := m.Rank(r)
			sizes := []int{c.InChunks(r), c.OutChunks(r), 0}
			if scratch != nil {
				sizes[2] = int(scratch[r])
			}
			for b, n := range sizes {
				for i := range n {
					cell := m.Cell(r, Buf(b), i)
					if cell < first || cell >= end {
						t.Fatalf("%v: rank %d %v[%d] is cell %d of %d to %d", c, r, Buf(b), i, cell, first, end)
					}
					owner[cell]++
					buf, index := m.Chunk(r, cell)
					if m.Cell(r, buf, index) != cell || !c.Inplace && (buf != Buf(b) || index != i) {
						t.Fatalf("%v: cell %d is %v[%d], and %v[%d]", c, cell, Buf(b), i, buf, index)
					}
				}
			}
			if inOut, outIn := c.Shift(r); c.Inplace && sizes[0] > 0 && sizes[1] > 0 {
				if inOut >= 0 && m.Cell(r, Input, 0) != m.Cell(r, Output, inOut) || outIn >= 0 && m.Cell(r, Output, 0) != m.Cell(r, Input, outIn) {
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
	c := &Collective{Kind: AllGather, Ranks: 4, Chunks: 2}
	for _, x := range []struct {
		bytes int64
		want  int
	}{{0, 71}, {8 << 20, 2}, {8<<20 + 1, 1}, {16 << 20, 1}, {1 << 40, 1}, {1 << 20, 16}, {1000, 71}} {
		if got := c.MessageChunks(x.bytes, Simple.SlotBytes()); got != x.want {
			t.Errorf("%d bytes: %d chunks", x.bytes, got)
		}
	}
}
