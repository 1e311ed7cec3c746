package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// A Contest measures forms of calls beside NCCL, each as graphs launch it and as launches one by one do. It looks for
// few widths of each form, since it is for programs that may have few CTAs.
type Contest struct {
	Site   EagerSite
	Rivals func(ctx context.Context, c *Call) ([]Op, error) // NCCL's: by graphs, and one by one; nil: NCCL is not measured
	Coarse Measuring                                        // of the search
	Fine   Measuring                                        // of the forms that it leaves
	Most   int                                              // measurements of a search
	Within time.Duration                                    // that a search looks for widths; 0 is for ever

	// Brief has fewer forms be measured finely.
	Brief bool

	// Widths returns what a search of a form tries.
	Widths func(f *Form, c *Call) *Widths
	// InPlace returns f's program for calls in place, or nil where there are none.
	InPlace func(f *Form) *Form
}

// An EagerSite is a site that launches operations one by one beside others that it launches by graphs.
type EagerSite interface {
	Site
	// Eager returns op as an operation that is launched one by one. Closing it leaves op open.
	Eager(op Op) Op
}

// How a launch comes about: an index of times.
const (
	Captured = iota // by a graph
	Plain           // one by one
	NumLaunches
)

// An Entrant is a form with its times and NCCL's in microseconds, measured in turns. Both are indexed by how they were
// launched. NCCL's are 0 where it was not measured.
type Entrant struct {
	Form
	Micros, NCCL [NumLaunches]float64
}

// How many programs a contest searches widths of, how many forms it measures finely, and of how many of these it tries
// smaller tiles. Programs that take longer than near times the fastest have no widths, and no finals.
const (
	contestLeads  = 4
	contestFinals = 6
	contestTiles  = 2
	contestNear   = 1.5
	finalNear     = 1.12
	briefFinals   = 4 // of brief contests, and how many times shorter their tiles get
	briefShorter  = 4
)

// Run measures forms of c, as wide as they are given, and the fastest in other widths. It returns what it measured
// finely, the fastest by graphs first, and checked in both placements. It fails if no form runs and is right.
func (s *Contest) Run(ctx context.Context, c *Call, forms []*Form) ([]Entrant, error) {
	t := &search{Search: &Search{Site: s.Site, Measuring: s.Coarse}, call: c, left: s.Most, seen: map[Form]bool{}}
	if _, err := t.measure(ctx, forms); err != nil {
		return nil, err
	}
	if s.Within > 0 {
		t.until = time.Now().Add(s.Within)
	}
	for _, lead := range fastestPrograms(t.tried, contestLeads, contestNear) {
		t.Widths = s.Widths(&lead.Form, c)
		grid, err := t.measure(ctx, gridOf(&lead.Form, t.Widths))
		if err != nil {
			return nil, err
		}
		if err := t.climb(ctx, slices.MinFunc(append(grid, lead), faster)); err != nil {
			return nil, err
		}
	}
	list, err := s.finals(ctx, t)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b Entrant) int { return cmp.Compare(a.Micros[Captured], b.Micros[Captured]) })
	return list, nil
}

// fastestPrograms returns the fastest form of each of the `most` fastest programs, within a factor of the fastest.
func fastestPrograms(tried []Tried, most int, within float64) (list []Tried) {
	sorted := slices.SortedStableFunc(slices.Values(tried), faster)
	for _, f := range sorted {
		if len(list) == most || f.Micros > within*sorted[0].Micros {
			break
		}
		if !slices.ContainsFunc(list, func(o Tried) bool { return o.Program == f.Program }) {
			list = append(list, f)
		}
	}
	return list
}

// finals measures the fastest forms finely. Where all fail or are wrong, it goes on without their programs.
func (s *Contest) finals(ctx context.Context, t *search) (list []Entrant, err error) {
	for len(list) == 0 && len(t.tried) > 0 {
		if list, err = s.finely(ctx, t, s.finalists(t), s.final); err != nil {
			return nil, err
		}
	}
	return some(t, list)
}

// Again measures forms of c finely beside NCCL that were right in calls of other sizes, without a search. It returns
// those that run, and fails if none does.
func (s *Contest) Again(ctx context.Context, c *Call, forms []*Form) ([]Entrant, error) {
	t := &search{Search: &Search{Site: s.Site, Measuring: s.Coarse}, call: c, seen: map[Form]bool{}}
	list, err := s.finely(ctx, t, forms, s.timed)
	if err != nil {
		return nil, err
	}
	return some(t, list)
}

