package channels

import (
	"cmp"
	"slices"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// components finds the strongly connected components of a graph, in which edges[i] lists the nodes that node i has an
// edge to. of[i] is the component of node i; components are numbered by their least nodes, so that the numbers are the
// same in each run. cycle is the greatest node that has another in its component, or -1.
func components(edges [][]int32) (of []int32, cycle int32) {
	g := simple.NewDirectedGraph()
	for i := range edges {
		g.AddNode(simple.Node(i))
	}
	for i, list := range edges {
		for _, j := range list {
			if j != int32(i) {
				g.SetEdge(simple.Edge{F: simple.Node(i), T: simple.Node(j)})
			}
		}
	}
	all := topo.TarjanSCC(g)
	byID := func(a, b graph.Node) int { return cmp.Compare(a.ID(), b.ID()) }
	for _, nodes := range all {
		slices.SortFunc(nodes, byID)
	}
	slices.SortFunc(all, func(a, b []graph.Node) int { return byID(a[0], b[0]) })
	of, cycle = make([]int32, len(edges)), -1
	for k, nodes := range all {
		for _, n := range nodes {
			of[n.ID()] = int32(k)
		}
		if len(nodes) > 1 {
			cycle = max(cycle, int32(nodes[len(nodes)-1].ID()))
		}
	}
	return of, cycle
}
