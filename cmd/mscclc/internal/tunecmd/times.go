package tunecmd

import (
	"context"
	"time"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/tuning"
	"mscclc/executor/exchange"
	"mscclc/ir/diag"
)

// This file shares out the time of --time.

// The search for widths of a size takes at most mostSearch, and at least leastSearch.
const mostSearch, leastSearch = 5 * time.Second, 100 * time.Millisecond

// Of the time for the borders of sums, one part of typesPart is for comparing types.
const typesPart = 4

// within returns how long the widths of the next size are searched, which is the same in all processes.
func (w *worker) within(ctx context.Context) (time.Duration, error) {
	share := time.Until(w.deadline) / time.Duration(3*max(w.left, 1)) // the rest is for finals, and for sizes between
	all, err := exchange.Agree(ctx, w.x, min(max(share, leastSearch), mostSearch), nil)
	if err != nil {
		return 0, err
	}
	return all[0], nil
}

// refine measures where the rules of a task end and begin, keeps each size, and compares the types of sums. It reports
// whether its share of the time was enough. Types are compared at the ends of rules, so they come last, and some time
// is left to them.
func (w *worker) refine(ctx context.Context, t task, tuner *tuning.Tuner) (whole bool, err error) {
	begin, share := time.Now(), bordersShare(time.Until(w.deadline), len(t.sizes), w.left)
	types := t.kind.Reduces() && t.Bits == "" && w.lab.Rivals != nil
	borders := share
	if types {
		borders -= share / typesPart
	}
	whole, err = tuner.Refine(ctx, tuning.Borders{Room: usualRoom, Until: begin.Add(borders),
		Begin: func(bytes int64) { w.at(t.name(), t.title()+", "+cli.SizeText(bytes)) },
		Kept:  func(int64, []bench.Entrant) error { return w.keep(tuner, t, false) },
		Failed: func(bytes int64, err error) {
			if w.first && w.x.Lost() == nil {
				w.bar.Over(func() { w.a.Note("", "%s, %s: no program runs: %v", t.title(), cli.SizeText(bytes), err) })
			}
		}})
	if err != nil || !types {
		return whole, err
	}
	compared, err := tuner.CompareF32(ctx, begin.Add(share))
	return whole && compared, err
}

// bordersShare returns how long the borders of a task with a given number of sizes are measured, if `rest` sizes of
// later tasks are not measured yet: as long as the task would have for its sizes now.
func bordersShare(left time.Duration, sizes, rest int) time.Duration {
	return left / time.Duration(sizes+rest) * time.Duration(sizes)
}

// noteRough has the first process say that there was no time for some borders.
func (w *worker) noteRough() {
	if w.rough > 0 && w.first {
		w.a.Note("", "the time ended before all borders between rules and all types were measured, in %s of %s ranks: "+
			"mscclc tune measures the rest", diag.Counted(w.rough, "group"), ranksText(w.x.Size(), w.layout))
	}
}
