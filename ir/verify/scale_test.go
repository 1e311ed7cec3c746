package verify_test

import (
	"testing"

	"mscclc/ir/verify"
)

func BenchmarkOrder(b *testing.B) {
	p := ring(1024)
	for b.Loop() {
		if o := verify.OrderOf(p); !o.Same() {
			b.Fatal(o)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(p.Steps)), "ns/step")
	b.ReportAllocs()
}
