package verify_test

import (
	"fmt"
	"testing"

	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/verify"
)

// ring is the ring AllReduce of n ranks, in place, one block a rank.
func ring(n int) *ir.Program {
	p := &ir.Program{Header: ir.Header{Name: "ring", Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: n, Chunks: n,
		Inplace: true}}, Channels: 1}
	for r := range n {
		first := int32(len(p.Steps))
		for s := range 2*n - 1 {
			chunk := int32((r - s + 2*n) % n)
			step := ir.Step{Op: ir.RecvReduceCopySend, SrcBuf: ir.Input, DstBuf: ir.Input, Src: chunk, Dst: chunk, Count: 1,
				Class: chunk, DepBlock: -1, DepStep: -1, Pos: -1}
			switch {
			case s == 0:
				step.Op, step.DstBuf, step.Dst = ir.Send, ir.NoBuf, 0
			case s == 2*n-2:
				step.Op, step.SrcBuf, step.Src = ir.Recv, ir.NoBuf, 0
			case s >= n:
				step.Op, step.SrcBuf, step.Src = ir.RecvCopySend, ir.NoBuf, 0
			}
			p.Steps = append(p.Steps, step)
		}
		p.Rank = append(p.Rank, ir.Range{First: int32(r), End: int32(r + 1)})
		p.Blocks = append(p.Blocks, ir.TB{Block: ir.Block{Rank: int32(r), SendPeer: int32((r + 1) % n),
			RecvPeer: int32((r + n - 1) % n)}, Steps: ir.Range{First: first, End: int32(len(p.Steps))}})
	}
	return p
}

func TestRing(t *testing.T) {
	for n := 2; n < 20; n++ {
		p := ring(n)
		if r, list := verify.Check(p, verify.Options{}); len(list) > 0 || !r.Ran {
			t.Fatalf("%d ranks: %v", n, list)
		}
		if err := eval.MarkFinal(p); err != nil {
			t.Fatal(err)
		}
		for i, s := range p.Steps { // the last reduction of each chunk, on each rank
			if want := i%(2*n-1) == n-1; (s.Flags&ir.Final != 0) != want {
				t.Fatalf("%d ranks: step %d (%v) has flags %d", n, i, s.Op, s.Flags)
			}
			p.Steps[i].Class = 0
		}
		p.Even = true
		if err := eval.Classify(p); err != nil || p.Even {
			t.Fatalf("%d ranks: %v, even %v", n, err, p.Even)
		}
		if _, list := verify.Check(p, verify.Options{}); len(list) > 0 {
			t.Fatalf("%d ranks, classified: %v", n, list)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{128, 256, 1024} {
		p := ring(n)
		b.Run(fmt.Sprintf("ring=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, list := verify.Check(p, verify.Options{}); len(list) > 0 {
					b.Fatal(list)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(p.Steps)), "ns/step")
		})
	}
	p := ring(1024)
	b.Run("final", func(b *testing.B) {
		for range b.N {
			if err := eval.MarkFinal(p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("classify", func(b *testing.B) {
		for range b.N {
			if err := eval.Classify(p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
