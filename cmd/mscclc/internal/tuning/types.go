package tuning

import (
	"context"
	"time"

	"mscclc/bench"
	"mscclc/executor/data"
)

// This file compares types. Calls that move bytes take as long for all types. Sums do not.

// CompareF32 measures the fastest form of each size with elements of f32, too, unless F32 has the size. It begins no
// size after `until`, if that is not zero. whole reports whether the time was enough.
func (t *Tuner) CompareF32(ctx context.Context, until time.Time) (whole bool, err error) {
	lab := *t.Lab
	lab.DType = data.F32
	of := *t
	of.Lab = &lab
	if t.F32 == nil {
		t.F32 = map[int64][bench.NumLaunches]float64{}
	}
	for i := range t.Sizes {
		s := &t.Sizes[i]
		if _, has := t.F32[s.Bytes]; has {
			continue
		}
		form := t.formOf(s.Ranked(bench.Captured)[0])
		if s.Gain(bench.Captured) < 1 || form == nil {
			continue
		}
		if over, err := t.over(ctx, until); err != nil || over {
			return false, err
		}
		list, err := t.contest.Again(ctx, of.sized(s.Bytes), []*bench.Form{form})
		if err != nil {
			return false, err
		}
		var times [bench.NumLaunches]float64
		for how := range times {
			if was := s.Gain(how); was > 0 && list[0].NCCL[how] > 0 {
				times[how] = list[0].NCCL[how] / list[0].Micros[how] / was
			}
		}
		t.F32[s.Bytes] = times
	}
	return true, nil
}
