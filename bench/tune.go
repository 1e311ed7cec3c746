package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Search is what Tune looks for: the fastest of several forms of one call, and
// how wide it runs best.
type Search struct {
	Site      Site
	Measuring Measuring
	Fine      Measuring     // of the fastest at the end of Tune, if it has replays
	Most      int           // measurements of one call
	Within    time.Duration // that Tune looks at one call, and Judge for widths of one; 0 is for ever

	Widths *Widths // that Tune and Contest look among; nil: the usual ones

	// Seen, where not nil, is called with each measurement, and whether it was one of Judge's finals.
	Seen func(t Tried, final bool)
}

// assured are the forms that Tune measures whatever time it has.
const assured = 8

// A Tried is a form that was measured.
type Tried struct {
	Form
	Micros float64
}

// Tune returns the forms that were measured for a call, the fastest first (see ranked), whose
// results were checked. Forms begin with the most likely, as wide as they say. A
// form that fails is left out, and why is what failed where all do. Where Within ends before, some forms were not
// measured, but the first few were.
func (s *Search) Tune(ctx context.Context, c *Call, forms []*Form) ([]Tried, error) {
	t := &search{Search: s, call: c, left: s.Most, seen: map[Form]bool{}}
	n, begin := min(len(forms), assured), time.Now()
	first, err := t.measure(ctx, forms[:n])
	if err != nil {
		return nil, err
	}
	if s.Within > 0 {
		t.until = begin.Add(s.Within)
	}
	more, err := t.measure(ctx, forms[n:])
	if err != nil {
		return nil, err
	}
	first = append(first, more...)
	if first, err = t.spread(ctx, first); err != nil {
		return nil, err
	}
	for _, lead := range leaders(first) {
		if err := t.climb(ctx, lead); err != nil {
			return nil, err
		}
	}
	return t.finish(ctx)
}

// leaders returns the forms whose widths are worth looking for.
func leaders(tried []Tried) []Tried {
	const within, most = 1.5, 4
	sorted := slices.SortedFunc(slices.Values(tried), faster)
	n := 0
	for n < len(sorted) && n < most && sorted[n].Micros <= within*sorted[0].Micros {
		n++
	}
	return sorted[:n]
}

func faster(a, b Tried) int { return cmp.Compare(a.Micros, b.Micros) }

// wander is how much measurements of one form differ: what is better by less is not faster.
const wander = 0.01

// ranked sorts what was tried, the fastest first; of those as fast as it, that of the smallest tiles: launches that
// follow each other hide what a call between others pays, that its first tile comes before anything is reduced, and its
// last before the end.
func ranked(tried []Tried) {
	slices.SortStableFunc(tried, faster)
	n := 0
	for n < len(tried) && tried[n].Micros <= (1+wander)*tried[0].Micros {
		n++
	}
	slices.SortStableFunc(tried[:n], func(a, b Tried) int { return cmp.Compare(a.Choice.Tile, b.Choice.Tile) })
}

type search struct {
	*Search
	call  *Call
	left  int       // measurements
	until time.Time // that there are more of
	seen  map[Form]bool
	tried []Tried
	why   error
}

// measure measures the forms that were not yet, as long as some are left. One is
// ready at a time: several might have no room on a device together, and would be
// slower for it.
func (t *search) measure(ctx context.Context, forms []*Form) (found []Tried, err error) {
	for _, f := range forms {
		if t.seen[*f] || t.left == 0 {
			continue
		}
		if over, err := t.over(ctx); err != nil {
			return nil, err
		} else if over {
			break
		}
		t.seen[*f] = true
		t.left--
		wide, took, err := t.one(ctx, f)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if ends(err) {
			return nil, err
		}
		if err != nil {
			t.why = errors.Join(t.why, fmt.Errorf("%s: %w", f.Name, err))
			continue
		}
		t.seen[*wide] = true
		found = append(found, Tried{*wide, us(took)})
		t.report(found[len(found)-1], false)
	}
	t.tried = append(t.tried, found...)
	return found, nil
}

// over reports whether the time of the search has passed in some process.
func (t *search) over(ctx context.Context) (bool, error) {
	if t.until.IsZero() {
		return false, nil
	}
	return t.Site.Any(ctx, time.Now().After(t.until))
}

// one measures a form, and gives it as wide as the executor made it.
func (t *search) one(ctx context.Context, f *Form) (wide *Form, took time.Duration, err error) {
	op, err := t.Site.Ready(ctx, f, t.call)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = closed(ctx, t.Site, op, err) }()
	samples, err := t.Site.Measure(ctx, []Op{op}, t.Measuring, nil)
	if err != nil {
		return nil, 0, err
	}
	known := *f
	if o, ok := op.(interface{ width(f *Form) }); ok {
		o.width(&known)
	}
	return &known, samples[0].Time, nil
}

// spread has the best of each form's own width and of those that searches begin at. What is much slower at its
// own may win at another, so that much is forgiven.
func (t *search) spread(ctx context.Context, first []Tried) (list []Tried, err error) {
	const within = 4
	slices.SortStableFunc(first, faster)
	for _, at := range first {
		if at.Program.OneSided == nil || at.Micros > within*first[0].Micros {
			list = append(list, at)
			continue
		}
		var forms []*Form
		for _, w := range cmp.Or(t.Widths, usual).First {
			forms = append(forms, widened(at.Form, w))
		}
		found, err := t.measure(ctx, forms)
		if err != nil {
			return nil, err
		}
		list = append(list, slices.MinFunc(append(found, at), faster))
	}
	return list, nil
}

// climb goes from a form's width to the best of its neighbours, until none is
// better by what measurements wander.
func (t *search) climb(ctx context.Context, at Tried) error {
	if at.Program.OneSided == nil {
		return nil
	}
	for {
		found, err := t.measure(ctx, neighbours(&at.Form, cmp.Or(t.Widths, usual)))
		if err != nil || len(found) == 0 {
			return err
		}
		best := slices.MinFunc(found, faster)
		if best.Micros > (1-wander)*at.Micros {
			return nil
		}
		at = best
	}
}

// finish measures the fastest once more, together, and checks what they do.
func (t *search) finish(ctx context.Context) ([]Tried, error) {
	const finalists = 4
	ranked(t.tried)
	var last []*Form
	for i := range t.tried[:min(len(t.tried), finalists)] {
		last = append(last, &t.tried[i].Form)
	}
	if len(last) == 0 {
		return nil, t.why
	}
	if t.Fine.Replays > 0 {
		fine := *t.Search
		fine.Measuring = fine.Fine
		t.Search = &fine
	}
	t.seen, t.left, t.tried, t.until = map[Form]bool{}, finalists, nil, time.Time{}
	tried, err := t.measure(ctx, last)
	if err != nil {
		return nil, err
	}
	ranked(tried)
	for i, f := range tried {
		if err := t.right(ctx, &f.Form); err == nil {
			return append([]Tried{f}, slices.Delete(tried, i, i+1)...), nil
		} else if t.why = errors.Join(t.why, err); ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return nil, t.why
}

// right reports whether a form does what the collective asks.
func (t *search) right(ctx context.Context, f *Form) error {
	op, err := t.Site.Ready(ctx, f, t.call)
	if err != nil {
		return err
	}
	found, err := checked(ctx, t.Site, op, t.call)
	if err = closed(ctx, t.Site, op, err); err == nil && (found.Wrong > 0 || found.Outside > 0) {
		err = fmt.Errorf("%s: %d of %d elements are wrong, %d buffers were written outside", f.Name, found.Wrong,
			found.Checked, found.Outside)
	}
	return err
}
