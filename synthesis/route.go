package synthesis

import (
	"context"
	"math/big"
	"slices"
)

// This file finds routes of an AllToAll: of each rank's data for each other one, in equal parts. That is a concurrent
// flow in whole parts.

// Route finds ways for a given number of parts of each rank's data for each other rank, as trees without branches. The
// search ends where no link carries more than enough parts for each unit of its capacity. The scale is what the busiest
// carries.
func Route(ctx context.Context, m *Machine, parts int, enough *big.Rat) (*Forest, error) {
	n := m.Ranks
	g := newGrowth(m, n*(n-1)*parts)
	g.find = func(k int) [][]int32 { // parts of one pair are far from each other, as those of one rank are
		k %= n * (n - 1)
		from := int32(k % n)
		return g.route(from, (from+1+int32(k/n))%int32(n))
	}
	return g.least(ctx, enough)
}

// route returns the shortest way from a rank to another, cut where it passes a rank, or nil where there is none.
func (g *growth) route(from, to int32) (hops [][]int32) {
	g.reach(from, to, true)
	for v := to; v != from; {
		var hop []int32
		for hop == nil || int(v) >= g.m.Ranks {
			a := g.into[v]
			if a < 0 {
				return nil
			}
			hop, v = append(hop, a), g.arcs[a].From
		}
		slices.Reverse(hop)
		hops = append(hops, hop)
	}
	slices.Reverse(hops)
	return hops
}

// partsTried is into how many parts the data of a pair is cut, where a request does not say it.
var partsTried = []int{1, 2, 3, 4, 6, 8, 12, MostChunks}

// nearly is which share of the bound needs no more parts.
const nearly = 0.98

// route finds the routes of a request. Without a number of parts it takes the fewest that nearly reach the bound, or
// else those that come nearest.
func (s *search) route() error {
	pair := new(big.Rat).Quo(s.b.Rate, s.g.Unit)
	pair.Quo(pair, big.NewRat(int64(s.m.Ranks), 1)) // the rate of a pair, in units of capacity
	return s.parted(func(parts int) (*Forest, *big.Rat, error) {
		ideal := new(big.Rat).Quo(big.NewRat(int64(parts), 1), pair)
		f, err := Route(s.ctx, s.m, parts, ideal)
		return f, ideal, err
	}, &s.spread)
}

// parted tries numbers of parts, until a forest nearly has the scale that is ideal.
func (s *search) parted(find func(parts int) (f *Forest, ideal *big.Rat, err error), into **Forest) error {
	tries := partsTried
	if s.r.Chunks > 0 {
		tries = []int{s.r.Chunks}
	}
	most := 0.0
	for _, parts := range tries {
		f, ideal, err := find(parts)
		switch {
		case err != nil && *into != nil:
			return nil // time is over
		case err != nil:
			return err
		}
		if share, _ := new(big.Rat).Quo(ideal, f.Scale).Float64(); share > most {
			most, *into, s.scale = share, f, f.Scale
		}
		if most >= nearly {
			break
		}
	}
	return nil
}
