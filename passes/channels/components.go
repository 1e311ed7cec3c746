package channels

import (
	"cmp"
	"slices"
)

// components finds the strongly connected components of a graph, in which edges[i] lists the nodes that node i has an
// edge to. of[i] is the component of node i; components are numbered by their least nodes, so that the numbers are the
// same in each run. cycle is the greatest node that has another in its component, or -1.
func components(edges [][]int32) (of []int32, cycle int32) {
	t := &tarjan{edges: edges, seen: make([]int32, len(edges)), low: make([]int32, len(edges))}
	for i := range edges {
		if t.seen[i] == 0 {
			t.from(int32(i))
		}
	}
	for _, nodes := range t.all {
		slices.Sort(nodes)
	}
	slices.SortFunc(t.all, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	of, cycle = make([]int32, len(edges)), -1
	for k, nodes := range t.all {
		for _, n := range nodes {
			of[n] = int32(k)
		}
		if len(nodes) > 1 {
			cycle = max(cycle, nodes[len(nodes)-1])
		}
	}
	return of, cycle
}

// A tarjan is a run of Tarjan's algorithm, which keeps its own stack: graphs may be deep.
type tarjan struct {
	edges [][]int32
	count int32
	seen  []int32 // by node: the order in which it was found, from 1; or 0
	low   []int32 // the earliest node on the path that it reaches; done where it has its component
	path  []int32 // the nodes that have no component yet
	all   [][]int32
}

// done is the low of nodes that have their component.
const done = 1<<31 - 1

// from visits what node root reaches.
func (t *tarjan) from(root int32) {
	type visit struct{ node, edge int32 }
	open := []visit{{t.find(root), 0}}
	for len(open) > 0 {
		v := &open[len(open)-1]
		if list := t.edges[v.node]; int(v.edge) < len(list) {
			to := list[v.edge]
			v.edge++
			if t.seen[to] == 0 {
				open = append(open, visit{t.find(to), 0})
			} else {
				t.low[v.node] = min(t.low[v.node], t.low[to])
			}
			continue
		}
		n := v.node
		open = open[:len(open)-1]
		low := t.low[n]
		if low == t.seen[n] {
			t.close(n)
		}
		if len(open) > 0 {
			above := open[len(open)-1].node
			t.low[above] = min(t.low[above], low)
		}
	}
}

// find puts a node on the path.
func (t *tarjan) find(n int32) int32 {
	t.count++
	t.seen[n], t.low[n] = t.count, t.count
	t.path = append(t.path, n)
	return n
}

// close makes a component of node n and what is after it on the path.
func (t *tarjan) close(n int32) {
	at := len(t.path) - 1
	for t.path[at] != n {
		at--
	}
	nodes := slices.Clone(t.path[at:])
	t.path = t.path[:at]
	for _, m := range nodes {
		t.low[m] = done
	}
	t.all = append(t.all, nodes)
}
