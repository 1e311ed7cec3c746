package property

import (
	"testing"

	"mscclc/ir/irtest"
)

func BenchmarkSchedule(b *testing.B) {
	d := irtest.RingInsts(512)
	rows, _ := blockRows(d)
	s := schedule(d, &rows, 2, 1)
	b.ResetTimer()
	for range b.N {
		if _, stuck := s.Run(); len(stuck) > 0 {
			b.Fatal(stuck)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(d.Insts)), "ns/step")
}
