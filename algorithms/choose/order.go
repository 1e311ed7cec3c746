package choose

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/selection"
	"mscclc/simulate"
)

// This file is the search that is not exhaustive. Forms are simulated in the order of the least times that they may
// take. It ends where the next of these is above the time of the best.

// slack is how many times as long as the best so far a form's least time may be: simulations of a size are rough first.
const slack = 1.02

// batch is how many forms are simulated at once. It depends on no machine, so that the same forms are left out on all.
const batch = 4

// How many times as long as the best all forms of a program may take so far for others of it to be looked at, where
// ranks are many; and how many times shorter than the best the least time of a program must be that takes long to
// compile.
const (
	worthOthers = 3
	worthHuge   = 4
	mostHuge    = 2 // such programs that are compiled
)

// inOrder simulates forms in the order of their least times. Those of programs that take long to compile come last.
func (r *ranking) inOrder(list []int) {
	least := make([]float64, len(r.forms))
	for _, i := range list {
		least[i] = r.least(r.forms[i], r.bytes)
	}
	slices.SortStableFunc(list, func(a, b int) int {
		return cmp.Or(cmp.Compare(least[a], least[b]), cmp.Compare(r.forms[a].Instances, r.forms[b].Instances))
	})
	var long []int
	list = slices.DeleteFunc(list, func(i int) bool {
		if r.huge(i) {
			long = append(long, i)
		}
		return r.huge(i)
	})
	for len(list) > 0 {
		now := list[:min(batch, len(list))]
		list = list[len(now):]
		best := r.best()
		now = slices.DeleteFunc(slices.Clone(now), func(i int) bool {
			return least[i] > slack*best || r.farOff(i, best) || r.cold(i)
		})
		r.eachOf(now, r.try)
	}
	r.inOrderHuge(long, least)
}

// inOrderHuge simulates few of a list of forms of programs that take long to compile, each in one width.
func (r *ranking) inOrderHuge(list []int, least []float64) {
	tried := 0
	for _, i := range list {
		f := r.forms[i]
		if f.Sided != selection.OneSided || f.Protocol != ir.Simple || tried == mostHuge || least[i]*worthHuge > r.best() ||
			r.divides(f, r.bytes) != nil {
			continue
		}
		tried++
		f.Replicas = r.tried()[simulate.Likely(r.tried(), r.bytes, r.Call.Ranks)]
		var t float64
		if t, r.errs[i] = r.time(f, r.bytes, true); r.errs[i] == nil {
			r.all[i] = timed{f, t}
		}
	}
}

// huge reports whether the program of form i takes long to compile.
func (r *ranking) huge(i int) bool { return r.shapes[r.forms[i].Program].Moved > huge }

// farOff reports whether all forms of form i's program that were simulated are far from the best.
func (r *ranking) farOff(i int, best float64) bool {
	if !r.many() {
		return false
	}
	own := math.Inf(1)
	for k := range r.all {
		if r.forms[k].Program == r.forms[i].Program {
			own = min(own, r.all[k].micros)
		}
	}
	return !math.IsInf(own, 1) && own > worthOthers*best
}

// How many times as long as the best a form may take in firstLanes to be tried in other lanes, and in some lanes to be
// tried with other copies of scratch, where ranks are many.
const (
	otherLanes  = 1.2
	otherCopies = 1.02
)

// many reports whether ranks are so many that few forms are looked at.
func (s *Selector) many() bool { return !s.Exhaustive && s.Call.Ranks > soonRanks }

// A lanesStep is forms of several lanes that are tried, each after another form of its program.
type lanesStep struct {
	takes func(l selection.InLanes) bool
	after func(l selection.InLanes) selection.InLanes
	worth float64 // how many times as long as the best that other form may take
	most  int     // forms that are tried, or 0
}

// lanesSteps returns the steps, in their order.
func (r *ranking) lanesSteps() [3]lanesStep {
	steps := [3]lanesStep{
		{func(l selection.InLanes) bool { return l.Lanes == firstLanes && l.Copies == 0 },
			func(selection.InLanes) selection.InLanes { return selection.InLanes{} }, worthLanes, 0},
		{func(l selection.InLanes) bool { return l.Copies == 0 },
			func(selection.InLanes) selection.InLanes { return selection.InLanes{Lanes: firstLanes} }, near, 0},
		{func(l selection.InLanes) bool { return l.Copies > 0 },
			func(l selection.InLanes) selection.InLanes { return selection.InLanes{Lanes: l.Lanes} }, nearCopies, 0},
	}
	if r.many() {
		steps[1].worth, steps[2].worth, steps[2].most = otherLanes, otherCopies, batch
	}
	return steps
}

// lanesInOrder is simulateLanes where the search is not exhaustive: of the programs that are fastest so far first.
func (r *ranking) lanesInOrder() {
	if r.bytes < LanesFrom {
		return
	}
	for _, step := range r.lanesSteps() {
		after := func(i int) int { return r.inLanes(i, step.after(r.forms[i].InLanes)) }
		took := func(i int) float64 { return r.all[after(i)].micros }
		var list []int
		for i, f := range r.forms {
			if f.Several() && step.takes(f.InLanes) && (!r.huge(i) || f.InLanes == selection.InLanes{Lanes: firstLanes}) &&
				!math.IsInf(took(i), 1) && math.IsInf(r.all[i].micros, 1) {
				list = append(list, i)
			}
		}
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(took(a), took(b)) })
		if step.most > 0 {
			list = list[:min(step.most, len(list))]
		}
		for before := r.best(); len(list) > 0; {
			best := r.best()
			if r.many() {
				before = best
			}
			now := slices.Clone(list[:min(batch, len(list))])
			list = list[len(now):]
			now = slices.DeleteFunc(now, func(i int) bool {
				return took(i) > step.worth*before || r.hopeless(i, before) || r.cold(i) ||
					r.least(r.forms[i], r.bytes) > slack*best
			})
			width := r.likelyWidth()
			r.each(len(now), func(k int) { r.tryLike(now[k], after(now[k]), width) })
		}
	}
}

