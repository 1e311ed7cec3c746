package tuning

import (
	"context"
	"math"
	"slices"

	"mscclc/bench"
	"mscclc/bundle"
)

// This file measures sizes between those that a search has measured.

// near is how many times as fast as NCCL a program is at most whose range is measured more closely: between two sizes,
// it may lose what it wins at both.
const near = 1.3

// mostBeside is how many forms of each neighbour are measured at a size between two, of each kind of launches.
const mostBeside = 2

// Refine measures the power of two in the middle of two neighbours where another program is the fastest, or where NCCL
// is near, until neighbours are consecutive powers of two. It measures what was fastest at both.
func (t *Tuner) Refine(ctx context.Context) error {
	for i := 0; i+1 < len(t.Sizes); i++ {
		for {
			a, b := &t.Sizes[i], &t.Sizes[i+1]
			c := t.sized(powerBetween(a.Bytes, b.Bytes))
			if b.Bytes < 4*a.Bytes || !mayLose(a, b) && !change(a, b) || c.Bytes() <= a.Bytes || c.Bytes() >= b.Bytes {
				break
			}
			list, err := t.contest.Again(ctx, c, t.beside(a, b))
			if err != nil {
				return err
			}
			t.Sizes = slices.Insert(t.Sizes, i+1, t.timed(c.Bytes(), list))
		}
	}
	return nil
}

// powerBetween returns the power of two in the middle of two sizes, as the logarithm goes.
func powerBetween(a, b int64) int64 {
	return int64(1) << int(math.Round((math.Log2(float64(a))+math.Log2(float64(b)))/2))
}

// mayLose reports whether the best program may lose between two sizes.
func mayLose(a, b *bundle.TimedSize) bool {
	for how := range bench.NumLaunches {
		winsA, winsB := a.Gain(how), b.Gain(how)
		if winsA == 0 || winsB == 0 || winsA < 1/near && winsB < 1/near { // NCCL was not measured, or wins clearly
			continue
		}
		if winsA < near || winsB < near {
			return true
		}
	}
	return false
}

// change reports whether other programs are the fastest at two sizes.
func change(a, b *bundle.TimedSize) bool {
	for how := range bench.NumLaunches {
		f, g := a.Ranked(how)[0], b.Ranked(how)[0]
		if f.Plain() != g.Plain() {
			return true
		}
	}
	return false
}

// beside returns the forms that were fastest at two sizes.
func (t *Tuner) beside(a, b *bundle.TimedSize) (list []*bench.Form) {
	for _, s := range []*bundle.TimedSize{a, b} {
		for how := range bench.NumLaunches {
			for n, f := range s.Ranked(how) {
				if n == mostBeside {
					break
				}
				form := t.formOf(f)
				if form != nil && !slices.ContainsFunc(list, func(o *bench.Form) bool { return *o == *form }) {
					list = append(list, form)
				}
			}
		}
	}
	return list
}

// formOf returns the form that a time is of, or nil.
func (t *Tuner) formOf(f *bundle.Timed) *bench.Form {
	for i := range t.stock {
		s := &t.stock[i]
		if asCalled(s.Choice) == f.Plain() {
			form := &bench.Form{Name: s.String(), Program: s.program, Choice: s.Choice}
			form.Choice.Width = f.Width
			return form
		}
	}
	return nil
}
