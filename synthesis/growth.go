package synthesis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"mscclc/internal/heap"
)

// This file shares out links among parts, each of which goes over some of them. Links are the longer the more they
// carry, exponentially (Garg, Könemann). Each part in turn takes the shortest way that it can, until no turn makes the
// busiest link carry less.

// A growth is the ways of all parts. A part has hops from rank to rank, each of which is arcs one after the other.
type growth struct {
	m     *Machine
	find  func(part int) [][]int32 // the shortest hops of a part, or nil
	first []int32                  // indexed by vertex: its first arc in arcs; one more is the end
	arcs  []Arc                    // sorted by From
	orbit []int32                  // indexed by arc: arcs of one orbit carry the same; nil where each is its own
	times []int64                  // indexed by arc: by how many images of a part, where orbit is set
	carry []int64                  // indexed by arc, the one that its orbit is called by: parts
	hops  [][][]int32              // indexed by part
	steep float64                  // how the lengths of arcs grow with what they carry
	usual float64                  // what an arc carries for each unit of its capacity
	most  float64                  // where it is set, all that an arc may carry for each unit
	size  []float64                // indexed by arc: its length

	dist    []float64 // indexed by vertex: what reach found last
	into    []int32
	reached heap.Heap // of reach, kept for the next time

	near    [][]int32 // indexed by rank: see beside
	turns   [][]int32 // indexed by rank: the symmetry that takes rank 0 there, by vertex; nil where there are none
	changes int       // how often a length changed
	seen    int       // changes when offer asked reach last
}

// sweeps is how often all parts are routed at most, and steepness what growth.steep is in these.
const sweeps = 24

var steepness = []float64{4, 8, 16, 32, 64, 64, 32}

