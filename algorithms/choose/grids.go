package choose

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir/either"
	"mscclc/selection"
	"mscclc/topology"
)

// This file sets the parameters of shape of the catalog's programs: rows, nodes with gpus, and orders of rings. A
// program that has some is named with them: allgather/swing:rows=4 is allgather/swing -p rows=4.

// shapeParams are the parameters of shape but for orders of rings.
var shapeParams = []string{"rows", "nodes", "gpus"}

// ringParams are the parameters of rings that follow links: orders as numbers, as algorithms/allreduce/orders.mscl
// reads them.
var ringParams = []string{"first", "second", "third", "fourth"}

// Unshaped returns the name of a program without its parameters of shape, and these. ok is false where what follows the
// colon is no list of such parameters.
func Unshaped(program string) (name string, params map[string]int, ok bool) {
	name, text, any := strings.Cut(program, ":")
	params = map[string]int{}
	if !any {
		return name, params, true
	}
	for word := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(value)
		if _, twice := params[key]; err != nil || n < 1 || twice ||
			!slices.Contains(ringParams, key) && (n > MostRanks || !slices.Contains(shapeParams, key)) {
			return program, nil, false
		}
		params[key] = n
	}
	return name, params, shapedName(name, params) == program
}

// shapedName names a program with parameters of shape.
func shapedName(name string, params map[string]int) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(params)) {
		words = append(words, fmt.Sprintf("%s=%d", key, params[key]))
	}
	return name + ":" + strings.Join(words, ",")
}

// catalog returns the forms of the catalog's programs, with parameters of shape too.
func (s *Selector) catalog() (list []selection.Choice) {
	shapes := map[string][]string{}
	for _, v := range candidates(s.Call.Kind, 2) {
		if _, known := shapes[v.Program]; !known {
			shapes[v.Program] = append([]string{v.Program}, s.shaped(v.Program)...)
		}
		list = append(list, v)
		for _, program := range shapes[v.Program][1:] {
			w := v
			w.Program = program
			list = append(list, w)
		}
	}
	if rings := s.rings(); len(rings) > 0 {
		for _, v := range ringed(s.Call.Kind) {
			v.Program = shapedName(v.Program, rings)
			list = append(list, v)
		}
	}
	return list
}

// rings returns the orders of rings that follow the topology's links, or none.
func (s *Selector) rings() map[string]int {
	if s.Call.Ranks != s.Topology.Ranks() || s.Topology.Nodes > 1 || s.flat {
		return nil
	}
	params := map[string]int{}
	for i, ring := range s.Topology.Rings() {
		params[ringParams[i]] = ringNumber(ring)
	}
	return params
}

// ringNumber returns the number of an order of ranks, which begins with rank 0.
func ringNumber(ring []int32) (number int) {
	base := 10
	if len(ring) > 10 {
		base = 16
	}
	for _, r := range ring {
		number = number*base + int(r)
	}
	return number
}

// NoRing says that no rings follow the links of the topology, though links join GPUs directly. Else it is "".
func (s *Selector) NoRing() string {
	t := s.Topology
	if len(ringed(s.Call.Kind)) == 0 || !t.HasDirect() || t.Nodes > 1 || t.Ranks() < 3 ||
		t.Ranks() > topology.MostRingRanks || len(t.Rings()) > 0 {
		return ""
	}
	return fmt.Sprintf("no ring through all GPUs of %s along its direct links was found", t.Name)
}

// unseat has a program whose nodes are set as parameters of shape say nothing of the nodes of a machine.
func unseat(p *either.Program, program string) {
	if _, params, _ := Unshaped(program); params["nodes"] > 0 {
		p.RanksPerNode = 0
	}
}

// shaped returns the programs that a program of the catalog is with parameters of shape that fit the topology.
func (s *Selector) shaped(name string) (list []string) {
	is, ranks := factsInCatalog(name), s.Call.Ranks
	for _, d := range s.rows() {
		switch {
		case is.flat && is.rowed && d != is.rows(ranks):
			list = append(list, shapedName(name, map[string]int{"rows": d}))
		case is.nodal && d != s.Call.Nodes:
			list = append(list, shapedName(name, map[string]int{"nodes": d, "gpus": ranks / d}))
		}
	}
	return list
}

// rows returns the numbers of rows of which the topology's GPUs are a grid: a torus, nodes, or groups within nodes
// whose GPUs are nearer to each other than to others.
func (s *Selector) rows() (list []int) {
	n := s.Call.Ranks
	if n != s.Topology.Ranks() || n > mostGrid || s.flat { // of other calls, ranks lie otherwise than they are simulated
		return nil
	}
	g := newGrid(s.Topology)
	for d := 2; d < n; d++ {
		if n%d == 0 && (d == s.Topology.Nodes || g.torus(d, n/d) || g.groups(d, n/d)) {
			list = append(list, d)
		}
	}
	return list
}

// mostGrid is how many GPUs a topology has at most that is looked at for grids within its nodes.
const mostGrid = 1 << 10

// A grid says how near GPUs of a topology are.
type grid struct {
	t      *topology.Topology
	direct map[[2]int32]bool // GPUs that a link joins
}

func newGrid(t *topology.Topology) *grid {
	g := &grid{t, map[[2]int32]bool{}}
	for _, l := range t.Links {
		if int(l.From) < t.Ranks() && int(l.To) < t.Ranks() {
			g.direct[[2]int32{l.From, l.To}] = true
		}
	}
	return g
}

// torus reports whether links join each GPU with its four neighbours, of a given number of rows and columns.
func (g *grid) torus(rows, columns int) bool {
	if len(g.direct) == 0 {
		return false
	}
	for r := range g.t.Ranks() {
		right := r/columns*columns + (r+1)%columns
		down := (r + columns) % g.t.Ranks()
		for _, o := range [2]int{right, down} {
			if !g.direct[[2]int32{int32(r), int32(o)}] || !g.direct[[2]int32{int32(o), int32(r)}] {
				return false
			}
		}
	}
	return true
}

// groups reports whether GPUs of one node are groups of equal size, which fewer links join than the GPUs of a group.
func (g *grid) groups(count, size int) bool {
	if g.t.Nodes > 1 || len(g.direct) > 0 {
		return false
	}
	near, far := 0, 1<<30
	for a := range g.t.Ranks() {
		pairs := make([][2]int32, 0, g.t.Ranks())
		for b := range g.t.Ranks() {
			pairs = append(pairs, [2]int32{int32(a), int32(b)})
		}
		ids, ways := g.t.Ways(pairs)
		for b, id := range ids {
			switch hops := len(ways[id]); {
			case a == b:
			case a/size == b/size:
				near = max(near, hops)
			default:
				far = min(far, hops)
			}
		}
		if near >= far {
			return false
		}
	}
	return true
}
