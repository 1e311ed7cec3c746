package bound

import "slices"

// sparsest returns the cut that allows the least rate of each pair of members, of those that are tried: each member
// alone, in both directions, and what is within a distance of a member, by lengths that nearly prove a bound. Its
// weight is the number of pairs that it separates.
func (g *graph) sparsest(sym *symmetry, lengths []int64) (best least) {
	try := func(set []bool) {
		inside := int64(0)
		for _, v := range g.gpu {
			if set[v] {
				inside++
			}
		}
		best.take(ratio{g.leaving(set), inside * (int64(len(g.gpu)) - inside)}, set)
	}
	back := g.reverse()
	for _, v := range sym.probes(g.gpu) {
		only := make([]bool, g.n)
		only[v] = true
		try(only)
		try(allBut(g.n, v))
		if lengths == nil {
			continue
		}
		g.within(v, lengths, try)
		back.within(v, turned(g, back, lengths), func(set []bool) { try(complement(set)) })
	}
	return best
}

// within calls try with the sets of vertices that are within each distance of v.
func (g *graph) within(v int32, lengths []int64, try func(set []bool)) {
	dist, _, order := shortest(g, v, func(i int) int64 { return lengths[i] })
	set := make([]bool, g.n)
	for i, u := range order {
		set[u] = true
		if i+1 < len(order) && dist[order[i+1]] > dist[u] {
			try(slices.Clone(set))
		}
	}
}

func complement(set []bool) []bool {
	list := make([]bool, len(set))
	for i, in := range set {
		list[i] = !in
	}
	return list
}
