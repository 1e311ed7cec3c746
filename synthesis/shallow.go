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

// Shallow finds trees of at most so many hops, of which counts[r] begin at rank r, or of as few as there are if hops is
// 0. The search ends where no link carries more than enough trees for each unit of its capacity.
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
	levels, most := g.levels()
	if hops == 0 {
		for _, r := range roots {
			hops = max(hops, most[r])
		}
	}
	for _, r := range roots {
		if most[r] > hops {
			return nil, ErrFewHops
		}
	}
	g.find = func(k int) [][]int32 { return g.grown(roots[k], levels[roots[k]], hops-most[roots[k]]) }
	return g.least(ctx, enough)
}

// levels returns by rank how many hops all ranks are away, and the most of these; math.MaxInt where one is not reached.
func (g *growth) levels() (levels [][]int, most []int) {
	n := g.m.Ranks
	near := make([][]int32, n) // by rank: those that are a hop away
	g.most = math.Inf(1)
	g.measureAll()
	for r := range n {
		g.reach(int32(r), -1, false)
		for v := range int32(n) {
			if g.into[v] >= 0 {
				near[r] = append(near[r], v)
			}
		}
	}
	for r := range n {
		level := slices.Repeat([]int{math.MaxInt}, n)
		level[r] = 0
		for list := []int32{int32(r)}; len(list) > 0; list = list[1:] {
			for _, v := range near[list[0]] {
				if level[v] == math.MaxInt {
					level[v] = level[list[0]] + 1
					list = append(list, v)
				}
			}
		}
		levels, most = append(levels, level), append(most, slices.Max(level))
	}
	return levels, most
}

// grown returns the hops of a tree, the nearest rank first (Prim). A rank is at most slack hops further away than it
// must be: then the rank before it on its shortest way is in the tree early enough, so that none is left out.
func (g *growth) grown(root int32, level []int, slack int) (hops [][]int32) {
	n := g.m.Ranks
	far, by, depth := slices.Repeat([]float64{math.Inf(1)}, n), make([][]int32, n), make([]int, n)
	in := make([]bool, n)
	for at := root; ; {
		in[at] = true
		g.offer(at, func(v int32, dist float64) {
			if !in[v] && dist < far[v] && depth[at]+1 <= level[v]+slack {
				far[v], by[v], depth[v] = dist, g.hopTo(at, v), depth[at]+1
			}
		})
		at = -1
		for v := range int32(n) {
			if !in[v] && by[v] != nil && (at < 0 || far[v] < far[at]) {
				at = v
			}
		}
		if at < 0 {
			break
		}
		hops = append(hops, by[at])
	}
	if len(hops) < n-1 {
		return nil
	}
	return hops
}

// offer calls take with the ranks that are a hop away, and how long the hop is.
func (g *growth) offer(from int32, take func(to int32, dist float64)) {
	g.reach(from, -1, false)
	for v := range int32(g.m.Ranks) {
		if v != from && g.into[v] >= 0 && !math.IsInf(g.dist[v], 1) {
			take(v, g.dist[v])
		}
	}
}

// hopTo returns the arcs from a vertex that reach began at.
func (g *growth) hopTo(from, to int32) (hop []int32) {
	for v := to; v != from; v = g.arcs[g.into[v]].From {
		hop = append(hop, g.into[v])
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
