package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A Judgement is how what was chosen for a call stands beside all else that was measured for it.
type Judgement struct {
	Chosen, Best Tried // Best is Chosen where nothing was faster
	Tried        int   // forms, of whatever width
}

// Ratio returns how many times as long as the best the chosen form takes, at least 1.
func (j *Judgement) Ratio() float64 { return j.Chosen.Micros / j.Best.Micros }

// Rounds of the finals, and forms in these beside the chosen one.
const (
	judgeRounds    = 5
	judgeFinalists = 4
)

// Judge measures what was chosen for a call beside other forms, of each of which it looks for the width that suits it
// as long as Within lasts and Most measurements are left. The fastest and the chosen one then run in turns, in the same
// queues, and the medians of their rounds count: what drifts meanwhile drifts for all. Only what computes the right
// result is the best.
func (s *Search) Judge(ctx context.Context, c *Call, chosen *Form, forms []*Form) (*Judgement, error) {
	t := &search{Search: s, call: c, left: max(s.Most, len(forms)+1), seen: map[Form]bool{}}
	first, err := t.measure(ctx, append([]*Form{chosen}, forms...))
	if err != nil {
		return nil, err
	}
	if s.Within > 0 {
		t.until = time.Now().Add(s.Within)
	}
	near, err := t.spread(ctx, first)
	if err != nil {
		return nil, err
	}
	for _, lead := range leaders(near) {
		if err := t.climb(ctx, lead); err != nil {
			return nil, err
		}
	}
	return t.finals(ctx, chosen)
}

// finals has the chosen form and the fastest others run in turns.
func (t *search) finals(ctx context.Context, chosen *Form) (*Judgement, error) {
	list, err := t.finalists(ctx, chosen)
	if err != nil {
		return nil, err
	}
	times := make([][]time.Duration, len(list))
	for round := range judgeRounds {
		for k := range list {
			i := (k + round) % len(list) // nobody always follows the same one
			_, took, err := t.one(ctx, &list[i].Form)
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err != nil {
				return nil, fmt.Errorf("%s ran before, and not again: %w", list[i].Name, err)
			}
			times[i] = append(times[i], took)
		}
	}
	for i := range list {
		list[i].Micros = us(median(times[i]))
		t.report(list[i], true)
	}
	j := &Judgement{Chosen: list[0], Tried: len(t.tried)}
	slices.SortStableFunc(list, faster)
	for _, f := range list {
		err := t.right(ctx, &f.Form)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err == nil && j.Best.Micros == 0 {
			j.Best = f
		}
		if f == j.Chosen {
			return j, err
		}
	}
	return j, nil
}

// finalists returns the chosen form, as wide as it is made, and the fastest others.
func (t *search) finalists(ctx context.Context, chosen *Form) ([]Tried, error) {
	wide, took, err := t.one(ctx, chosen)
	if err != nil {
		return nil, fmt.Errorf("what is chosen, %s: %w", chosen.Name, err)
	}
	list := []Tried{{*wide, us(took)}}
	slices.SortStableFunc(t.tried, faster)
	for _, f := range t.tried {
		if len(list) <= judgeFinalists && !slices.ContainsFunc(list, func(o Tried) bool { return o.Form == f.Form }) {
			list = append(list, f)
		}
	}
	return list, nil
}

// report calls Seen with a measurement.
func (s *Search) report(t Tried, final bool) {
	if s.Seen != nil {
		s.Seen(t, final)
	}
}
