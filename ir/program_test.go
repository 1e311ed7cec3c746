package ir

import (
	"mscclc/ir/diag"
	"strings"
	"testing"
)

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

func TestProblemsAreBounded(t *testing.T) {
	var p Problems
	for i := range problemLimit + 50 {
		p.Add(diag.New(diag.Race, diag.Span{}, "problem %d", i))
	}
	list := p.Done()
	if len(list) != problemLimit+1 || !strings.Contains(list[problemLimit].Text, "50 more problems are not listed") {
		t.Errorf("%d problems: %s", len(list), list[len(list)-1].Text)
	}
	if got := len(p.Done()); got != len(list) {
		t.Errorf("counted twice: %d", got)
	}
}
