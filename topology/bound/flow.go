package bound

import (
	"math"

	"mscclc/internal/maxflow"
)

// A network finds maximum flows. Its edges are the arcs of a graph, in their order, and those that connect adds.
type network struct{ maxflow.Network }

// newNetwork makes a network of g's arcs, and room for some more vertices.
func newNetwork(g *graph, more int) *network {
	n := &network{}
	n.Grow(g.n + more)
	for _, a := range g.arcs {
		n.connect(a.from, a.to)
	}
	return n
}

// connect adds an edge.
func (n *network) connect(from, to int32) { n.Add(from, to, 0, 0) }

// set gives edge i a capacity.
func (n *network) set(i int, c int64) { n.Set(int32(2*i), c) }

// flow returns the maximum flow from s to t.
func (n *network) flow(s, t int32) int64 {
	n.Reset()
	return n.Flow(s, t, math.MaxInt64)
}

// side returns which of the first count vertices are on the source's side of a minimum cut of the last flow.
func (n *network) side(count int) []bool {
	set := make([]bool, count)
	for v := range set {
		set[v] = n.Reached(v)
	}
	return set
}
