package bound

import (
	"context"
	"math/big"
)

// A ratio is the rate that a cut allows: capacity over weight. A cut of no weight allows any rate.
type ratio struct{ cap, weight int64 }

// less compares two rates exactly.
func (r ratio) less(o ratio) bool {
	if r.weight == 0 || o.weight == 0 {
		return r.weight != 0
	}
	return r.rat().Cmp(o.rat()) < 0
}

func (r ratio) rat() *big.Rat { return big.NewRat(r.cap, r.weight) }

// lowest returns r in its lowest terms.
func (r ratio) lowest() (p, q int64) {
	d := gcd(r.cap, r.weight)
	return r.cap / d, r.weight / d
}

// A least is the smallest ratio that was found, and its cut: the source side.
type least struct {
	ratio
	set   []bool
	exact bool // no cut has a smaller one
}

func (l *least) take(r ratio, set []bool) bool {
	if !r.less(l.ratio) {
		return false
	}
	l.ratio, l.set = r, set
	return true
}

// spread finds the largest rate at which each member can receive everything that roots spread, of which root v has
// weights[v], by copies: the least B+(S)/w(S) over sets S of vertices that miss a member. It is Newton's method, in
// whole numbers: at the ratio of a cut, p/q, a flow to each probe shows whether a cut allows less. It ends early, with
// exact unset, where ctx is done. Probes are members of which each member is the image of one by a symmetry.
func (g *graph) spread(ctx context.Context, weights []int64, probes []int32) (best least) {
	var total int64
	for _, w := range weights {
		total += w
	}
	entering := make([]int64, g.n)
	for _, a := range g.arcs {
		entering[a.to] += a.cap
	}
	for _, v := range g.gpu {
		if r := (ratio{entering[v], total - weights[v]}); r.less(best.ratio) {
			best.take(r, allBut(g.n, v))
		}
	}
	s := int32(g.n)
	net := newNetwork(g, 1)
	for v, w := range weights {
		if w > 0 {
			net.connect(s, int32(v))
		}
	}
	for {
		p, q := best.lowest()
		found := false
		for _, probe := range probes {
			if ctx.Err() != nil {
				return best
			}
			net.scale(g, q)
			i := len(g.arcs)
			for _, w := range weights {
				if w > 0 {
					net.set(i, p*w)
					i++
				}
			}
			if net.flow(s, probe) == p*total {
				continue
			}
			set := net.side(g.n)
			if best.take(ratio{g.leaving(set), weigh(weights, set)}, set) {
				found = true
			}
		}
		if !found {
			best.exact = true
			return best
		}
	}
}

// scale gives the arcs of g their capacities times q.
func (n *network) scale(g *graph, q int64) {
	for i, a := range g.arcs {
		n.set(i, q*a.cap)
	}
}

// deal finds the largest rate at which root can send to all members what is theirs alone, of which member v has
// weights[v]: the least B+(S)/w(rest) over sets S with the root, which is one flow a round.
func (g *graph) deal(ctx context.Context, root int32, weights []int64) (best least) {
	entering, leaving, total := make([]int64, g.n), int64(0), int64(0)
	for _, a := range g.arcs {
		entering[a.to] += a.cap
		if a.from == root {
			leaving += a.cap
		}
	}
	t := int32(g.n)
	net := newNetwork(g, 1)
	for v, w := range weights {
		if int32(v) == root || w == 0 {
			continue
		}
		total += w
		best.take(ratio{entering[v], w}, allBut(g.n, int32(v)))
		net.connect(int32(v), t)
	}
	only := make([]bool, g.n)
	only[root] = true
	best.take(ratio{leaving, total}, only)
	for ctx.Err() == nil {
		p, q := best.lowest()
		net.scale(g, q)
		i := len(g.arcs)
		for v, w := range weights {
			if int32(v) != root && w > 0 {
				net.set(i, p*w)
				i++
			}
		}
		if net.flow(root, t) == p*total {
			best.exact = true
			return best
		}
		set := net.side(g.n)
		if !best.take(ratio{g.leaving(set), total - weigh(weights, set) + weights[root]}, set) {
			return best
		}
	}
	return best
}

func weigh(weights []int64, set []bool) (sum int64) {
	for v, in := range set {
		if in {
			sum += weights[v]
		}
	}
	return sum
}

func allBut(n int, v int32) []bool {
	set := make([]bool, n)
	for i := range set {
		set[i] = int32(i) != v
	}
	return set
}
