package tuning

import (
	"context"
	"slices"
	"testing"
	"time"

	"mscclc/bench"
)

// TestCompareF32: what there is no time for is left, and a second run measures the rest, and only that. Sizes are not
// compared where NCCL is faster.
func TestCompareF32(t *testing.T) {
	lab := &fakeLab{time: cliff(1 << 20), nccl: func(bytes int64) float64 {
		if bytes <= 16<<10 {
			return 1
		}
		return 1e3
	}}
	tuner := lab.tuner(t, 2, []int64{16 << 10, 64 << 10, 256 << 10, 1 << 20}, nil)
	kept := [bench.NumLaunches]float64{0.5, 0.25}
	tuner.F32 = map[int64][bench.NumLaunches]float64{64 << 10: kept}
	for _, c := range []struct {
		until  time.Time
		others int // sizes that other processes have time for
		whole  bool
		want   []int64
	}{
		{time.Now().Add(-time.Second), 9, false, nil},
		{time.Now().Add(time.Hour), 1, false, []int64{256}},
		{time.Now().Add(time.Hour), 9, true, []int64{1 << 10}},
		{time.Now().Add(-time.Second), 9, true, nil},
	} {
		lab.asked, lab.until, lab.f32 = 0, c.others, nil
		whole, err := tuner.CompareF32(context.Background(), c.until)
		if err != nil || whole != c.whole || !slices.Equal(lab.f32, c.want) {
			t.Errorf("measured were %v KiB, not %v; whole is %v: %v", lab.f32, c.want, whole, err)
		}
	}
	if len(tuner.F32) != 3 || tuner.F32[64<<10] != kept || tuner.F32[1<<20] != [bench.NumLaunches]float64{1, 1} {
		t.Errorf("found is %v", tuner.F32)
	}
	tuner.F32 = nil
	if whole, err := tuner.CompareF32(context.Background(), time.Time{}); err != nil || !whole || len(tuner.F32) != 3 {
		t.Errorf("without an end: whole is %v, found is %v: %v", whole, tuner.F32, err)
	}
}
