package bundle

import (
	"cmp"
	"math"
	"slices"
)

// This file chooses programs under given limits. Looking for the limits takes thousands of choices, so that all that
// does not depend on them is computed once.

// A mergeForm is a form of a size.
type mergeForm struct {
	*Timed
	of  int                  // the number of its pair
	may [numLaunches]bool    // it was measured, and is faster than NCCL
	log [numLaunches]float64 // of its times
}

// A mergeTable holds what all choices have in common.
type mergeTable struct {
	sizes []TimedSize
	pairs []pair              // in order; others are their numbers
	forms [][]mergeForm       // of each size
	has   [][]int             // of each pair: the sizes that have forms of it
	steps []limit             // of all forms, by pair: replicas and shares
	at    []int               // where the steps of a pair begin
	nccl  [numLaunches][]cost // of each size where NCCL runs
}

// A cost is the logarithm of a time. One that is not known counts nothing.
type cost float64

// costOf returns the cost of a time.
func costOf(micros float64) cost {
	if micros > 0 {
		return cost(math.Log(micros))
	}
	return 0
}

// newMergeTable computes the table of sizes.
func newMergeTable(sizes []TimedSize) *mergeTable {
	t := &mergeTable{sizes: sizes, forms: make([][]mergeForm, len(sizes))}
	for i := range sizes {
		for _, f := range sizes[i].Forms {
			t.pairs = append(t.pairs, f.pair())
		}
	}
	slices.SortFunc(t.pairs, comparePairs)
	t.pairs = slices.Compact(t.pairs)
	t.has = make([][]int, len(t.pairs))
	steps := make([][]limit, len(t.pairs))
	for i := range sizes {
		s := &sizes[i]
		for k := range s.Forms {
			f := mergeForm{Timed: &s.Forms[k]}
			f.of, _ = slices.BinarySearchFunc(t.pairs, f.pair(), comparePairs)
			for when, us := range f.Micros {
				f.may[when] = us > 0 && (s.NCCL[when] == 0 || us*gain <= s.NCCL[when])
				f.log[when] = float64(costOf(us))
			}
			t.forms[i] = append(t.forms[i], f)
			steps[f.of] = append(steps[f.of], limit{f.Columns, f.Share})
			if n := len(t.has[f.of]); n == 0 || t.has[f.of][n-1] != i {
				t.has[f.of] = append(t.has[f.of], i)
			}
		}
		for when, us := range s.NCCL {
			if us == 0 {
				us = 10 * s.least(when) // nothing was measured beside it
			}
			t.nccl[when] = append(t.nccl[when], costOf(us))
		}
	}
	for _, list := range steps {
		t.at = append(t.at, len(t.steps))
		t.steps = append(t.steps, list...)
	}
	t.at = append(t.at, len(t.steps))
	return t
}

// next returns the next larger replicas and share of a pair's forms, or those of l where there are none.
func (t *mergeTable) next(p int, l limit) limit {
	next := l
	for _, f := range t.steps[t.at[p]:t.at[p+1]] {
		if f.columns > l.columns && (next.columns == l.columns || f.columns < next.columns) {
			next.columns = f.columns
		}
		if f.share > l.share && (next.share == l.share || f.share < next.share) {
			next.share = f.share
		}
	}
	return next
}

// nearAt sets the forms that are about as fast as the fastest, or none where NCCL runs the call.
func (m *merger) nearAt(when, i int) {
	fastest := math.Inf(1)
	for k := range m.forms[i] {
		if f := &m.forms[i][k]; m.allows(f, when) {
			fastest = min(fastest, f.Micros[when])
		}
	}
	var list []*mergeForm
	for k := range m.forms[i] {
		if f := &m.forms[i][k]; m.allows(f, when) && f.Micros[when] <= alike*fastest {
			list = append(list, f)
		}
	}
	m.near[when][i] = list
}

// allows reports whether f may run calls: it was measured, is not banned, and is faster than NCCL.
func (m *merger) allows(f *mergeForm, when int) bool {
	ban := m.banned[f.of]
	return f.may[when] && (ban.columns == 0 || f.Columns < ban.columns) && (ban.share == 0 || f.Share < ban.share)
}

// pick chooses a form for each size among the near ones.
func (m *merger) pick() {
	kept := m.cover()
	m.cost = 0
	for when := range m.near {
		m.taken[when] = make([]*mergeForm, len(m.sizes))
		for i, list := range m.near[when] {
			f := least(list, kept, when)
			m.taken[when][i] = f
			if f != nil {
				m.cost += f.log[when]
			} else {
				m.cost += float64(m.nccl[when][i])
			}
		}
	}
	m.measure()
}

// cover returns few pairs of which each list of near forms has one, unless it is empty: always the one that most of the
// remaining lists have, and of these that of the least memory.
func (m *merger) cover() (kept []bool) {
	kept = make([]bool, len(m.pairs))
	lists := make([][]*mergeForm, 0, numLaunches*len(m.sizes))
	for when := range m.near {
		lists = append(lists, m.near[when]...)
	}
	empty := func(l []*mergeForm) bool { return len(l) == 0 }
	lists = slices.DeleteFunc(lists, empty)
	counts, seen, room := make([]int, len(m.pairs)), make([]int, len(m.pairs)), make([]int64, len(m.pairs))
	for round := 0; len(lists) > 0; round++ {
		clear(counts)
		clear(room)
		clear(seen)
		for n, l := range lists {
			for _, f := range l {
				if seen[f.of] != n+1 {
					counts[f.of]++
				}
				seen[f.of], room[f.of] = n+1, max(room[f.of], f.Room)
			}
		}
		best := -1
		for p := range counts {
			if counts[p] > 0 && (best < 0 || cmp.Or(cmp.Compare(counts[best], counts[p]), cmp.Compare(room[p], room[best])) < 0) {
				best = p
			}
		}
		kept[best] = true
		lists = slices.DeleteFunc(lists, func(l []*mergeForm) bool {
			return slices.ContainsFunc(l, func(f *mergeForm) bool { return f.of == best })
		})
	}
	return kept
}

// least returns the form of the kept programs that takes the least memory, and of those the fastest. It is nil where
// there is none.
func least(near []*mergeForm, kept []bool, when int) (best *mergeForm) {
	for _, f := range near {
		if kept[f.of] && (best == nil || f.Room < best.Room || f.Room == best.Room && f.Micros[when] < best.Micros[when]) {
			best = f
		}
	}
	return best
}

// measure computes the most replicas and the largest share of each program that is taken. A program has memory for both
// together. room is the bytes of all programs.
func (m *merger) measure() {
	m.largest, m.room = make([]limit, len(m.pairs)), 0
	unit := make([]float64, len(m.pairs)) // bytes for a byte of a share and a replica
	for when := range m.taken {
		for _, f := range m.taken[when] {
			if f != nil {
				l := &m.largest[f.of]
				*l = limit{max(l.columns, f.Columns), max(l.share, f.Share)}
				unit[f.of] = max(unit[f.of], float64(f.Room)/float64(f.Columns)/float64(f.Share))
			}
		}
	}
	for p, l := range m.largest {
		m.room += int64(math.Ceil(unit[p] * float64(l.columns) * float64(l.share)))
	}
}
