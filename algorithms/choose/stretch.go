package choose

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"mscclc/selection"
	"mscclc/simulate"
)

// A Stretch is a range of sizes, from From to below To, 0 being all above, that one program is the fastest for. The
// first begins at 0: what is fastest at the first size that was asked for is taken below it too. A compiled program of
// the user's that is for some sizes is taken for no others, at either end.
type Stretch struct {
	From, To int64
	At       int64   // the first of its sizes that was asked for
	Form             // with the replicas there
	Micros   float64 // at At, by the selector's figure
	Latency  float64 // there, of a call alone
	Interval float64 // there, of calls that follow each other; 0 where the program is too large to be simulated twice
	Next     Form    // the fastest other program there
	Ratio    float64 // how many times as long that takes; Reason says why where it is less
	Reason   string  // why it begins where it does, and why others that are faster do not
	Widths   []Width // the replicas that suit its sizes, ascending
}

// A Width is how many replicas, and with several lanes which tile, suit sizes from From on, and the interval of such
// calls, as Stretch has it.
type Width struct {
	From     int64
	Replicas int
	Tile     int64
	Interval float64
}

// same is how many times as long as the fastest a program may take that was the fastest for smaller calls, and stays.
const same = 1.02

// Sizes says what is fastest at some sizes, which ascend, and where one gives way to the next.
func (s *Selector) Sizes(sizes []int64) ([]Stretch, error) {
	forms, _ := s.list()
	seen := make([]past, len(forms))
	ranked := make([][]timed, len(sizes))
	for i, bytes := range sizes {
		var err error
		if ranked[i], err = s.rank(bytes, seen); err != nil {
			return nil, err
		}
		if s.Stepped != nil {
			s.Stepped()
		}
	}
	picked := picks(ranked)
	joined := s.Most > 0 && changes(picked) > s.Most
	if joined {
		s.fill(ranked, sizes, picked)
		picked = fewest(ranked, s.Most)
	}
	var list []Stretch
	for i := 0; i < len(picked); {
		t, first := picked[i], i
		at := Stretch{At: sizes[i], Form: t.Form, Micros: t.micros}
		at.Next, at.Ratio = runnerUp(ranked[i], t)
		var reasons []string
		if n := len(list); n > 0 {
			before := &list[n-1]
			last, wide := before.Form, before.Widths[len(before.Widths)-1]
			last.Replicas, last.Tile = wide.Replicas, wide.Tile
			at.From = s.boundary(last, t.Form, sizes[i-1], sizes[i])
			if why := s.reason(before.Form, t.Form, sizes[i]); why != "" {
				reasons = append(reasons, why)
			}
			before.To = at.From
		}
		var err error
		if at.Latency, at.Interval, err = s.both(t.Form, at.At); err != nil {
			return nil, err
		}
		at.Widths = []Width{{at.From, t.Replicas, t.Tile, at.Interval}}
		for i++; i < len(picked) && picked[i].program() == t.program(); i++ {
			if err := s.widen(&at, sizes[i], picked[i]); err != nil {
				return nil, err
			}
		}
		if despite := s.despite(&at, ranked[first:i], joined); despite != "" {
			reasons = append(reasons, despite)
		}
		at.Reason = strings.Join(reasons, "; ")
		list = append(list, at)
	}
	first, last := &list[0], &list[len(list)-1]
	first.From = s.sizesOf(first.Form).Min
	first.Widths[0].From = first.From
	last.To = s.sizesOf(last.Form).Max
	return list, nil
}

// A Standing is how a user's program stands at the first size of a stretch that was asked for.
type Standing struct {
	At                int64
	Form                      // its fastest, with the replicas that suit it
	Latency, Interval float64 // as Stretch has them
	Ratio             float64 // how many times as long as the stretch's program it takes; 1 is that program
	Err               error   // why it does not run there
}

