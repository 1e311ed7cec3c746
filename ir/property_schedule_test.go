package ir

import "testing"

func BenchmarkSchedule(b *testing.B) {
	d := ringInsts(512)
	rows, _ := d.blockRows()
	s := d.schedule(&rows, 2, 1)
	b.ResetTimer()
	for range b.N {
		if _, stuck := s.Run(); len(stuck) > 0 {
			b.Fatal(stuck)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(d.Insts)), "ns/step")
}
