package synthesis

import (
	"cmp"
	"slices"

	"mscclc/topology"
)

// This file takes trees of rank 0 to other ranks by the symmetries of a machine.

// generators returns where the shift of each digit by one takes the vertices of a machine, the last digit first. It is
// nil where labels do not say it.
func (s *Shifts) generators(g *growth, labels []uint64) (list [][]int32) {
	unit := 1
	for _, d := range slices.Backward(s.Dims) {
		image := g.image(labels, func(r int) int { return s.At(r, unit) })
		if image == nil {
			return nil
		}
		list = append(list, image)
		unit *= d
	}
	return list
}

// orbitsOf returns the orbit of each arc under symmetries of the machine, or nil where one of them is none.
func (g *growth) orbitsOf(generators [][]int32) []int32 {
	orbit := make([]int32, len(g.arcs))
	for a := range orbit {
		orbit[a] = int32(a)
	}
	var find func(a int32) int32
	find = func(a int32) int32 {
		if orbit[a] != a {
			orbit[a] = find(orbit[a])
		}
		return orbit[a]
	}
	for _, image := range generators {
		for a, arc := range g.arcs {
			b := g.arcOf(image[arc.From], image[arc.To])
			if b < 0 || g.arcs[b].Cap != arc.Cap {
				return nil
			}
			orbit[find(int32(a))] = find(b)
		}
	}
	for a := range orbit {
		find(int32(a))
	}
	return orbit
}

// groupOf returns the generators of Shifts that a certificate can name: they commute, each has the order of its digit,
// and they take GPUs to GPUs. It is nil where vertices other than ranks do not do so.
func (s *search) groupOf(m *Machine, shifts *Shifts) [][]int32 {
	g := newGrowth(m, 0)
	list := shifts.generators(g, g.labels(func(r int) int { return r }))
	gpu := func(v int32) bool { return s.t.Places[s.g.Places[v]].Kind == topology.GPU }
	for i, d := range slices.Backward(shifts.Dims) {
		one := list[len(list)-1-i]
		for v := range int32(m.Vertices) {
			to := v
			for range d {
				to = one[to]
			}
			if to != v || gpu(v) != gpu(one[v]) {
				return nil
			}
			for _, other := range list {
				if one[other[v]] != other[one[v]] {
					return nil
				}
			}
		}
	}
	return list
}

// unfold returns the trees of all ranks, where f has those of rank 0 and a group takes them to other ranks.
func (s *search) unfold(m *Machine, f *Forest) *Forest {
	if s.group == nil {
		return f
	}
	return s.shifts.images(m, f)
}

// images returns the trees of all ranks, of which f has those of rank 0, with the images of their ways.
func (s *Shifts) images(m *Machine, f *Forest) *Forest {
	all := &Forest{Scale: f.Scale}
	image := s.turns(newGrowth(m, 0))
	for by := range m.Ranks {
		for _, t := range f.Trees {
			all.Trees = append(all.Trees, t.image(image[by]))
		}
	}
	slices.SortStableFunc(all.Trees, func(a, b Tree) int { return cmp.Compare(a.Root, b.Root) })
	return all
}

// turns returns the symmetries that take rank 0 to each rank, indexed by rank and by vertex.
func (s *Shifts) turns(g *growth) [][]int32 {
	list := s.generators(g, g.labels(func(r int) int { return r }))
	image := [][]int32{make([]int32, g.m.Vertices)}
	for v := range image[0] {
		image[0][v] = int32(v)
	}
	unit := 1
	for i, d := range slices.Backward(s.Dims) { // a shift of a digit by one more, from those that are there
		one := list[len(list)-1-i]
		for by := unit; by < unit*d; by++ {
			next := make([]int32, g.m.Vertices)
			for v, to := range image[by-unit] {
				next[v] = one[to]
			}
			image = append(image, next)
		}
		unit *= d
	}
	return image
}

// image returns the tree that a symmetry takes a tree to.
func (t *Tree) image(of []int32) Tree {
	one := Tree{Root: of[t.Root], Count: t.Count}
	for _, h := range t.Hops {
		hop := Hop{From: of[h.From], To: of[h.To]}
		for _, w := range h.ways {
			way := piece{amount: w.amount}
			for _, v := range w.way {
				way.way = append(way.way, of[v])
			}
			hop.ways = append(hop.ways, way)
		}
		one.Hops = append(one.Hops, hop)
	}
	return one
}