// finely measures forms, without those that fail. The programs of these are tried no more.
func (s *Contest) finely(ctx context.Context, t *search, forms []*Form,
	measure func(context.Context, *search, *Form) (Entrant, error)) (list []Entrant, err error) {
	for _, f := range forms {
		e, err := measure(ctx, t, f)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if ends(err) {
			return nil, err
		}
		if err != nil {
			t.why = errors.Join(t.why, err)
			t.tried = slices.DeleteFunc(t.tried, func(o Tried) bool { return o.Program == f.Program })
			continue
		}
		list = append(list, e)
	}
	return list, nil
}

// some returns list, and an error if it is empty.
func some(t *search, list []Entrant) ([]Entrant, error) {
	if len(list) > 0 {
		return list, nil
	}
	if t.why == nil {
		return nil, errors.New("there is nothing to measure")
	}
	return nil, t.why
}

// finalists returns the fastest form of each near program, the fastest forms of any, and some of these in smaller
// tiles, which take less memory.
func (s *Contest) finalists(t *search) []*Form {
	finals, shorter := contestFinals, int64(math.MaxInt64)
	if s.Brief {
		finals, shorter = briefFinals, briefShorter
	}
	list := fastestPrograms(t.tried, finals-2, finalNear)
	for _, f := range slices.SortedStableFunc(slices.Values(t.tried), faster) {
		if len(list) < finals && f.Micros <= finalNear*list[0].Micros && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	var forms []*Form
	add := func(f Form) {
		if !slices.ContainsFunc(forms, func(o *Form) bool { return *o == f }) {
			forms = append(forms, &f)
		}
	}
	for _, f := range list {
		add(f.Form)
	}
	for _, f := range list[:min(len(list), contestTiles)] {
		for _, tile := range s.Widths(&f.Form, t.call).Tiles {
			if tile < f.Choice.Tile && f.Choice.Tile/tile <= shorter {
				g := f.Form
				g.Choice.Tile = tile
				add(g)
			}
		}
	}
	return forms
}

// gridOf returns f in all replicas and threads of w.
func gridOf(f *Form, w *Widths) (list []*Form) {
	for _, replicas := range w.Replicas {
		for _, threads := range w.Threads {
			g := *f
			g.Choice.Replicas, g.Choice.Threads = int(replicas), int(threads)
			list = append(list, &g)
		}
	}
	return list
}

// final checks f out of place and in place, and measures it finely beside NCCL.
func (s *Contest) final(ctx context.Context, t *search, f *Form) (e Entrant, err error) {
	if err := t.right(ctx, f); err != nil {
		return e, err
	}
	if in := s.InPlace(f); in != nil {
		if err := s.rightInPlace(ctx, t, in); err != nil {
			return e, err
		}
	}
	return s.timed(ctx, t, f)
}

// timed measures f finely beside NCCL.
func (s *Contest) timed(ctx context.Context, t *search, f *Form) (e Entrant, err error) {
	op, err := s.Site.Ready(ctx, f, t.call)
	if err != nil {
		return e, err
	}
	defer func() { err = closed(ctx, s.Site, op, err) }()
	ops := []Op{op, s.Site.Eager(op)}
	if s.Rivals != nil {
		rivals, err := s.Rivals(ctx, t.call)
		if err != nil {
			return e, err
		}
		ops = append(ops, rivals...)
	}
	samples, err := s.Site.Measure(ctx, ops, s.Fine, nil)
	if err != nil {
		return e, err
	}
	e.Form = *f
	for i, sample := range samples {
		if i < NumLaunches {
			e.Micros[i] = us(sample.Time)
		} else if i < 2*NumLaunches {
			e.NCCL[i-NumLaunches] = us(sample.Time)
		}
	}
	return e, nil
}

// rightInPlace checks f in a call in place that is like t's.
func (s *Contest) rightInPlace(ctx context.Context, t *search, f *Form) error {
	c := *t.call
	c.Coll = Whole(c.Coll, true)
	in := *t
	in.call = &c
	if err := in.right(ctx, f); err != nil {
		return fmt.Errorf("in place: %w", err)
	}
	return nil
}
