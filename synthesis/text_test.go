package synthesis

import (
	"context"
	"math/big"
	"testing"

	"mscclc"
	"mscclc/ir"
)

func TestText(t *testing.T) {
	pack := func(m *Machine, rate *big.Rat, counts ...int64) []Tree {
		f, err := Pack(context.Background(), m, counts, rate)
		if err != nil {
			t.Fatal(err)
		}
		return f.Trees
	}
	x := big.NewRat(25, 7)
	ag := pack(dgx(), x, 6, 6, 6, 6, 6, 6, 6, 6)
	rs := pack(dgx().reverse(), x, 6, 6, 6, 6, 6, 6, 6, 6)
	bc := pack(dgx(), big.NewRat(25, 1), 0, 0, 6, 0, 0, 0, 0, 0)
	rd := pack(dgx().reverse(), big.NewRat(25, 1), 0, 0, 6, 0, 0, 0, 0, 0)
	for _, p := range []*Plan{
		{Kind: ir.AllGather, Spread: ag}, {Kind: ir.ReduceScatter, Gather: rs}, {Kind: ir.AllReduce, Spread: ag, Gather: rs},
		{Kind: ir.Broadcast, Spread: bc, Root: 2}, {Kind: ir.ReduceTo, Gather: rd, Root: 2},
	} {
		p.Name, p.Ranks = "trees", 8
		text := p.Text()
		if p.Kind == ir.Broadcast || p.Kind == ir.ReduceTo {
			t.Log(text)
		}
		p.Lanes = true
		for _, text := range []string{text, p.Text()} {
			for _, one := range []bool{true, false} {
				if _, err := mscclc.Compile("a.mscl", []byte(text), mscclc.Options{OneSided: one}); err != nil {
					t.Errorf("%v: %v", p.Kind, err)
				}
			}
		}
	}
}
