package verify_test

import (
	"fmt"
	"testing"

	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/irtest"
	"mscclc/ir/verify"
)

func TestRing(t *testing.T) {
	for n := 2; n < 20; n++ {
		p := irtest.RingProgram(n)
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
		if err := eval.Classify(p.Fifo); err != nil || p.Even {
			t.Fatalf("%d ranks: %v, even %v", n, err, p.Even)
		}
		if _, list := verify.Check(p, verify.Options{}); len(list) > 0 {
			t.Fatalf("%d ranks, classified: %v", n, list)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{128, 256, 1024} {
		p := irtest.RingProgram(n)
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
	p := irtest.RingProgram(1024)
	b.Run("final", func(b *testing.B) {
		for range b.N {
			if err := eval.MarkFinal(p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("classify", func(b *testing.B) {
		for range b.N {
			if err := eval.Classify(p.Fifo); err != nil {
				b.Fatal(err)
			}
		}
	})
}
