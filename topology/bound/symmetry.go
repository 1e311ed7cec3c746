package bound

import (
	"context"
	"math/rand/v2"
	"slices"
)

// A symmetry knows which vertices and arcs of a graph are images of each other by automorphisms, each of which was
// verified arc by arc.
type symmetry struct {
	g        *graph
	vertices sets
	arcs     sets
	images   [][]int32 // the automorphisms that joined orbits, as the image of each vertex: their group has these orbits
}

// How many automorphisms are looked for after one that joins no orbits, how often one for a pair may fail, and how many
// images it may reject.
const (
	idle      = 3
	failures  = 6
	mostWrong = 64
)

// symmetryOf finds automorphisms that keep the colours of vertices, at random but the same ones each time. Where it
// misses some, or where ctx is done, orbits are smaller than they could be, which costs time and nothing else.
func symmetryOf(ctx context.Context, g *graph, colour []int64) *symmetry {
	s := &symmetry{g: g, vertices: newSets(g.n), arcs: newSets(len(g.arcs))}
	base := newPartition(g, colour)
	random := rand.New(rand.NewPCG(1, 2))
	for waste, failed := 0, 0; waste < idle && failed < failures && ctx.Err() == nil; {
		u, v, ok := s.apart(base, random)
		if !ok {
			return s
		}
		image := base.automorphism(u, v, random)
		switch {
		case image == nil:
			failed++
		case s.join(image):
			s.images = append(s.images, image)
			waste = 0
		default:
			waste++
		}
	}
	return s
}

// apart returns two vertices that look alike and are of different orbits; or of one orbit, where there are none, to
// join arcs. It returns false where no vertex looks like another.
func (s *symmetry) apart(p *partition, random *rand.Rand) (u, v int32, ok bool) {
	offset := random.IntN(s.g.n)
	for pass := range 2 {
		for i := range s.g.n {
			u = int32((i + offset) % s.g.n)
			c := p.cell[u]
			if p.size[c] == 2 {
				continue
			}
			if v = p.members(c, -1, random)[0]; pass == 1 || s.vertices.find(u) != s.vertices.find(v) {
				return u, v, true
			}
		}
	}
	return 0, 0, false
}

// members returns the vertices of one copy in a cell, in random order.
func (p *partition) members(c int32, of int, random *rand.Rand) (list []int32) {
	for _, v := range p.elems[c : c+p.size[c]] {
		if p.copyOf(v) == of {
			list = append(list, v%int32(p.g.n))
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// automorphism returns a symmetry that takes u to v, as the image of each vertex; or nil where it finds none. It takes
// the first image of each vertex that refining does not reject, and does not come back to that.
func (p *partition) automorphism(u, v int32, random *rand.Rand) []int32 {
	p = p.clone()
	if !p.individualise(u, v) {
		return nil
	}
	wrong := 0
	for at := int32(0); int(at) < len(p.elems); {
		c := p.cell[p.elems[at]]
		if p.size[c] == 2 {
			at = c + 2
			continue
		}
		x, found := p.members(c, 1, random)[0], false
		for _, y := range p.members(c, -1, random) {
			q := p.clone()
			if found = q.individualise(x, y); found {
				p = q
				break
			}
			if wrong++; wrong > mostWrong {
				return nil
			}
		}
		if !found {
			return nil
		}
	}
	image := make([]int32, p.g.n)
	for at := 0; at < len(p.elems); at += 2 {
		a, b := p.elems[at], p.elems[at+1]
		image[min(a, b)] = max(a, b) - int32(p.g.n)
	}
	for _, a := range p.g.arcs {
		if i := p.g.find(image[a.from], image[a.to]); i < 0 || p.g.arcs[i].cap != a.cap {
			return nil
		}
	}
	return image
}

// join joins the orbits of what an automorphism takes to each other, and reports whether any were apart.
func (s *symmetry) join(image []int32) (joined bool) {
	for v, w := range image {
		joined = s.vertices.join(int32(v), w) || joined
	}
	for i, a := range s.g.arcs {
		joined = s.arcs.join(int32(i), int32(s.g.find(image[a.from], image[a.to]))) || joined
	}
	return joined
}

// probes returns the first of each orbit of vertices among a list.
func (s *symmetry) probes(list []int32) (firsts []int32) {
	for _, v := range list {
		if !slices.ContainsFunc(firsts, func(f int32) bool { return s.vertices.find(f) == s.vertices.find(v) }) {
			firsts = append(firsts, v)
		}
	}
	return firsts
}

// sets are disjoint sets of numbers; up leads towards the first of a set.
type sets struct{ up []int32 }

func newSets(n int) sets {
	s := sets{make([]int32, n)}
	for i := range s.up {
		s.up[i] = int32(i)
	}
	return s
}

func (s sets) find(i int32) int32 {
	for s.up[i] != i {
		s.up[i] = s.up[s.up[i]]
		i = s.up[i]
	}
	return i
}

func (s sets) join(i, j int32) bool {
	i, j = s.find(i), s.find(j)
	s.up[max(i, j)] = min(i, j)
	return i != j
}

// number numbers the sets from 0, in the order of their first members: the number of each member's set, and the size of
// each set.
func (s sets) number() (of []int32, size []int64) {
	of = make([]int32, len(s.up))
	for i := range s.up {
		if f := s.find(int32(i)); int(f) == i {
			of[i] = int32(len(size))
			size = append(size, 1)
		} else {
			of[i] = of[f]
			size[of[i]]++
		}
	}
	return of, size
}

// orbit returns the images of a set of vertices by all automorphisms that were found, or nil if they are more than
// most.
func (s *symmetry) orbit(set []bool, most int) (list [][]bool) {
	key := func(set []bool) string {
		b := make([]byte, len(set))
		for v, in := range set {
			if in {
				b[v] = 1
			}
		}
		return string(b)
	}
	list = append(list, set)
	seen := map[string]bool{key(set): true}
	for i := 0; i < len(list); i++ {
		for _, image := range s.images {
			next := make([]bool, len(set))
			for v, in := range list[i] {
				next[image[v]] = in
			}
			if k := key(next); !seen[k] {
				if seen[k] = true; len(list) == most {
					return nil
				}
				list = append(list, next)
			}
		}
	}
	return list
}
