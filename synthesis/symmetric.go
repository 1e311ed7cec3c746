package synthesis

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"mscclc/ir"
)

// This file finds trees of one rank for machines that look alike from all ranks. Those of other ranks are their images:
// the search is as short as for one rank, and the program is a loop.

// Shifts are symmetries of a machine that take rank 0 to each rank. Ranks are numbers of as many digits as Dims has.
// Each digit is shifted by that of the other rank, without a carry. A ring has one digit, a torus two.
type Shifts struct {
	Dims []int
}

// At returns where the shift that takes rank 0 to rank by takes a rank.
func (s *Shifts) At(rank, by int) (to int) {
	unit := 1
	for _, d := range slices.Backward(s.Dims) {
		to += (rank/unit + by/unit) % d * unit
		unit *= d
	}
	return to
}

// formula writes At in the language, of r and d.
func (s *Shifts) formula() string {
	var text string
	unit := 1
	for i, d := range slices.Backward(s.Dims) {
		digit := fmt.Sprintf("(r / %d + d / %d) %% %d * %d", unit, unit, d, unit)
		if unit == 1 {
			digit = fmt.Sprintf("(r + d) %% %d", d)
		}
		if text == "" {
			text = digit
		} else {
			text = digit + " + " + text
		}
		if i > 0 {
			unit *= d
		}
	}
	return text
}

// factors returns the ways to write n as a product of up to three numbers above 1, the fewest first.
func factors(n int) (list [][]int) {
	list = [][]int{{n}}
	for a := 2; a < n; a++ {
		if n%a == 0 && n/a > 1 {
			list = append(list, []int{a, n / a})
		}
	}
	for a := 2; a < n; a++ {
		for b := 2; n%a == 0 && b < n/a; b++ {
			if n/a%b == 0 {
				list = append(list, []int{a, b, n / a / b})
			}
		}
	}
	return list
}

// mostShifts is how many Shifts of a machine are tried.
const mostShifts = 3

// shiftsOf returns the Shifts that a machine has, with the orbits of its arcs: arcs of one orbit are images of each
// other.
func shiftsOf(m *Machine) (list []Shifts, orbits [][]int32) {
	g := newGrowth(m, 0)
	labels := g.labels(func(r int) int { return r })
	for _, dims := range factors(g.m.Ranks) {
		s := Shifts{dims}
		if orbit := s.orbits(g, labels); orbit != nil {
			list, orbits = append(list, s), append(orbits, orbit)
		}
		if len(list) == mostShifts {
			break
		}
	}
	return list, orbits
}

// orbits returns the orbit of each arc, or nil where the machine, whose labels are given, lacks one of the symmetries.
func (s *Shifts) orbits(g *growth, labels []uint64) []int32 {
	list := s.generators(g, labels)
	if list == nil {
		return nil
	}
	return g.orbitsOf(list)
}

// labels names vertices by what they have links with: a rank by what it is called, others so that they differ where
// their neighbours do.
func (g *growth) labels(called func(rank int) int) []uint64 {
	const rounds = 6 // as far as the switches between two ranks go
	list := make([]uint64, g.m.Vertices)
	for r := range g.m.Ranks {
		list[r] = mixed(uint64(called(r)) + 1)
	}
	for range rounds {
		next := slices.Clone(list)
		for _, a := range g.arcs { // in any order, since sums do not depend on it
			if int(a.From) >= g.m.Ranks {
				next[a.From] += mixed(list[a.To] + uint64(a.Cap)*2)
			}
			if int(a.To) >= g.m.Ranks {
				next[a.To] += mixed(list[a.From] + uint64(a.Cap)*2 + 1)
			}
		}
		for v := g.m.Ranks; v < g.m.Vertices; v++ {
			next[v] = mixed(next[v])
		}
		list = next
	}
	return list
}

