package fifo

import (
	"testing"

	"mscclc/ir"
)

func TestModifiesInput(t *testing.T) {
	for _, c := range []struct {
		coll  ir.Collective
		dst   int32
		wants bool
	}{
		{ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 2}, 0, true},
		{ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 2, Inplace: true}, 1, false},
		{ir.Collective{Kind: ir.ReduceScatter, Ranks: 2, Chunks: 2, Inplace: true}, 1, false},
		{ir.Collective{Kind: ir.ReduceScatter, Ranks: 2, Chunks: 2, Inplace: true}, 2, true},
		{ir.Collective{Kind: ir.AllGather, Ranks: 2, Chunks: 2, Inplace: true}, 1, false},
	} {
		one := ir.Range{First: 0, End: 1}
		p := &Program{Program: ir.Program{
			Header: ir.Header{Coll: &c.coll}, Rank: []ir.Range{one}, Blocks: []ir.TB{{Steps: one}},
			Steps: []ir.Step{{Op: ir.Recv, SrcBuf: ir.NoBuf, DstBuf: ir.Input, Dst: c.dst, Count: 1}}}}
		if got := p.ModifiesInput(); got != c.wants {
			t.Errorf("%v writes input[%d]: %v, want %v", &c.coll, c.dst, got, c.wants)
		}
	}
}
