package bound

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"mscclc/ir/diag"
	"mscclc/topology"
)

// A graph is what a collective runs on: vertices and directed arcs of whole capacities. All capacities are divided by
// their greatest common divisor, so that flows stay small.
type graph struct {
	n      int       // vertices
	arcs   []arc     // sorted by from and to, one for each pair
	first  []int32   // indexed by vertex: its first arc; one more is the end
	unit   *big.Rat  // MB/s of a capacity of 1
	gpu    []int32   // indexed by member: its vertex
	place  [][]int32 // indexed by vertex: its place of the topology, and those that lead nowhere but there
	passes []bool    // indexed by vertex: it is no GPU, and neither copies nor adds
}

type arc struct {
	from, to int32
	cap      int64
}

// What the arithmetic of a graph has room for: products of a sum of capacities and a sum of weights.
const (
	fraction  = 1000 // capacities are counted in kB/s
	mostTotal = math.MaxInt64 / 4
)

// newGraph makes the graph of links between GPUs, which are members, and what joins them. Other GPUs are relays, unless
// noRelay is set. Links of class network are left out where all members reach each other's memory without them: what
// goes through a NIC and back is no second path within a node.
func newGraph(t *topology.Topology, members []int32, noRelay bool) (*graph, error) {
	dropped := sameDomain(t, members)
	member := make([]bool, len(t.Places))
	for _, m := range members {
		member[m] = true
	}
	sums := map[[2]int32]int64{}
	for l, k := range t.Links {
		switch c := math.Round(t.Bandwidth(int32(l)) * fraction); {
		case math.IsNaN(c) || c < 0 || c > 1e15:
			return nil, diag.List{diag.New(diag.Limit, diag.Span{}, "%s has a bandwidth of %g MB/s", t.LinkName(int32(l)),
				t.Bandwidth(int32(l))).WithHint("a bound is computed for links of up to 10^12 MB/s")}
		case c == 0 || dropped && t.Classes[k.Class].Network || k.From == k.To:
		case noRelay && (t.Places[k.From].Kind == topology.GPU && !member[k.From] ||
			t.Places[k.To].Kind == topology.GPU && !member[k.To]):
		default:
			sums[[2]int32{k.From, k.To}] += int64(c)
		}
	}
	return compact(sums, members, t.Places)
}

// sameDomain reports whether all members reach each other's memory by links that are no network.
func sameDomain(t *topology.Topology, members []int32) bool {
	of := t.Domains()
	return !slices.ContainsFunc(members, func(m int32) bool { return of[m] != of[members[0]] })
}

// compact numbers the vertices that can carry something, members first. A place that is no member and has one neighbour
// carries nothing.
func compact(sums map[[2]int32]int64, members []int32, of []topology.Place) (*graph, error) {
	places := len(of)
	near := make([]map[int32]bool, places)
	for p := range sums {
		for k := range 2 {
			if near[p[k]] == nil {
				near[p[k]] = map[int32]bool{}
			}
			near[p[k]][p[1-k]] = true
		}
	}
	member := make([]bool, places)
	for _, m := range members {
		member[m] = true
	}
	var leaves []int32
	for p := range near {
		if !member[p] && len(near[p]) == 1 {
			leaves = append(leaves, int32(p))
		}
	}
	beside := make([][]int32, places) // indexed by place: those that lead nowhere but there
	for len(leaves) > 0 {
		p := leaves[len(leaves)-1]
		leaves = leaves[:len(leaves)-1]
		for o := range near[p] {
			beside[o] = append(append(beside[o], p), beside[p]...)
			delete(sums, [2]int32{p, o})
			delete(sums, [2]int32{o, p})
			if delete(near[o], p); !member[o] && len(near[o]) == 1 {
				leaves = append(leaves, o)
			}
		}
		near[p] = nil
	}
	g := &graph{unit: big.NewRat(1, fraction)}
	number := make([]int32, places)
	add := func(p int32) {
		number[p] = int32(g.n)
		g.place = append(g.place, append([]int32{p}, beside[p]...))
		g.passes = append(g.passes, of[p].Kind != topology.GPU)
		g.n++
	}
	for _, m := range members {
		g.gpu = append(g.gpu, int32(g.n))
		add(m)
	}
	for p := range near {
		if !member[p] && len(near[p]) > 0 {
			add(int32(p))
		}
	}
	for p, c := range sums {
		g.arcs = append(g.arcs, arc{number[p[0]], number[p[1]], c})
	}
	return g, g.finish()
}