// mixed returns a number that differs in half of its bits if x differs in one (SplitMix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// image returns where each vertex goes if ranks go as shift says, as far as labels show, or nil.
func (g *growth) image(labels []uint64, shift func(rank int) int) []int32 {
	of := map[uint64][]int32{}
	for v, l := range labels {
		of[l] = append(of[l], int32(v))
	}
	image := make([]int32, g.m.Vertices)
	for v, l := range g.labels(shift) {
		list := of[l]
		if len(list) == 0 {
			return nil
		}
		image[v], of[l] = list[0], list[1:]
	}
	return image
}

// arcOf returns the arc between two vertices, or -1.
func (g *growth) arcOf(from, to int32) int32 {
	list := g.arcs[g.first[from]:g.first[from+1]]
	if i, ok := slices.BinarySearchFunc(list, to, func(a Arc, to int32) int { return cmp.Compare(a.To, to) }); ok {
		return g.first[from] + int32(i)
	}
	return -1
}

// symmetric finds a given number of trees of rank 0, of at most a given number of hops as Request.Hops has it, whose
// images together load links least. It returns them with those of the listed Shifts that they are good for, or nil
// where there are none, or where no tree has so few hops.
func symmetric(ctx context.Context, m *Machine, list []Shifts, orbits [][]int32, parts int, enough *big.Rat,
	hops int) (best *Forest, shifts *Shifts, err error) {
	for i, s := range list {
		g := newGrowth(m, parts)
		level, most := g.levels(0)
		switch {
		case hops == 0:
			hops = m.Ranks
		case hops == LeastHops:
			hops = most
		case hops < most:
			return nil, nil, nil
		}
		g.join(orbits[i], m.Ranks)
		g.turns = s.turns(g)
		g.find = func(int) [][]int32 { return g.grown(0, level, hops-most) }
		f, err := g.least(ctx, enough)
		if err != nil {
			return best, shifts, err
		}
		if best == nil || f.Scale.Cmp(best.Scale) < 0 {
			best, shifts = f, &s
		}
		if best.Scale.Cmp(enough) <= 0 {
			break
		}
	}
	return best, shifts, nil
}

// join has arcs of an orbit carry the same: what goes over one of them, and its images over the others. Each part has
// a given number of images.
func (g *growth) join(orbit []int32, images int) {
	size := map[int32]int64{}
	for _, o := range orbit {
		size[o]++
	}
	g.orbit = orbit
	g.times = make([]int64, len(orbit))
	for a, o := range orbit {
		g.times[a] = int64(images) / size[o]
	}
}

// alike finds trees for a request that are images of those of rank 0, with a given number of parts of a rank, or as
// many as are needed if parts is 0. It is false where the machine has no such symmetries, or where these trees do not
// reach the bound, unless the request wants them.
func (s *search) alike(parts int) (done bool, err error) {
	m, into := s.m, &s.spread
	if s.r.Kind == ir.ReduceScatter {
		m, into = m.reverse(), &s.gather
	}
	tries := partsTried
	if parts > 0 {
		tries = []int{parts}
	}
	var list []Shifts
	var orbits [][]int32
	if !s.r.Kind.Rooted() {
		list, orbits = shiftsOf(m)
	}
	for _, parts := range tries {
		ideal := new(big.Rat).Quo(big.NewRat(int64(parts*s.m.Ranks), 1), new(big.Rat).Quo(s.b.Rate, s.g.Unit))
		f, shifts, err := symmetric(s.ctx, m, list, orbits, parts, ideal, s.r.Hops)
		if err != nil {
			return false, err
		}
		if f == nil {
			break
		}
		if s.r.Alike || f.Scale.Cmp(ideal) <= 0 {
			s.shifts, s.scale, *into = shifts, f.Scale, f
			if s.group = s.groupOf(m, shifts); s.group == nil {
				*into = shifts.images(m, f)
			}
			return true, nil
		}
	}
	if s.r.Alike {
		return false, ErrNoFit
	}
	return false, nil
}
