package synthesis

import (
	"errors"
	"math/big"
	"slices"

	"mscclc/ir"
	"mscclc/topology/bound"
)

// both packs the trees of an AllReduce. Equal halves of all links, and equally many trees of each rank, are as good as
// any on most machines, and need no more trees than an AllGather.
func (s *search) both() error {
	half, err := ask(s.ctx, s.t, s.r.question(ir.AllGather))
	if err != nil {
		return err
	}
	twice := new(big.Rat).Mul(s.b.Rate, big.NewRat(2, 1))
	if s.b.Division == nil || s.r.Hops != 0 || twice.Cmp(new(big.Rat).Mul(half.b.Rate, big.NewRat(101, 100))) <= 0 {
		return s.halves(half)
	}
	if err := s.divided(s.b.Division); errors.Is(err, ErrNoFit) {
		return s.halves(half)
	} else {
		return err
	}
}

// halves packs AllGather's trees, and has ReduceScatter's beside them.
func (s *search) halves(half *answer) error {
	one := *s
	one.answer, one.r.Kind = half, ir.AllGather
	if err := one.pack(); err != nil {
		return err
	}
	s.spread, s.shifts, s.group = one.spread, one.shifts, one.group
	one.shifts, one.group = nil, nil
	one.r.Kind = ir.ReduceScatter
	one.r.Chunks = int(one.spread.counts(s.m.Ranks)[0])
	if err := one.pack(); err != nil {
		return err
	}
	s.gather = one.gather
	alike := s.shifts != nil && one.shifts != nil && slices.Equal(s.shifts.Dims, one.shifts.Dims)
	if !alike || !slices.EqualFunc(s.group, one.group, slices.Equal) {
		s.spread, s.gather = s.unfold(s.m, s.spread), one.unfold(s.m.reverse(), s.gather)
		s.group = nil
	}
	if !alike {
		s.shifts = nil // each rank's trees are written
	}
	s.scale = s.m.busiest(s.spread, s.gather, s.group)
	return nil
}

// busiest returns what the busiest arc carries of trees that spread and of trees that gather, which are of the machine
// with all arcs turned around, for each unit of its capacity. With a group, it carries the trees' images, too.
func (m *Machine) busiest(spread, gather *Forest, group [][]int32) *big.Rat {
	g := newGrowth(m, 0)
	images := 1
	if group != nil {
		images = m.Ranks
	}
	g.join(g.orbitsOf(group), images)
	g.count(spread, false)
	g.count(gather, true)
	most := new(big.Rat)
	for a, n := range g.carry {
		if x := big.NewRat(n, g.arcs[a].Cap); x.Cmp(most) > 0 {
			most = x
		}
	}
	return most
}

// count adds what the trees of a forest load arcs with. Data goes against the hops of those that gather.
func (g *growth) count(f *Forest, back bool) {
	for _, t := range f.Trees {
		for _, h := range t.Hops {
			for _, w := range h.ways {
				for k := 1; k < len(w.way); k++ {
					a := g.arcOf(w.way[k-1], w.way[k])
					if back {
						a = g.arcOf(w.way[k], w.way[k-1])
					}
					g.carry[g.orbit[a]] += w.amount * g.times[a]
				}
			}
		}
	}
}

// divided packs trees that gather into one part of each link, and trees that spread into the rest.
func (s *search) divided(d *bound.Division) error {
	counts := s.parts(d)
	var total int64
	for _, c := range counts {
		total += c
	}
	rate := new(big.Rat).Quo(s.b.Rate, s.g.Unit)
	rate.Quo(rate, big.NewRat(total, 1))
	unit := denominator(d.Gather).Int64()
	up := &Machine{Vertices: s.m.Vertices, Ranks: s.m.Ranks}
	down := &Machine{Vertices: s.m.Vertices, Ranks: s.m.Ranks}
	for i, a := range s.m.Arcs {
		b1 := new(big.Rat).Mul(d.Gather[i], big.NewRat(unit, 1)).Num().Int64()
		if b1 > 0 {
			up.Arcs = append(up.Arcs, Arc{a.To, a.From, b1})
		}
		if b2 := a.Cap*unit - b1; b2 > 0 {
			down.Arcs = append(down.Arcs, Arc{a.From, a.To, b2})
		}
	}
	rate.Mul(rate, big.NewRat(unit, 1))
	var err error
	if s.gather, err = Pack(s.ctx, up, counts, rate); err != nil {
		return err
	}
	if s.spread, err = Pack(s.ctx, down, counts, rate); err != nil {
		return err
	}
	s.scale = s.gather.Scale
	if s.spread.Scale.Cmp(s.scale) > 0 {
		s.scale = s.spread.Scale
	}
	s.scale = new(big.Rat).Mul(s.scale, big.NewRat(unit, 1))
	return nil
}

// parts returns how many trees begin at each rank, as nearly to scale as so few trees allow.
func (s *search) parts(d *bound.Division) []int64 {
	common := new(big.Int) // the largest unit of which all parts are multiples
	denom := denominator(d.Roots)
	nums := make([]*big.Int, len(d.Roots))
	for r, x := range d.Roots {
		nums[r] = new(big.Int).Quo(new(big.Int).Mul(x.Num(), denom), x.Denom())
		common.GCD(nil, nil, common, nums[r])
	}
	counts := make([]int64, len(d.Roots))
	most := new(big.Int)
	for r := range nums {
		if nums[r].Quo(nums[r], common); nums[r].Cmp(most) > 0 {
			most.Set(nums[r])
		}
	}
	k := int64(MostChunks)
	if s.r.Chunks > 0 {
		k = int64(s.r.Chunks)
	}
	// the largest has k trees, or as many as are exact
	if s.r.Chunks == 0 && most.IsInt64() && most.Int64() <= k {
		k = most.Int64() * (k / most.Int64())
	}
	for r, n := range nums {
		x := new(big.Rat).SetFrac(new(big.Int).Mul(n, big.NewInt(k)), most)
		x.Add(x, big.NewRat(1, 2))
		counts[r] = new(big.Int).Quo(x.Num(), x.Denom()).Int64()
	}
	return counts
}

// denominator returns the least common one of fractions.
func denominator(list []*big.Rat) *big.Int {
	denom := big.NewInt(1)
	for _, x := range list {
		g := new(big.Int).GCD(nil, nil, denom, x.Denom())
		denom.Mul(denom, new(big.Int).Quo(x.Denom(), g))
	}
	return denom
}
