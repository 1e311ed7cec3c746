package bound

import (
	"container/heap"
	"context"
	"math"
	"math/big"
	"slices"
)

// An exchange is the search for the best AllToAll, by its dual: for any lengths l of arcs, the rate of each pair of
// members is at most Σ b(a)·l(a) over the sum of the distances of all pairs. The program finds the lengths that prove
// most, by shortest-path trees: each tree of a member says that its distances are no longer than the paths in it.
// Arcs of one orbit have one length, and members of one orbit one sum of distances.
type exchange struct {
	ctx    context.Context
	g      *graph
	lp     *program
	arc    []int32 // indexed by arc: its orbit, which is the variable of its length
	arcs   []int64 // indexed by orbit of arcs: their number
	caps   []int64
	from   []int32 // one member of each orbit; its variable stands after those of arcs
	count  []int64 // indexed as from: the members of its orbit
	trees  []tree
	pairs  int64
	total  float64   // capacity of all arcs
	best   []float64 // the lengths that prove most so far
	proves float64   // the rate that they prove
}

// A tree is the paths from a member to all others: how often they use the arcs of each orbit.
type tree struct {
	source int // index in from
	uses   []int64
}

// allToAll returns a rate of each pair that no AllToAll exceeds, the lengths that prove it, and a rate that one
// reaches.
func (g *graph) allToAll(ctx context.Context, sym *symmetry) (upper, lower *big.Rat, lengths []int64) {
	x := newExchange(ctx, g, sym)
	for x.grow() && x.lp.solve(ctx) == nil {
	}
	x.lp.settle(ctx)
	for x.grow() && x.lp.solve(ctx) == nil {
	}
	upper, lengths = x.upper()
	return upper, x.lower(), lengths
}

func newExchange(ctx context.Context, g *graph, sym *symmetry) *exchange {
	x := &exchange{ctx: ctx, g: g, from: sym.probes(g.gpu), proves: math.Inf(1)}
	for _, v := range x.from {
		n := int64(0)
		for _, m := range g.gpu {
			if sym.vertices.find(m) == sym.vertices.find(v) {
				n++
			}
		}
		x.count = append(x.count, n)
	}
	x.arc, x.arcs = sym.arcs.number()
	x.caps = make([]int64, len(x.arcs))
	for i, a := range g.arcs {
		x.caps[x.arc[i]] = a.cap
		x.total += float64(a.cap)
	}
	x.pairs = int64(len(g.gpu)) * int64(len(g.gpu)-1)
	cost := make([]float64, len(x.arcs)+len(x.from))
	for o, n := range x.arcs {
		cost[o] = -float64(n) * float64(x.caps[o]) / x.total
	}
	x.lp = newProgram(cost)
	sums := map[int]float64{}
	for k, n := range x.count {
		sums[len(x.arcs)+k] = -float64(n) / float64(len(g.gpu))
	}
	x.lp.add(sums, -1) // lengths are such that distances are 1/(members - 1) on average
	return x
}

// lengths returns those of the program's solution; at first all arcs of one capacity are as long.
func (x *exchange) lengths() []float64 {
	list := make([]float64, len(x.arcs))
	for o := range list {
		if list[o] = x.lp.x(o); len(x.trees) == 0 {
			list[o] = 1 / float64(x.caps[o])
		}
	}
	return list
}

// grow adds the shortest-path trees of the program's lengths that its rows do not have, and of lengths between these
// and the best so far. It reports whether there are any.
func (x *exchange) grow() bool {
	lengths := x.lengths()
	found := x.look(lengths)
	if found && x.best != nil {
		mixed := make([]float64, len(lengths))
		for o := range mixed {
			mixed[o] = (lengths[o] + x.best[o]) / 2
		}
		x.look(mixed)
	}
	return found && x.ctx.Err() == nil
}

// look adds the shortest-path trees of lengths that are shorter than the program takes them for, and keeps the lengths
// if they prove more than others.
func (x *exchange) look(lengths []float64) (found bool) {
	worth, sum := 0., 0.
	for o, l := range lengths {
		worth += float64(x.arcs[o]) * float64(x.caps[o]) * l
	}
	first := len(x.trees) == 0
	for k, v := range x.from {
		if x.ctx.Err() != nil {
			return false
		}
		uses, far := x.paths(v, lengths)
		sum += far * float64(x.count[k])
		if has := x.lp.x(len(x.arcs) + k); first || has > far+x.lp.slack()*max(has, far, 1) {
			found = x.add(tree{k, uses}) || found
		}
	}
	if rate := worth / sum; rate < x.proves && sum > 0 {
		x.proves, x.best = rate, normal(lengths, sum/float64(len(x.g.gpu)))
	}
	return found
}

// normal returns lengths divided by a number.
func normal(lengths []float64, by float64) []float64 {
	list := make([]float64, len(lengths))
	for i, l := range lengths {
		list[i] = l / by
	}
	return list
}

