package synthesis

import (
	"cmp"
	"maps"
	"slices"
)

// A network is directed arcs of whole capacities between vertices, of which the first ranks are GPUs and the rest are
// switches and NICs. Capacities change as switches are removed and trees are packed.
type network struct {
	n     int // vertices
	ranks int
	arcs  map[[2]int32][]piece // by ends: what makes up the arc
	out   []map[int32]bool     // indexed by vertex: where its arcs lead
	in    []map[int32]bool
}

// A piece is a part of an arc's capacity, and the way that it goes: vertices of the machine, whose inner ones are
// switches and NICs.
type piece struct {
	amount int64
	way    []int32
}

func newNetwork(n, ranks int) *network {
	net := &network{n: n, ranks: ranks, arcs: map[[2]int32][]piece{},
		out: make([]map[int32]bool, n), in: make([]map[int32]bool, n)}
	for v := range n {
		net.out[v], net.in[v] = map[int32]bool{}, map[int32]bool{}
	}
	return net
}

// add gives the arc of the way's ends so much capacity more, along the way.
func (net *network) add(amount int64, way []int32) {
	if amount == 0 {
		return
	}
	u, v := way[0], way[len(way)-1]
	list := net.arcs[[2]int32{u, v}]
	if i := slices.IndexFunc(list, func(p piece) bool { return slices.Equal(p.way, way) }); i >= 0 {
		list[i].amount += amount
		return
	}
	net.arcs[[2]int32{u, v}] = append(list, piece{amount, way})
	net.out[u][v], net.in[v][u] = true, true
}

// take takes so much capacity from an arc, which has that much: of its shortest ways first.
func (net *network) take(u, v int32, amount int64) (taken []piece) {
	key := [2]int32{u, v}
	list := net.arcs[key]
	slices.SortStableFunc(list, func(a, b piece) int { return cmp.Compare(len(a.way), len(b.way)) })
	for amount > 0 {
		d := min(amount, list[0].amount)
		taken = append(taken, piece{d, list[0].way})
		amount -= d
		if list[0].amount -= d; list[0].amount == 0 {
			list = list[1:]
		}
	}
	if net.arcs[key] = list; len(list) == 0 {
		delete(net.arcs, key)
		delete(net.out[u], v)
		delete(net.in[v], u)
	}
	return taken
}

func (net *network) cap(u, v int32) (sum int64) {
	for _, p := range net.arcs[[2]int32{u, v}] {
		sum += p.amount
	}
	return sum
}

func (net *network) clone() *network {
	c := newNetwork(net.n, net.ranks)
	for k, list := range net.arcs {
		c.arcs[k] = slices.Clone(list)
		c.out[k[0]][k[1]], c.in[k[1]][k[0]] = true, true
	}
	return c
}

// entering and leaving return the capacity of a vertex's arcs.
func (net *network) entering(v int32) (sum int64) {
	for u := range net.in[v] {
		sum += net.cap(u, v)
	}
	return sum
}

func (net *network) leaving(u int32) (sum int64) {
	for v := range net.out[u] {
		sum += net.cap(u, v)
	}
	return sum
}

// sorted returns the ends of all arcs in order, so that the same network gives the same trees.
func (net *network) sorted() [][2]int32 {
	keys := make([][2]int32, 0, len(net.arcs))
	for k := range net.arcs {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return keys
}

// keys returns a set's members in order.
func keys(set map[int32]bool) []int32 { return slices.Sorted(maps.Keys(set)) }
