package tuning

import (
	"context"
	"slices"

	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/executor/data"
)

// This file compares types. Calls that move bytes take as long for all types. Sums do not.

// slower is how many times as fast as NCCL a program is at least that keeps its rule for another type.
const slower = 0.98

// OfType measures what each of the rules names with elements of another type, at the largest size that the rule is for.
// Where NCCL is faster at some, it returns the rules for calls of that type, of which NCCL has some. Else it returns
// nothing, and the rules serve both types.
func (t *Tuner) OfType(ctx context.Context, dtype data.DType, rules [2][]bundle.MeasuredRule) (
	list [][]bundle.MeasuredRule, err error) {
	lab := *t.Lab
	lab.DType = dtype
	of := *t
	of.Lab = &lab
	for i, group := range rules {
		how := bench.Plain
		if i > 0 {
			how = bench.Captured
		}
		own, lost := slices.Clone(group), false
		for k := range own {
			own[k].DType = dtype.String()
			gain, err := of.gain(ctx, &group[k], how)
			if err != nil {
				return nil, err
			}
			if gain > 0 && gain < slower {
				own[k] = bundle.MeasuredRule{Collective: own[k].Collective, Ranks: own[k].Ranks, Nodes: own[k].Nodes,
					When: own[k].When, UpTo: own[k].UpTo, Program: bundle.NCCL, Only: own[k].Only}
				lost = true
			}
		}
		if lost {
			list = append(list, own)
		}
	}
	return list, nil
}

// gain returns how many times as fast as NCCL the program of a rule is, or 0 where that cannot be measured.
func (t *Tuner) gain(ctx context.Context, r *bundle.MeasuredRule, how int) (float64, error) {
	at := -1
	for i := range t.Sizes {
		if r.UpTo == 0 || t.Sizes[i].Bytes <= r.UpTo {
			at = i
		}
	}
	if r.Program == bundle.NCCL || at < 0 {
		return 0, nil
	}
	form := t.formOf(&bundle.Timed{Program: r.Program, Protocol: r.Protocol, InLanes: r.InLanes, Columns: r.Columns,
		Threads: r.Threads, Tile: r.Tile})
	if form == nil {
		return 0, nil
	}
	list, err := t.contest.Finals(ctx, t.sized(t.Sizes[at].Bytes), []*bench.Form{form})
	if err != nil {
		return 0, err
	}
	return list[0].NCCL[how] / list[0].Micros[how], nil
}
