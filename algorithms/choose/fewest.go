package choose

import (
	"math"
	"slices"

	"mscclc/simulate"
)

// picks says which program runs each size: the fastest, or that of the size before where it takes no more than same.
func picks(ranked [][]timed) []timed {
	list := make([]timed, len(ranked))
	for i, of := range ranked {
		list[i] = of[0]
		if i == 0 {
			continue
		}
		k := slices.IndexFunc(of, func(t timed) bool {
			return t.program() == list[i-1].program() &&
				t.micros <= same*of[0].micros
		})
		if k >= 0 {
			list[i] = of[k]
		}
	}
	return list
}

// changes returns how many stretches picks make.
func changes(list []timed) int {
	n := 1
	for i := range list[1:] {
		if list[i].program() != list[i+1].program() {
			n++
		}
	}
	return n
}

// fill simulates, roughly, what was left out of the forms that are picked for some size, up to the last size where they
// count, as few stretches are made of these; and of one that serves the smallest size all, as it serves them too.
func (s *Selector) fill(ranked [][]timed, sizes []int64, picked []timed) {
	of := func(i int, f Form) bool {
		return slices.ContainsFunc(ranked[i], func(t timed) bool { return t.program() == f.program() })
	}
	last := len(sizes) - 1
	left := make([][]Form, len(sizes))
	for k, t := range picked {
		if slices.ContainsFunc(picked[:k], func(before timed) bool { return before.program() == t.program() }) {
			continue
		}
		for k > 0 && !of(last, t.Form) {
			last--
		}
		for i := range last + 1 {
			if !of(i, t.Form) && s.divides(t.Form, sizes[i]) == nil {
				left[i] = append(left[i], t.Form)
			}
		}
		last = len(sizes) - 1
	}
	s.each(len(sizes), func(i int) {
		for _, f := range left[i] {
			if t, err := s.widest(f, sizes[i], simulate.Likely(s.tried(), sizes[i], s.Call.Ranks)); err == nil {
				ranked[i] = append(ranked[i], t)
			}
		}
		slices.SortStableFunc(ranked[i], faster)
		alike(ranked[i], s.Differs)
	})
}

// fewest says which program runs each size where there is room for most stretches: those with which all sizes together,
// each by its ratio to the best, lose least.
func fewest(ranked [][]timed, most int) []timed {
	var forms []Form
	for _, of := range ranked {
		for _, t := range of {
			if key := t.program(); !slices.Contains(forms, key) {
				forms = append(forms, key)
			}
		}
	}
	// lost[k][f] is the least that sizes so far lose with the last one run by form f, in k+1 stretches; from has how it
	// came so.
	lost, from := make([][]float64, most), make([][][]int, len(ranked))
	for i, of := range ranked {
		next := make([][]float64, most)
		from[i] = make([][]int, most)
		for k := range most {
			next[k], from[i][k] = make([]float64, len(forms)), make([]int, len(forms))
			for f, key := range forms {
				best, at := math.Inf(1), f
				switch {
				case i == 0 && k == 0:
					best = 0
				case i > 0:
					best = lost[k][f]
					if k > 0 {
						if g := least(lost[k-1]); lost[k-1][g] < best {
							best, at = lost[k-1][g], g
						}
					}
				}
				next[k][f], from[i][k][f] = best+loses(of, key), at
			}
		}
		lost = next
	}
	k := 0
	for j := range lost {
		if lost[j][least(lost[j])] < lost[k][least(lost[k])] {
			k = j
		}
	}
	return walk(ranked, forms, from, k, least(lost[k]))
}

// walk goes back the way that fewest came.
func walk(ranked [][]timed, forms []Form, from [][][]int, k, f int) []timed {
	list := make([]timed, len(ranked))
	for i := len(ranked) - 1; i >= 0; i-- {
		at := slices.IndexFunc(ranked[i], func(t timed) bool { return t.program() == forms[f] })
		list[i] = ranked[i][at]
		if g := from[i][k][f]; g != f {
			k, f = k-1, g
		}
	}
	return list
}

func least(list []float64) int {
	at := 0
	for i, x := range list {
		if x < list[at] {
			at = i
		}
	}
	return at
}

// loses returns the logarithm of how many times as long as the best a program takes.
func loses(of []timed, key Form) float64 {
	for _, t := range of {
		if t.program() == key {
			return math.Log(t.micros / of[0].micros)
		}
	}
	return math.Inf(1)
}
