package ir

import "testing"

func TestModifiesInput(t *testing.T) {
	for _, c := range []struct {
		coll  Collective
		dst   int32
		wants bool
	}{
		{Collective{Kind: AllReduce, Ranks: 1, Chunks: 2}, 0, true},
		{Collective{Kind: AllReduce, Ranks: 1, Chunks: 2, Inplace: true}, 1, false},
		{Collective{Kind: ReduceScatter, Ranks: 2, Chunks: 2, Inplace: true}, 1, false},
		{Collective{Kind: ReduceScatter, Ranks: 2, Chunks: 2, Inplace: true}, 2, true},
		{Collective{Kind: AllGather, Ranks: 2, Chunks: 2, Inplace: true}, 1, false},
	} {
		p := &Program{Header: Header{Coll: &c.coll}, Rank: []Range{{0, 1}}, Blocks: []TB{{Steps: Range{0, 1}}},
			Steps: []Step{{Op: Recv, SrcBuf: NoBuf, DstBuf: Input, Dst: c.dst, Count: 1}}}
		if got := p.ModifiesInput(); got != c.wants {
			t.Errorf("%v writes input[%d]: %v, want %v", &c.coll, c.dst, got, c.wants)
		}
	}
}
