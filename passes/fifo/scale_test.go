package fifo

import (
	"runtime"
	"testing"
	"time"

	"mscclc/ir/irtest"
)

// TestShapes compiles each extreme program small, with all checks.
func TestShapes(t *testing.T) {
	for _, s := range shapes {
		for _, slots := range []int{1, 2, 8} {
			if err := compile(s.build(700), Options{Slots: slots}); err != nil {
				t.Errorf("%s with %d slots: %v", s.name, slots, err)
			}
		}
	}
}

// TestScale compiles each extreme program at two sizes, one ten times the
// other. Neither memory nor time of an instruction may grow as they would with
// anything quadratic; the time has room for a busy machine.
func TestScale(t *testing.T) {
	for _, s := range shapes {
		bytes1, time1 := costOfInst(t, s, 2_000)
		bytes2, time2 := costOfInst(t, s, 20_000)
		if bytes2 > 2*bytes1 {
			t.Errorf("%s: %.0f bytes an instruction, then %.0f", s.name, bytes1, bytes2)
		}
		if time2 > 6*time1 {
			t.Errorf("%s: %v an instruction, then %v", s.name, time1, time2)
		}
	}
}

// costOfInst returns what compiling s with about n operations allocates and takes
// for each instruction, at its best of three.
func costOfInst(t *testing.T, s shape, n int) (bytes float64, took time.Duration) {
	c := s.build(n)
	for try := range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := irtest.CPUTime()
		insts := compileShape(t, c)
		spent := (irtest.CPUTime() - start) / time.Duration(insts)
		runtime.ReadMemStats(&after)
		if try == 0 || spent < took {
			took = spent
		}
		bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(insts)
	}
	return bytes, took
}