func newGrowth(m *Machine, parts int) *growth {
	g := &growth{m: m, first: make([]int32, m.Vertices+1), arcs: slices.Clone(m.Arcs), carry: make([]int64, len(m.Arcs)),
		size: make([]float64, len(m.Arcs)), hops: make([][][]int32, parts), dist: make([]float64, m.Vertices),
		into: make([]int32, m.Vertices)}
	slices.SortFunc(g.arcs, func(a, b Arc) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	for _, a := range g.arcs {
		g.first[a.From+1]++
	}
	for v := range m.Vertices {
		g.first[v+1] += g.first[v]
	}
	return g
}

// least returns the ways in which the busiest arc carries least. The search ends where no arc carries more than enough
// parts for each unit of its capacity.
func (g *growth) least(ctx context.Context, enough *big.Rat) (*Forest, error) {
	goal, _ := enough.Float64()
	least, best := math.Inf(1), [][][]int32(nil)
	for sweep := 0; sweep < sweeps && least > goal*(1+1e-9); sweep++ {
		g.steep, g.usual, g.most = steepness[sweep%len(steepness)], max(goal, g.busiest()), 0
		if sweep == 0 {
			g.most = math.Inf(1) // the fewest ranks may do
		}
		g.measureAll()
		for k := range g.hops {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !g.again(k) {
				return nil, ErrNoFit
			}
		}
		if b := g.busiest(); b < least {
			least, best = b, slices.Clone(g.hops)
		}
	}
	g.shorten(least, best)
	return g.forest(), nil
}

// again finds the way of a part anew. It is false where there is none.
func (g *growth) again(k int) bool {
	g.load(k, -1)
	g.hops[k] = g.find(k)
	g.load(k, 1)
	return g.hops[k] != nil
}

// load adds to what the arcs of a part carry.
func (g *growth) load(k int, parts int64) {
	for _, hop := range g.hops[k] {
		g.loadHop(hop, parts)
	}
}

func (g *growth) loadHop(hop []int32, parts int64) {
	for _, a := range hop {
		times := int64(1)
		if g.orbit != nil {
			times = g.times[a]
		}
		a = g.named(a)
		g.carry[a] += parts * times
		g.measure(a)
	}
}

// named returns the arc that the orbit of an arc is called by.
func (g *growth) named(a int32) int32 {
	if g.orbit == nil {
		return a
	}
	return g.orbit[a]
}

// relayed is how many links a rank on a way counts for, where ways are made as short as they can be.
const relayed = 100

// shorten has parts go over the fewest ranks, and then links, where no arc carries more than least for it.
func (g *growth) shorten(least float64, best [][][]int32) {
	g.hops, g.most = best, least
	clear(g.carry)
	for k := range g.hops {
		g.load(k, 1)
	}
	g.measureAll()
	for range 2 { // what gets a shorter way makes room for others
		for k := range g.hops {
			had := g.hops[k]
			if !g.again(k) { // trees may block themselves
				g.hops[k] = had
				g.load(k, 1)
			}
		}
	}
}

func (g *growth) measureAll() {
	for a := range g.arcs {
		g.measure(int32(a))
	}
}

// measure sets the length of an arc, as if it carried one part more, with its images.
func (g *growth) measure(a int32) {
	c, more, size := float64(g.arcs[a].Cap), float64(1), float64(1)
	if g.orbit != nil {
		more = float64(g.times[a])
	}
	switch {
	case g.most == 0:
		size = (math.Exp(g.steep*((float64(g.carry[a])+more)/c/g.usual-1)) + 1e-9) / c
	case (float64(g.carry[a])+more)/c > g.most*(1+1e-9):
		size = math.Inf(1)
	case int(g.arcs[a].To) < g.m.Ranks:
		size = relayed
	}
	if size != g.size[a] {
		g.size[a] = size
		g.changes++
	}
}

func (g *growth) busiest() (most float64) {
	for a, n := range g.carry {
		most = max(most, float64(n)/float64(g.arcs[a].Cap))
	}
	return most
}

// reach finds the shortest ways from a vertex to others (Dijkstra), until one is found, unless to is below 0. Without
// relays they pass through no rank.
func (g *growth) reach(from, to int32, relays bool) {
	for v := range g.dist {
		g.dist[v], g.into[v] = math.Inf(1), -1
	}
	g.dist[from] = 0
	near := append(g.reached[:0], heap.Item{At: 0, Of: from})
	for len(near) > 0 {
		at := near[0]
		near.Pop()
		if at.Of == to {
			break
		}
		if at.At > g.dist[at.Of] || !relays && at.Of != from && int(at.Of) < g.m.Ranks {
			continue
		}
		for a := g.first[at.Of]; a < g.first[at.Of+1]; a++ {
			if t, far := g.arcs[a].To, at.At+g.size[g.named(a)]; far < g.dist[t] {
				g.dist[t], g.into[t] = far, a
				near.Push(heap.Item{At: far, Of: t})
			}
		}
	}
	g.reached = near
}

// forest returns the parts as trees, those of equal hops together. The scale is what the busiest arc carries.
func (g *growth) forest() *Forest {
	f := &Forest{Scale: new(big.Rat)}
	number := map[string]int{}
	for _, hops := range g.hops {
		name := fmt.Sprint(hops)
		i, ok := number[name]
		if !ok {
			i = len(f.Trees)
			number[name] = i
			f.Trees = append(f.Trees, g.tree(hops))
		}
		f.Trees[i].Count++
	}
	for a, n := range g.carry {
		if x := big.NewRat(n, g.arcs[a].Cap); x.Cmp(f.Scale) > 0 {
			f.Scale = x
		}
	}
	for _, t := range f.Trees {
		for h := range t.Hops {
			t.Hops[h].ways[0].amount = t.Count
		}
	}
	return f
}

// tree returns hops as a tree, whose root is where the first one begins.
func (g *growth) tree(hops [][]int32) (t Tree) {
	t.Root = g.arcs[hops[0][0]].From
	for _, hop := range hops {
		at := []int32{g.arcs[hop[0]].From}
		for _, a := range hop {
			at = append(at, g.arcs[a].To)
		}
		t.Hops = append(t.Hops, Hop{at[0], at[len(at)-1], []piece{{0, at}}})
	}
	return t
}
