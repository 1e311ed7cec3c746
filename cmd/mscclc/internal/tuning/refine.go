package tuning

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/executor/exchange"
)

// This file measures sizes between those that a search has measured, so that rules end and begin where they are known.

// near is how many times as fast as NCCL a program is at most whose range is measured more closely: between two sizes,
// it may lose what it wins at both.
const near = 1.3

// Borders says how Refine measures.
type Borders struct {
	Room  int64                                          // of a rank's arena, for the rules whose borders are measured
	Until time.Time                                      // no size is begun after that; zero: there is no end
	Begin func(bytes int64)                              // called before each size, unless nil
	Kept  func(bytes int64, found []bench.Entrant) error // called after each size, unless nil

	// Failed is called for each size where no form runs, unless nil. Nothing is measured between its neighbours.
	Failed func(bytes int64, err error)
}

// Refine measures the power of two in the middle of two neighbours whose rules differ, or where NCCL is near, until no
// power of two lies between such neighbours. It measures the forms that run calls of both. So a rule ends at a size
// where it won, and lost at the next power of two. whole reports whether the time was enough for that.
func (t *Tuner) Refine(ctx context.Context, b Borders) (whole bool, err error) {
	failed := map[int64]bool{}
	for {
		next := t.gap(b.Room, failed)
		if next == nil {
			return true, nil
		}
		if over, err := t.over(ctx, b.Until); err != nil || over {
			return false, err
		}
		bytes := next.call.Bytes()
		if b.Begin != nil {
			b.Begin(bytes)
		}
		found, err := t.contest.Again(ctx, next.call, next.forms)
		switch {
		case err != nil && (ctx.Err() != nil || errors.Is(err, exchange.ErrEnd)):
			return false, err
		case err != nil:
			failed[bytes] = true
			if b.Failed != nil {
				b.Failed(bytes, err)
			}
			continue
		}
		t.put(bytes, found)
		if b.Kept != nil {
			if err := b.Kept(bytes, found); err != nil {
				return false, err
			}
		}
	}
}

// over reports whether a time has passed in some process. Zero never passes.
func (t *Tuner) over(ctx context.Context, until time.Time) (bool, error) {
	if until.IsZero() {
		return false, nil
	}
	return t.Site.Any(ctx, time.Now().After(until))
}

// The reasons to measure between two sizes, the most important first.
const (
	otherProgram = iota // another program runs the calls, or NCCL does
	nearNCCL            // NCCL may be faster between them
	otherWidth          // the same program runs the calls in other widths, of which none is as fast for both
	numReasons          // there is none
)

// A gap is a call between two sizes, and the forms that run calls of these.
type gap struct {
	call  *bench.Call
	forms []*bench.Form
}

// gap returns what is to be measured next, or nil: the first gap of those with the most important reason, without sizes
// that failed.
func (t *Tuner) gap(room int64, failed map[int64]bool) (next *gap) {
	taken, least := t.taken(room), numReasons
	for i := range len(t.Sizes) - 1 {
		a, b := t.Sizes[i].Bytes, t.Sizes[i+1].Bytes
		c := t.sized(powerBetween(a, b))
		if c.Bytes() <= a || c.Bytes() >= b || failed[c.Bytes()] {
			continue // no power of two lies between, or it failed
		}
		if why := t.reason(i, taken); why < least {
			next, least = &gap{c, t.beside(i, taken)}, why
		}
	}
	return next
}

// powerBetween returns the power of two in the middle of two sizes, as the logarithm goes. If powers of two lie between
// them, it is one of these.
func powerBetween(a, b int64) int64 {
	return int64(1) << int(math.Round((math.Log2(float64(a))+math.Log2(float64(b)))/2))
}

// A takenForms has what runs calls by rules, by launch and size: a form, or nil where NCCL does.
type takenForms [bench.NumLaunches][]*bundle.Timed

// taken returns what runs calls by rules whose programs take up to room bytes of a rank's arena.
func (t *Tuner) taken(room int64) (list takenForms) {
	sizes := t.Sizes
	if t.Ordered {
		sizes = bundle.WithoutNCCL(sizes)
	}
	eager, captured := bundle.Merge(t.coll.Kind.String(), t.coll.Ranks, sizes, room)
	for how, rules := range [bench.NumLaunches][]bundle.MeasuredRule{bench.Captured: captured, bench.Plain: eager} {
		for i := range t.Sizes {
			s := &t.Sizes[i]
			k := slices.IndexFunc(rules, func(r bundle.MeasuredRule) bool { return r.UpTo == 0 || s.Bytes <= r.UpTo })
			var form *bundle.Timed
			if f := slices.IndexFunc(s.Forms, func(f bundle.Timed) bool { return f.Choice == rules[k].Choice }); f >= 0 {
				form = &s.Forms[f]
			}
			list[how] = append(list[how], form)
		}
	}
	return list
}

// reason returns why to measure between sizes i and i + 1.
func (t *Tuner) reason(i int, taken takenForms) int {
	why, a, b := numReasons, &t.Sizes[i], &t.Sizes[i+1]
	for how := range taken {
		f, g := taken[how][i], taken[how][i+1]
		switch {
		case f == nil && g == nil:
		case f == nil || g == nil || f.Plain() != g.Plain():
			return otherProgram
		case !a.Serves(g.Choice, how, f.Micros[how]) && !b.Serves(f.Choice, how, g.Micros[how]):
			why = min(why, otherWidth)
		}
		if !t.Ordered && mayLose(a.Gain(how), b.Gain(how)) {
			why = min(why, nearNCCL)
		}
	}
	return why
}

// mayLose reports whether the best program may lose between two sizes, of which it has these gains over NCCL.
func mayLose(a, b float64) bool {
	if a == 0 || b == 0 || a < 1/near && b < 1/near { // NCCL was not measured, or wins clearly
		return false
	}
	return a < near || b < near
}

// beside returns the forms that run calls of sizes i and i + 1, and the fastest there. Those run the calls where
// programs have more memory, and may win between where NCCL runs them.
func (t *Tuner) beside(i int, taken takenForms) (list []*bench.Form) {
	add := func(f *bundle.Timed) {
		form := t.formOf(f)
		if form != nil && !slices.ContainsFunc(list, func(o *bench.Form) bool { return *o == *form }) {
			list = append(list, form)
		}
	}
	for how := range taken {
		for k := i; k <= i+1; k++ {
			if f := taken[how][k]; f != nil {
				add(f)
			}
			add(t.Sizes[k].Ranked(how)[0])
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
