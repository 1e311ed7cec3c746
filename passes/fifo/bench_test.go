package fifo

import (
	"fmt"
	"testing"

	"mscclc/ir"
	"mscclc/ir/irtest"
)

// BenchmarkShapes compiles programs that are extreme in one respect each, at
// growing sizes. The time of an instruction should stay flat; cpu-ns/inst is
// what to look at on a machine that others use as well.
func BenchmarkShapes(b *testing.B) {
	for _, s := range shapes {
		for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", s.name, n), func(b *testing.B) {
				c := s.build(n)
				insts := 0
				b.ReportAllocs()
				before := irtest.CPUTime()
				for b.Loop() {
					insts = compileShape(b, c)
				}
				each := float64(b.N) * float64(insts)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/each, "ns/inst")
				b.ReportMetric(float64((irtest.CPUTime()-before).Nanoseconds())/each, "cpu-ns/inst")
				b.ReportMetric(float64(insts), "insts")
			})
		}
	}
}

// compileShape lowers c and runs all passes, and returns the number of
// instructions that were lowered.
func compileShape(t testing.TB, c *ir.ChunkDAG) int {
	d, err := Lower(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := len(d.Insts)
	if err := Run(d, Options{}); err != nil {
		t.Fatal(err)
	}
	return n
}