// Standings returns the standings of all of the user's programs at a stretch, in their order.
func (s *Selector) Standings(r *Stretch) (list []Standing, err error) {
	for _, o := range s.Own {
		at := Standing{At: r.At, Form: Form{Choice: selection.Choice{Program: o.Name}}}
		at.Err = fmt.Errorf("%s has no form that %s runs", o.Name, s.Target.Name)
		best, listed := math.Inf(1), 0
		for _, f := range s.forms {
			if f.Program != o.Name {
				continue
			}
			if listed++; listed == 1 {
				at.Form = f
			}
			err := s.divides(f, r.At)
			var t outcome
			if err == nil {
				f, t, err = s.fastest(f, r.At)
			}
			if err != nil && math.IsInf(best, 1) {
				at.Err = err
			} else if err == nil && t.micros < best {
				best, at.Form, at.Err = t.micros, f, nil
			}
		}
		if at.Err == nil {
			at.Ratio = best / r.Micros
			if at.Latency, at.Interval, err = s.both(at.Form, r.At); err != nil {
				return nil, err
			}
		}
		list = append(list, at)
	}
	return list, nil
}

// despite says why r's program is taken although another one is faster, if one is.
func (s *Selector) despite(r *Stretch, ranked [][]timed, joined bool) string {
	most := 1.
	for _, of := range ranked {
		at := slices.IndexFunc(of, func(t timed) bool { return t.program() == r.program() })
		most = max(most, of[at].micros/slices.MinFunc(of, faster).micros)
	}
	switch {
	case joined && most > same:
		return fmt.Sprintf("ranges were joined, to be %d at most: for some of these sizes another program is %.2fx as fast",
			s.Most, most)
	case r.Ratio >= 1 || r.Ratio == 0:
		return ""
	case s.Differs(r.Next) && !s.Differs(r.Form):
		return "all ranks end with the same bits, and those of the second may not"
	}
	return fmt.Sprintf("the second is faster, but within %.0f %%", 100*same-100)
}

// widen has sizes of r from bytes on run as wide as t.
func (s *Selector) widen(r *Stretch, bytes int64, t timed) error {
	if last := r.Widths[len(r.Widths)-1]; last.Replicas == t.Replicas && last.Tile == t.Tile {
		return nil
	}
	_, interval, err := s.both(t.Form, bytes)
	r.Widths = append(r.Widths, Width{bytes, t.Replicas, t.Tile, interval})
	return err
}

// both returns the two figures of a form for a size: its latency, and its interval, or 0 where that is not known.
func (s *Selector) both(f Form, bytes int64) (latency, interval float64, err error) {
	alone, err1 := s.outcome(f, bytes, simulate.Latency, s.Rough)
	following, err2 := s.outcome(f, bytes, simulate.Interval, s.Rough)
	if following.interval {
		interval = following.micros
	}
	return alone.micros, interval, errors.Join(err1, err2)
}

// runnerUp returns the fastest program but t's own, but the same in other packets of equal cost, and but both in
// several lanes.
func runnerUp(list []timed, t timed) (Form, float64) {
	for _, o := range list {
		if o.Program == t.Program && o.Several() && t.Several() {
			continue
		}
		if o.program() != t.program() && (o.Program != t.Program || o.Instances != t.Instances || o.micros != t.micros) {
			return o.Form, o.micros / t.micros
		}
	}
	return Form{}, 0
}

// closeSizes is how many times as large a size is at most that is close to another one.
const closeSizes = 2

// boundary returns the size from which b is faster than a, which is between two sizes, to 6 %. Between sizes that are
// close, both keep the replicas that suit these.
func (s *Selector) boundary(a, b Form, below, above int64) int64 {
	if b.Several() {
		below = min(max(below, LanesFrom), above)
	}
	// a file of the user's is for its sizes only
	if end := s.sizesOf(a).Max; end > below {
		above = min(above, end)
	}
	below = min(max(below, s.sizesOf(b).Min), above)
	took := func(f Form, bytes int64) (outcome, error) { return s.outcome(f, bytes, s.By, s.Rough) }
	if above > closeSizes*below {
		took = func(f Form, bytes int64) (outcome, error) {
			_, o, err := s.fastest(f, bytes)
			return o, err
		}
	}
	for range 4 {
		middle := int64(math.Sqrt(float64(below) * float64(above)))
		middle -= middle % 16
		if middle <= below || middle >= above {
			break
		}
		var of [2]outcome
		var errs [2]error
		s.each(2, func(i int) { of[i], errs[i] = took([2]Form{a, b}[i], middle) })
		if errors.Join(errs[:]...) != nil {
			break
		}
		if of[1].micros < of[0].micros {
			above = middle
		} else {
			below = middle
		}
	}
	return above
}