// finish sorts the arcs and divides their capacities by the greatest common divisor.
func (g *graph) finish() error {
	slices.SortFunc(g.arcs, func(a, b arc) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	var divisor, total int64
	for _, a := range g.arcs {
		divisor = gcd(divisor, a.cap)
	}
	for i := range g.arcs {
		g.arcs[i].cap /= divisor
		if total += g.arcs[i].cap; total > mostTotal {
			return tooLarge()
		}
	}
	if divisor > 0 {
		g.unit.Mul(g.unit, new(big.Rat).SetInt64(divisor))
	}
	g.first = make([]int32, g.n+1)
	for _, a := range g.arcs {
		g.first[a.from+1]++
	}
	for v := range g.n {
		g.first[v+1] += g.first[v]
	}
	return nil
}

func tooLarge() error {
	return diag.List{diag.New(diag.Limit, diag.Span{}, "the capacities and weights are too large for exact arithmetic in 64 bits").
		WithHint("weigh ranks by smaller numbers, and round bandwidths to MB/s")}
}

// checkTotal returns an error if products of capacities and weights may overflow.
func (g *graph) checkTotal(weights int64) error {
	var total int64
	for _, a := range g.arcs {
		total += a.cap
	}
	if total > 0 && weights > mostTotal/total {
		return tooLarge()
	}
	return nil
}

// reverse returns the graph with all arcs turned around.
func (g *graph) reverse() *graph {
	r := &graph{n: g.n, unit: big.NewRat(1, 1), gpu: g.gpu, place: g.place, passes: g.passes}
	for _, a := range g.arcs {
		r.arcs = append(r.arcs, arc{a.to, a.from, a.cap})
	}
	if err := r.finish(); err != nil {
		panic(err) // g has the same capacities
	}
	r.unit = g.unit
	return r
}

// find returns the index of the arc from u to v, or -1.
func (g *graph) find(u, v int32) int {
	from := g.arcs[g.first[u]:g.first[u+1]]
	i, ok := slices.BinarySearchFunc(from, v, func(a arc, v int32) int { return cmp.Compare(a.to, v) })
	if !ok {
		return -1
	}
	return int(g.first[u]) + i
}

// reached returns which vertices are reached from v.
func (g *graph) reached(v int32) []bool {
	seen := make([]bool, g.n)
	seen[v] = true
	for list := []int32{v}; len(list) > 0; {
		v, list = list[len(list)-1], list[:len(list)-1]
		for _, a := range g.arcs[g.first[v]:g.first[v+1]] {
			if !seen[a.to] {
				seen[a.to] = true
				list = append(list, a.to)
			}
		}
	}
	return seen
}

// leaving returns the capacity of the arcs from a set to the rest.
func (g *graph) leaving(set []bool) (sum int64) {
	for _, a := range g.arcs {
		if set[a.from] && !set[a.to] {
			sum += a.cap
		}
	}
	return sum
}

// crossing returns lengths by which the arcs from a set to the rest are 1 long, and others 0.
func (g *graph) crossing(set []bool) []int64 {
	lengths := make([]int64, len(g.arcs))
	for i, a := range g.arcs {
		if set[a.from] && !set[a.to] {
			lengths[i] = 1
		}
	}
	return lengths
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
