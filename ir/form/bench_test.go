package form_test

import (
	"fmt"
	"testing"

	"mscclc/ir/form"
	"mscclc/ir/irtest"
)

func BenchmarkCheck(b *testing.B) {
	for _, n := range []int{91, 182} { // 2^14 and 2^16 steps
		p := irtest.RingProgram(n)
		b.Run(fmt.Sprintf("steps=%d", len(p.Steps)), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if list := form.Check(p, form.Unbounded); len(list) > 0 {
					b.Fatal(list)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(p.Steps)), "ns/step")
		})
	}
}
