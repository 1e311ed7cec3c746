package choose

import (
	"cmp"
	"math"
	"slices"
)

// A ranking is what one size shows of all forms, roughly.
type ranking struct {
	*Selector
	bytes int64
	seen  []past
	all   []timed // infinitely long where a form was left out
	errs  []error
}

// simulate simulates what was near the best at the size before, and then what else may be, judged by the best of those.
// Which it leaves out does not depend on what ends first.
func (r *ranking) simulate() {
	var near []int
	for i := range r.seen {
		if r.seen[i].near(r.near()) {
			near = append(near, i)
		}
	}
	if r.many() {
		near = r.fewNear(near)
	}
	r.each(len(near), func(k int) { r.try(near[k]) })
	best := math.Inf(1)
	for _, i := range near {
		best = min(best, r.all[i].micros)
	}
	var others []int
	for i := range r.seen {
		p := &r.seen[i]
		if !p.near(r.near()) && !r.hopeless(i, best) && !r.forms[i].laned() {
			others = append(others, i)
		}
	}
	if !r.Exhaustive {
		r.inOrder(others)
		r.simulateLanes()
		return
	}
	// none waits for another to be compiled
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(r.forms[a].Instances, r.forms[b].Instances) })
	r.each(len(others), func(k int) { r.try(others[k]) })
	r.simulateLanes()
}

// near returns how many times as long as the best a form may take to be the first that is looked at for the next size.
func (r *ranking) near() float64 {
	if r.many() {
		return nearMany
	}
	return near
}

// hopeless reports whether form i was so far from the best that it is not looked at again at this size. A form in one
// lane does not stay behind where its program is tried in several lanes after it: that may be good in many lanes alone.
func (r *ranking) hopeless(i int, best float64) bool {
	p := &r.seen[i]
	behind := p.behind && !(r.bytes >= LanesFrom && r.hasLanes(i))
	return behind || p.micros > hopeless*best && r.bytes < seldom*p.bytes
}

// hasLanes reports whether form i is in one lane, and its program is tried in several, too.
func (r *ranking) hasLanes(i int) bool {
	return !r.forms[i].laned() && i+1 < len(r.forms) && r.forms[i+1].laned()
}

// try simulates a form in the width that suits it.
func (r *ranking) try(i int) {
	form := r.forms[i]
	if r.errs[i] = r.divides(form, r.bytes); r.errs[i] != nil {
		return
	}
	first := likely(r.tried(), r.bytes, r.Call.Ranks)
	if r.seen[i].micros > 0 && !form.laned() {
		first = slices.Index(r.tried(), max(r.seen[i].columns, 1))
	}
	widest := func() (timed, error) { return r.widest(form, r.bytes, first) }
	if p := &r.seen[i]; form.laned() && p.micros > 0 && r.many() {
		widest = func() (timed, error) {
			return r.lanedFrom(form, r.bytes, lanedAt(Variant{Columns: p.columns, Tile: p.tile}))
		}
	}
	if t, err := widest(); err == nil {
		r.all[i] = t
	} else {
		r.errs[i] = err
	}
}
