package core

import (
	"cmp"
	"slices"
)

// merge sorts runs by depth, and makes one run of those of a depth that are neighbours in every operand.
func merge(l *State) (int, error) {
	runs := l.runs
	at := l.depthsOfRuns()
	order := make([]int32, len(runs))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int { // a run's destination is its own among those of a depth
		a, b := &runs[i].dst, &runs[j].dst
		return cmp.Or(cmp.Compare(at[i], at[j]),
			cmp.Compare(a.rank, b.rank), cmp.Compare(a.buf, b.buf), cmp.Compare(a.index, b.index))
	})
	merged := make([]oneRun, 0, len(runs))
	deep := int32(-1)
	for _, i := range order {
		if at[i] == deep && l.joins(&merged[len(merged)-1], &runs[i]) {
			last := &merged[len(merged)-1]
			last.count += runs[i].count
			last.pos = min(last.pos, runs[i].pos)
			continue
		}
		deep = at[i]
		merged = append(merged, runs[i])
	}
	l.runs = merged
	return len(runs) - len(merged), nil
}

// depthsOfRuns returns, by run, the length of the longest chain of runs that must come before it.
func (l *State) depthsOfRuns() []int32 {
	views := l.piecesOf(func(yield func(spot, int32) bool) {
		for i := range l.runs {
			r := &l.runs[i]
			if !yield(r.dst, r.count) || slices.ContainsFunc(r.srcs, func(s spot) bool { return !yield(s, r.count) }) {
				return
			}
		}
	})
	wrote, read := make([][]int32, len(views)), make([][]int32, len(views)) // by piece in each: depths, from 1
	for v := range views {
		wrote[v], read[v] = make([]int32, views[v].count()), make([]int32, views[v].count())
	}
	at := make([]int32, len(l.runs))
	for i := range l.runs {
		r, d := &l.runs[i], int32(0)
		for v := range views {
			for _, s := range r.srcs {
				views[v].each(s, r.count, func(first, end int32) { d = max(d, slices.Max(wrote[v][first:end])) })
			}
			if !l.keeps(v, r.srcs, r.dst) {
				views[v].each(r.dst, r.count, func(first, end int32) {
					d = max(d, slices.Max(wrote[v][first:end]), slices.Max(read[v][first:end]))
				})
			}
		}
		at[i] = d
		for v := range views {
			for _, s := range r.srcs {
				views[v].each(s, r.count, func(first, end int32) {
					for c := first; c < end; c++ {
						read[v][c] = max(read[v][c], d+1)
					}
				})
			}
			if !l.keeps(v, r.srcs, r.dst) {
				views[v].fill(wrote[v], r.dst, r.count, d+1)
			}
		}
	}
	return at
}

// joins reports whether b begins where a ends, in every operand.
func (l *State) joins(a, b *oneRun) bool {
	follows := func(x, y spot) bool { return x.rank == y.rank && x.buf == y.buf && x.index+a.count == y.index }
	if len(a.srcs) != len(b.srcs) || a.hint != b.hint || !follows(a.dst, b.dst) ||
		!l.even && (a.class+a.count)%int32(max(l.c.Coll.Chunks, 1)) != b.class {
		return false
	}
	for k := range a.srcs {
		if !follows(a.srcs[k], b.srcs[k]) {
			return false
		}
	}
	return true
}
