package synthesis

import (
	"context"
	"errors"
	"math"
	"math/big"
	"slices"

	"mscclc/ir"
)

// This file finds trees of few hops, for calls so small that rounds count for more than bandwidth.

// ErrFewHops is where no tree has so few hops.
var ErrFewHops = errors.New("some rank is further away")

// Shallow finds trees of at most a given number of hops, of which counts[r] begin at rank r, or of as few as there are
// if hops is 0. The search ends where no link carries more than enough trees for each unit of its capacity.
func Shallow(ctx context.Context, m *Machine, counts []int64, hops int, enough *big.Rat) (*Forest, error) {
	var roots []int32
	for left := slices.Max(counts); left > 0; left-- { // each root in turn
		for r, c := range counts {
			if c >= left {
				roots = append(roots, int32(r))
			}
		}
	}
	g := newGrowth(m, len(roots))
	levels, most := make([][]int, m.Ranks), make([]int, m.Ranks)
	for _, r := range roots {
		if levels[r] == nil {
			levels[r], most[r] = g.levels(r)
		}
	}
	if hops == 0 {
		hops = slices.Max(most)
	}
	if slices.Max(most) > hops {
		return nil, ErrFewHops
	}
	g.find = func(k int) [][]int32 { return g.grown(roots[k], levels[roots[k]], hops-most[roots[k]]) }
	return g.least(ctx, enough)
}

// levels returns how many hops all ranks are away from a root, indexed by rank, and the most of these. It is
// math.MaxInt where one is not reached.
func (g *growth) levels(root int32) (level []int, most int) {
	n := g.m.Ranks
	level = slices.Repeat([]int{math.MaxInt}, n)
	level[root] = 0
	list := []int32{root}
	for i := 0; i < len(list) && len(list) < n; i++ {
		for _, v := range g.beside(list[i]) {
			if level[v] == math.MaxInt {
				level[v] = level[list[i]] + 1
				list = append(list, v)
			}
		}
	}
	return level, slices.Max(level)
}

// beside returns the ranks that are a hop away from one.
func (g *growth) beside(rank int32) []int32 {
	if g.near == nil {
		g.near = make([][]int32, g.m.Ranks)
	}
	if g.near[rank] == nil {
		seen := make([]bool, g.m.Vertices)
		seen[rank] = true
		for list := []int32{rank}; len(list) > 0; list = list[1:] {
			for _, a := range g.arcs[g.first[list[0]]:g.first[list[0]+1]] {
				if seen[a.To] {
					continue
				}
				if seen[a.To] = true; int(a.To) < g.m.Ranks {
					g.near[rank] = append(g.near[rank], a.To)
				} else {
					list = append(list, a.To)
				}
			}
		}
	}
	return g.near[rank]
}

// grown returns the hops of a tree, the nearest rank first (Prim). A rank is at most slack hops further away than it
// must be: then the rank before it on its shortest way is in the tree early enough, so that none is left out.
func (g *growth) grown(root int32, level []int, slack int) (hops [][]int32) {
	n := g.m.Ranks
	far, by, depth := slices.Repeat([]float64{math.Inf(1)}, n), make([][]int32, n), make([]int, n)
	in := make([]bool, n)
	for at := root; ; {
		in[at] = true
		g.offer(at, func(v, as int32, dist float64) {
			if !in[v] && dist < far[v] && depth[at]+1 <= level[v]+slack {
				far[v], by[v], depth[v] = dist, g.hopTo(at, as), depth[at]+1
			}
		})
		at = -1
		for v := range int32(n) {
			if in[v] || by[v] == nil {
				continue
			}
			far[v] = g.long(by[v])
			if !math.IsInf(far[v], 1) && (at < 0 || far[v] < far[at]) {
				at = v
			}
		}
		if at < 0 {
			break
		}
		hops = append(hops, by[at])
		g.loadHop(by[at], 1) // the tree's own hops share links, too
	}
	for _, hop := range hops {
		g.loadHop(hop, -1)
	}
	if len(hops) < n-1 {
		return nil
	}
	return hops
}

// long returns how long a hop is at present.
func (g *growth) long(hop []int32) (sum float64) {
	for _, a := range hop {
		sum += g.size[g.named(a)]
	}
	return sum
}

// offer calls take with the ranks that are a hop away, with what hopTo calls each, and with how long the hop is.
func (g *growth) offer(from int32, take func(to, as int32, dist float64)) {
	base := from
	if g.turns != nil { // all ranks see the machine as rank 0 does
		base = 0
	}
	if g.turns == nil || g.seen != g.changes {
		g.reach(base, -1, false)
		g.seen = g.changes
	}
	for as := range int32(g.m.Ranks) {
		if as == base || g.into[as] < 0 || math.IsInf(g.dist[as], 1) {
			continue
		}
		to := as
		if g.turns != nil {
			to = g.turns[from][as]
		}
		take(to, as, g.dist[as])
	}
}

// hopTo returns the arcs of a hop that was offered.
func (g *growth) hopTo(from, as int32) (hop []int32) {
	base := from
	if g.turns != nil {
		base = 0
	}
	for v := as; v != base; v = g.arcs[g.into[v]].From {
		a := g.into[v]
		if g.turns != nil {
			a = g.arcOf(g.turns[from][g.arcs[a].From], g.turns[from][g.arcs[a].To])
		}
		hop = append(hop, a)
	}
	slices.Reverse(hop)
	return hop
}

// shallow finds trees of few hops for a request.
func (s *search) shallow() error {
	m, into := s.m, &s.spread
	if s.r.Kind == ir.ReduceScatter || s.r.Kind == ir.ReduceTo {
		m, into = m.reverse(), &s.gather
	}
	hops := s.r.Hops
	if hops == LeastHops {
		hops = 0
	}
	return s.parted(func(parts int) (*Forest, *big.Rat, error) {
		counts := s.counts(int64(parts))
		var total int64
		for _, c := range counts {
			total += c
		}
		rate := new(big.Rat).Quo(s.b.Rate, s.g.Unit)
		ideal := new(big.Rat).Quo(big.NewRat(total, 1), rate)
		f, err := Shallow(s.ctx, m, counts, hops, ideal)
		return f, ideal, err
	}, into)
}
