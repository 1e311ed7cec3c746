package choose

import (
	"cmp"
	"math"
	"slices"

	"mscclc/executor/launch"
	"mscclc/selection"
	"mscclc/simulate"
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
	r.eachOf(near, r.try)
	best := math.Inf(1)
	for _, i := range near {
		best = min(best, r.all[i].micros)
	}
	var others []int
	for i := range r.seen {
		p := &r.seen[i]
		if !p.near(r.near()) && !r.hopeless(i, best) && !r.forms[i].Several() {
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
	r.eachOf(others, r.try)
	r.simulateLanes()
}

// eachOf does something with the forms of a list at once. What looks at the times of other forms comes after them:
// forms that take as long as others, and forms with other copies of scratch than the usual.
func (r *ranking) eachOf(list []int, do func(i int)) {
	var first, alike, copied []int
	seen := map[Form]bool{}
	for _, i := range list {
		key := r.costed(r.forms[i])
		switch {
		case key.Copies > 0:
			copied = append(copied, i)
		case seen[key]:
			alike = append(alike, i)
		default:
			first = append(first, i)
		}
		seen[key] = true
	}
	for _, part := range [][]int{first, alike, copied} {
		r.each(len(part), func(k int) { do(part[k]) })
	}
}

// near returns how many times as long as the best a form may take to be the first that is looked at for the next size.
func (r *ranking) near() float64 {
	if r.many() {
		return nearMany
	}
	return near
}

// hopeless reports whether form i was so far from the best that it is not looked at again at this size. A form in one
// lane is not given up where its program is tried in several lanes after it: that may be good in many lanes alone.
func (r *ranking) hopeless(i int, best float64) bool {
	p := &r.seen[i]
	slow := p.slow && !(r.bytes >= LanesFrom && r.hasLanes(i))
	return slow || p.micros > hopeless*best && r.bytes < seldom*p.bytes
}

// hasLanes reports whether form i is in one lane, and its program is tried in several, too.
func (r *ranking) hasLanes(i int) bool {
	return !r.forms[i].Several() && i+1 < len(r.forms) && r.forms[i+1].Several()
}

// try simulates a form in the width that suits it.
func (r *ranking) try(i int) {
	form := r.forms[i]
	if r.errs[i] = r.divides(form, r.bytes); r.errs[i] != nil {
		return
	}
	first := simulate.Likely(r.tried(), r.bytes, r.Call.Ranks)
	if p := &r.seen[i]; p.micros > 0 && !form.Several() {
		first = slices.Index(r.tried(), max(p.replicas, 1))
		for grown := r.bytes / p.bytes / 2; grown >= 2 && first < len(r.tried())-1; grown /= 2 { // far larger calls want more
			first++
		}
	}
	if r.asUsual(i) {
		return
	}
	widest := func() (timed, error) { return r.widest(form, r.bytes, first) }
	if p := &r.seen[i]; form.Several() && p.micros > 0 && r.many() {
		widest = func() (timed, error) {
			return r.lanedFrom(form, r.bytes, lanedAt(selection.Choice{Width: launch.Width{Replicas: p.replicas,
				Tile: p.tile}}))
		}
	}
	if t, err := widest(); err == nil {
		r.all[i] = t
	} else {
		r.errs[i] = err
	}
}

// asUsual tries form i, which has other copies of scratch than the usual, in the width of the form that has these, and
// in half as many replicas. It is true where neither is faster: then copies count for nothing, and no other width is
// looked at. It is for many ranks.
func (r *ranking) asUsual(i int) bool {
	f := r.forms[i]
	if !r.many() || f.Copies == 0 {
		return false
	}
	usual := &r.all[r.inLanes(i, selection.InLanes{Lanes: f.Lanes})]
	if math.IsInf(usual.micros, 1) {
		return false
	}
	p, err := r.form(f)
	if err != nil {
		return false
	}
	best := timed{f, math.Inf(1)}
	for _, f.Replicas = range []int{usual.Replicas, usual.Replicas / 2} {
		if f.Tile = usual.Tile; f.Replicas == 0 || lanedScratch(p, f.Choice) > r.mostScratch() {
			continue
		}
		if t, err := r.time(f, r.bytes, true); err != nil || t < counts*usual.micros {
			return false
		} else if t < best.micros {
			best = timed{f, t}
		}
	}
	if math.IsInf(best.micros, 1) {
		return false
	}
	r.all[i] = best
	return true
}

// counts is what part of the time with the usual copies of scratch others must take to be worth a look.
const counts = 0.9995
