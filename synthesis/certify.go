package synthesis

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"mscclc/ir"
	"mscclc/synthesis/certificate"
)

// result writes what was found.
func (s *search) result() *Result {
	r := &Result{Bound: s.whole.b, Rounds: s.rounds}
	r.Plan = Plan{Name: identifier(fmt.Sprintf("%s_%s", s.t.Name, s.r.Kind)), Kind: s.r.Kind, Ranks: s.m.Ranks,
		Root: s.r.Root}
	c := &r.Certificate
	*c = certificate.Certificate{Version: certificate.Version, Collective: s.r.Kind.String(), Topology: s.t.Name,
		Scale: new(big.Rat).Quo(s.scale, s.g.Unit).RatString(), Bound: s.whole.b.Rate.RatString()}
	for _, p := range s.t.Places {
		c.Places = append(c.Places, p.String())
	}
	for r := range s.m.Ranks {
		c.Ranks = append(c.Ranks, int(s.g.Places[r]))
	}
	r.Plan.Shifts = s.shifts
	for _, image := range s.group {
		c.Generators = append(c.Generators, s.ofPlaces(image))
	}
	if s.spread != nil {
		r.Plan.Spread = s.written(s.spread)
		c.Spread = s.trees(s.spread)
	}
	if s.gather != nil {
		r.Plan.Gather = s.written(s.gather)
		c.Gather = s.trees(s.gather)
	}
	if s.r.Kind == ir.AllToAll {
		c.Lengths = s.lengths()
		return r
	}
	for _, cut := range s.whole.b.Proof() {
		one := certificate.Cut{Weight: cut.Weight.RatString(), Into: cut.Into}
		for _, p := range slices.Sorted(slices.Values(cut.Places)) {
			one.Places = append(one.Places, int(p))
		}
		c.Cuts = append(c.Cuts, one)
	}
	for _, p := range slices.Sorted(maps.Keys(s.whole.b.Potentials)) {
		c.Potentials = append(c.Potentials, certificate.Potential{Place: int(p), Value: s.whole.b.Potentials[p].RatString()})
	}
	return r
}

// written returns the trees that a program lists: those of rank 0, where others are their images.
func (s *search) written(f *Forest) []Tree {
	if s.shifts == nil {
		return f.Trees
	}
	return slices.DeleteFunc(slices.Clone(f.Trees), func(t Tree) bool { return t.Root != 0 })
}

// ofPlaces writes where a symmetry takes the places of the topology. Those that are no vertices, which carry nothing,
// stay.
func (s *search) ofPlaces(image []int32) []int {
	list := make([]int, len(s.t.Places))
	for p := range list {
		list[p] = p
	}
	for v, to := range image {
		list[s.g.Places[v]] = int(s.g.Places[to])
	}
	return list
}

// lengths writes the lengths of links that prove the bound of an AllToAll. Those that are 0 are left out.
func (s *search) lengths() (list []certificate.Length) {
	for i, l := range s.whole.b.Lengths {
		if a, at := s.whole.g.Arcs[i], s.whole.g.Places; l > 0 {
			list = append(list, certificate.Length{From: int(at[a.From]), To: int(at[a.To]), Value: l})
		}
	}
	return list
}

// trees writes trees with places of the topology.
func (s *search) trees(f *Forest) (list []certificate.Tree) {
	for _, t := range f.Trees {
		one := certificate.Tree{Root: int(t.Root), Count: t.Count}
		for _, h := range t.Hops {
			hop := certificate.Hop{From: int(h.From), To: int(h.To)}
			for _, w := range h.ways {
				way := certificate.Way{Count: w.amount}
				for _, v := range w.way {
					way.Places = append(way.Places, int(s.g.Places[v]))
				}
				hop.Ways = append(hop.Ways, way)
			}
			one.Hops = append(one.Hops, hop)
		}
		list = append(list, one)
	}
	return list
}

// identifier makes a name of the language.
func identifier(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			b[i] = '_'
		}
	}
	if b[0] >= '0' && b[0] <= '9' {
		return "_" + string(b)
	}
	return string(b)
}