// cold reports whether form i was not near the best at a size that is not much smaller, where ranks are many.
func (r *ranking) cold(i int) bool {
	p := &r.seen[i]
	return r.many() && p.micros > 0 && p.ratio > otherLanes && r.bytes < warm*p.bytes
}

// warm is how many times as large a size is for which a form that was not near the best is looked at again.
const warm = 4

// likelyWidth returns the width that forms of several lanes are tried with first: where ranks are many, that of the
// fastest one so far of this size, or else of the size before.
func (r *ranking) likelyWidth() [2]int {
	at, best := [2]int{firstReplica, firstTile}, math.Inf(1)
	if !r.many() {
		return at
	}
	for i := range r.all {
		if t := &r.all[i]; t.Several() && t.micros < best {
			at, best = lanedAt(t.Choice), t.micros
		}
	}
	if math.IsInf(best, 1) {
		for i := range r.seen {
			if p := &r.seen[i]; r.forms[i].Several() && p.micros > 0 && p.ratio < best {
				at, best = lanedAt(selection.Choice{Width: launch.Width{Replicas: p.replicas, Tile: p.tile}}), p.ratio
			}
		}
	}
	return at
}

// tryLike simulates form i, of several lanes, from a width on. Where ranks are many, it begins with that of another
// form, if this one has several lanes.
func (r *ranking) tryLike(i, before int, at [2]int) {
	form := r.forms[i]
	if r.errs[i] = r.divides(form, r.bytes); r.errs[i] != nil {
		return
	}
	if r.asUsual(i) {
		return
	}
	if like := r.all[before].Form; like.Several() && r.many() {
		at = lanedAt(like.Choice)
	}
	if r.huge(i) {
		form.Replicas, form.Tile = lanedReplicas[at[0]], lanedTiles[at[1]]
		var t float64
		if t, r.errs[i] = r.time(form, r.bytes, true); r.errs[i] == nil {
			r.all[i] = timed{form, t}
		}
		return
	}
	if t, err := r.lanedFrom(form, r.bytes, at); err == nil {
		r.all[i] = t
	} else {
		r.errs[i] = err
	}
}

// nearMany is how many times as long as the best a form may take roughly to be simulated well where ranks are many.
// mostWell is how many forms of a program in lanes are, with the usual copies of scratch, and as many with others.
const (
	nearMany = 1.15
	mostWell = 3
)

// fewNear returns those of a list of forms that few would keep by what the size before has shown of them.
func (r *ranking) fewNear(list []int) (kept []int) {
	before := make([]timed, len(list))
	for k, i := range list {
		before[k] = timed{r.forms[i], r.seen[i].ratio}
	}
	for _, t := range few(before) {
		kept = append(kept, slices.Index(r.forms, t.Form))
	}
	return kept
}

// few returns what is simulated well of a list: of the forms of a program in lanes the fastest, and with other copies
// of scratch only what is faster for it.
func few(list []timed) (kept []timed) {
	type family struct {
		program string
		copied  bool
	}
	slices.SortStableFunc(list, faster)
	of := map[family]int{}
	usual := map[Form]float64{}
	for _, t := range list {
		if t.Several() && t.Copies == 0 {
			usual[t.Form] = t.micros
		}
	}
	for _, t := range list {
		if t.Several() {
			like := t.Form
			like.Copies = 0
			if micros, ok := usual[like]; ok && t.Copies > 0 && t.micros >= counts*micros {
				continue
			}
			is := family{t.Program, t.Copies > 0}
			if of[is]++; of[is] > mostWell {
				continue
			}
		}
		kept = append(kept, t)
	}
	return kept
}

// confirmFew simulates the forms of a sorted list well, in the widths that they have, until the next is not near the
// best.
func (s *Selector) confirmFew(list []timed, bytes int64) error {
	best, failed := math.Inf(1), make([]error, len(list))
	for next, first := 0, list[0].micros; next < len(list) && list[next].micros <= nearMany*min(best, first); {
		begin, end := next, next
		for end < min(next+batch, len(list)) && list[end].micros <= nearMany*min(best, first) {
			end++
		}
		s.each(end-begin, func(k int) {
			t := &list[begin+k]
			var o outcome
			o, failed[begin+k] = s.outcome(t.Form, bytes, s.By, false)
			t.micros = o.micros
		})
		for _, t := range list[begin:end] {
			best = min(best, t.micros)
		}
		next = end
	}
	return errors.Join(failed...)
}

// best returns the least time of all forms that were simulated so far, or infinity.
func (r *ranking) best() float64 {
	best := math.Inf(1)
	for i := range r.all {
		best = min(best, r.all[i].micros)
	}
	return best
}