// add adds the row of a tree, and reports whether the solution violates it.
func (x *exchange) add(t tree) bool {
	row := map[int]float64{len(x.arcs) + t.source: 1}
	for o, n := range t.uses {
		if n > 0 {
			row[o] = -float64(n)
		}
	}
	x.trees = append(x.trees, t)
	return x.lp.add(row, 0) || len(x.trees) <= len(x.from)
}

// paths returns how often shortest paths from v to all other members use the arcs of each orbit, and the sum of their
// lengths.
func (x *exchange) paths(v int32, lengths []float64) (uses []int64, far float64) {
	dist, into, order := shortest(x.g, v, func(i int) float64 { return lengths[x.arc[i]] })
	below := make([]int64, x.g.n)
	for _, m := range x.g.gpu {
		below[m] = 1
		far += dist[m]
	}
	uses = make([]int64, len(x.arcs))
	for _, u := range slices.Backward(order) {
		if i := into[u]; i >= 0 {
			uses[x.arc[i]] += below[u]
			below[x.g.arcs[i].from] += below[u]
		}
	}
	return uses, far
}

// upper returns the rate that the best lengths prove, in exact arithmetic, and the lengths by arc. Whatever the lengths
// are, the result is valid.
func (x *exchange) upper() (rate *big.Rat, lengths []int64) {
	if x.best == nil {
		return nil, nil
	}
	most := slices.Max(x.best)
	list := make([]*big.Rat, len(x.best))
	for o, l := range x.best {
		list[o] = simplest(l/most, rounding)
	}
	ints, _ := whole(list)
	worth, sum := new(big.Int), new(big.Int)
	lengths = make([]int64, len(x.g.arcs))
	for i, a := range x.g.arcs {
		lengths[i] = ints[x.arc[i]]
		worth.Add(worth, new(big.Int).Mul(big.NewInt(lengths[i]), big.NewInt(a.cap)))
	}
	for k, v := range x.from {
		dist, _, _ := shortest(x.g, v, func(i int) int64 { return lengths[i] })
		for _, m := range x.g.gpu {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(dist[m]), big.NewInt(x.count[k])))
		}
	}
	if sum.Sign() == 0 {
		return nil, nil
	}
	return new(big.Rat).SetFrac(worth, sum), lengths
}

// lower returns the rate that the trees reach in the mixture that the program's dual values say, in exact arithmetic.
func (x *exchange) lower() *big.Rat {
	parts, sums := make([]*big.Rat, len(x.trees)), zeros(len(x.from))
	scale := 0.
	for k := range x.trees {
		scale = max(scale, x.lp.dual(1+k))
	}
	if scale == 0 {
		return nil
	}
	for k, t := range x.trees {
		if d := x.lp.dual(1+k) / scale; d > 1e-9 {
			parts[k] = simplest(d, rounding)
			sums[t.source].Add(sums[t.source], parts[k])
		}
	}
	load := zeros(len(x.arcs))
	for k, t := range x.trees {
		if parts[k] == nil {
			continue
		}
		part := times(new(big.Rat).Quo(parts[k], sums[t.source]), x.count[t.source])
		for o, n := range t.uses {
			if n > 0 {
				load[o].Add(load[o], times(part, n))
			}
		}
	}
	var least *big.Rat
	for o := range load {
		if load[o].Sign() == 0 {
			continue
		}
		if r := new(big.Rat).Quo(big.NewRat(x.arcs[o]*x.caps[o], 1), load[o]); least == nil || r.Cmp(least) < 0 {
			least = r
		}
	}
	for _, s := range sums {
		if s.Sign() == 0 {
			return nil
		}
	}
	return least
}

// shortest finds the shortest paths from v (Dijkstra): the distances, the last arc of each path or -1, and the vertices
// that are reached, the nearest first.
func shortest[L int64 | float64](g *graph, v int32, length func(arc int) L) (dist []L, into []int32, order []int32) {
	dist, into = make([]L, g.n), make([]int32, g.n)
	done, seen := make([]bool, g.n), make([]bool, g.n)
	for i := range into {
		into[i] = -1
	}
	near := &vertices[L]{{0, v}}
	seen[v] = true
	for len(*near) > 0 {
		u := heap.Pop(near).(vertex[L]).v
		if done[u] {
			continue
		}
		done[u] = true
		order = append(order, u)
		for i := g.first[u]; i < g.first[u+1]; i++ {
			t, d := g.arcs[i].to, dist[u]+length(int(i))
			if !done[t] && (!seen[t] || d < dist[t]) {
				seen[t], dist[t], into[t] = true, d, i
				heap.Push(near, vertex[L]{d, t})
			}
		}
	}
	return dist, into, order
}

type vertex[L int64 | float64] struct {
	dist L
	v    int32
}

// vertices are a heap, the nearest first.
type vertices[L int64 | float64] []vertex[L]

func (h vertices[L]) Len() int           { return len(h) }
func (h vertices[L]) Less(i, j int) bool { return h[i].dist < h[j].dist }
func (h vertices[L]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *vertices[L]) Push(x any) { *h = append(*h, x.(vertex[L])) }

// Pop implements heap.Interface.
func (h *vertices[L]) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
