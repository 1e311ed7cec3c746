package bound

import (
	"context"
	"math"
	"math/big"
)

// A reduction is the search for the best AllReduce: data that is reduced to roots by trees, root v having weight w(v),
// and spread from there. Each arc a gives b1(a) of its capacity to the reduction, and the rest, b2(a), to the
// spreading.
//
//	maximise  Σ w(v)
//	w(S) <= b1 of the arcs into S      for all sets S of vertices that miss a member
//	w(S) <= b2 of the arcs out of S
//
// Sets are found as they are violated, by maximum flows. Members of one orbit have one weight, and so have arcs: the
// average of a solution over all symmetries is one too.
type reduction struct {
	ctx     context.Context
	g       *graph
	sym     *symmetry
	back    *graph // g reversed
	probes  []int32
	lp      *program
	scale   float64 // capacity that the program counts as 1: about the rate
	weight  []int32 // indexed by vertex: the variable of its weight, or -1
	half    []int32 // indexed by arc: the variable of b1
	members []int64 // indexed by orbit of members: their number
	arcs    []int64 // indexed by orbit of arcs: their number
	caps    []int64 // indexed by orbit of arcs: the capacity of each
	cuts    []cutRow
	passes  []int32 // switches, one of each orbit: two rows of each say that what enters it for the reduction leaves it
	fixed   int     // rows before those of cuts
}

// A cutRow is a row of the program: a set, and whether arcs into it count, or arcs out of it.
type cutRow struct {
	set  []bool
	into bool
}

// A dual is what proves a bound of AllReduce: cuts, one of each orbit, and potentials of switches, indexed by vertex.
type dual struct {
	cuts []weighted
	phi  []*big.Rat
}

// allReduce returns a rate that no such AllReduce exceeds, with what proves it, and a rate that one reaches, with how
// it shares out the links.
func (g *graph) allReduce(ctx context.Context, sym *symmetry) (upper, lower *big.Rat, proof dual, d *Division) {
	r := newReduction(ctx, g, sym)
	for r.lp.solve(ctx) == nil && r.separate() {
	}
	for again := r.lp.settle(ctx) == nil; again && r.separate(); again = r.lp.solve(ctx) == nil {
	}
	upper, proof = r.upper()
	for _, part := range []float64{1e-12, 1e-10, rounding} { // a small difference of large numbers needs exact ones
		if l, by := r.lower(part); l != nil && (lower == nil || l.Cmp(lower) > 0) {
			lower, d = l, by
		}
		if lower != nil && upper != nil && lower.Cmp(upper) >= 0 {
			break
		}
	}
	return upper, lower, proof, d
}

func newReduction(ctx context.Context, g *graph, sym *symmetry) *reduction {
	r := &reduction{ctx: ctx, g: g, sym: sym, back: g.reverse(), probes: sym.probes(g.gpu), weight: make([]int32, g.n)}
	for v := range r.weight {
		r.weight[v] = -1
	}
	orbit := map[int32]int32{}
	for _, v := range g.gpu {
		f := sym.vertices.find(v)
		k, ok := orbit[f]
		if !ok {
			k = int32(len(r.members))
			orbit[f] = k
			r.members = append(r.members, 0)
		}
		r.weight[v] = k
		r.members[k]++
	}
	r.half, r.arcs = sym.arcs.number()
	r.caps = make([]int64, len(r.arcs))
	for i, a := range g.arcs {
		r.caps[r.half[i]] = a.cap
		r.half[i] += int32(len(r.members))
	}
	r.scale = math.Inf(1)
	for _, v := range r.probes {
		var in, out int64
		for _, a := range g.arcs {
			if a.to == v {
				in += a.cap
			}
			if a.from == v {
				out += a.cap
			}
		}
		r.scale = min(r.scale, float64(min(in, out)))
	}
	cost := make([]float64, len(r.members)+len(r.arcs))
	for k, n := range r.members {
		cost[k] = float64(n) / float64(len(g.gpu))
	}
	r.lp = newProgram(cost)
	for o, c := range r.caps {
		r.lp.add(map[int]float64{len(r.members) + o: 1}, float64(c)/r.scale)
	}
	r.balance(sym)
	r.fixed = r.lp.added
	for _, v := range r.probes {
		only := make([]bool, g.n)
		only[v] = true
		for _, set := range [][]bool{only, allBut(g.n, v)} {
			r.add(cutRow{set, true})
			r.add(cutRow{set, false})
		}
	}
	return r
}

// balance has as much of the reduction leave a switch as enters it, as switches neither add nor copy.
func (r *reduction) balance(sym *symmetry) {
	for v := range int32(r.g.n) {
		if !r.g.passes[v] || sym.vertices.find(v) != v {
			continue
		}
		r.passes = append(r.passes, v)
		for _, sign := range []float64{1, -1} {
			row := map[int]float64{}
			for i, a := range r.g.arcs {
				if a.to == v {
					row[int(r.half[i])] += sign
				}
				if a.from == v {
					row[int(r.half[i])] -= sign
				}
			}
			r.lp.add(row, 0)
		}
	}
}

// counts returns how many members of each orbit a set has, and how many arcs of each orbit count for its row.
func (r *reduction) counts(c cutRow) (members, arcs []int64) {
	members, arcs = make([]int64, len(r.members)), make([]int64, len(r.arcs))
	for v, in := range c.set {
		if in && r.weight[v] >= 0 {
			members[r.weight[v]]++
		}
	}
	for i, a := range r.g.arcs {
		if c.set[a.from] != c.set[a.to] && c.set[a.to] == c.into {
			arcs[int(r.half[i])-len(r.members)]++
		}
	}
	return members, arcs
}

// add adds the row of a cut, and reports whether the solution violates it. b2 is the capacity less b1.
func (r *reduction) add(c cutRow) bool {
	members, arcs := r.counts(c)
	row, b := map[int]float64{}, 0.
	for k, n := range members {
		row[k] = float64(n)
	}
	for o, n := range arcs {
		if c.into {
			row[len(r.members)+o] = -float64(n)
		} else {
			row[len(r.members)+o] = float64(n)
			b += float64(n) * float64(r.caps[o]) / r.scale
		}
	}
	r.cuts = append(r.cuts, c)
	return r.lp.add(row, b)
}

// separate adds the cuts that the program's solution violates, and reports whether there are any.
func (r *reduction) separate() (found bool) {
	const one = 1 << 36 // what the program counts as 1
	w, b1, b2 := make([]int64, r.g.n), make([]int64, len(r.g.arcs)), make([]int64, len(r.g.arcs))
	var total int64
	for _, v := range r.g.gpu {
		w[v] = int64(r.lp.x(int(r.weight[v])) * one)
		total += w[v]
	}
	for i, a := range r.g.arcs {
		x, full := r.lp.x(int(r.half[i])), float64(a.cap)/r.scale
		b1[i], b2[i] = min(int64(x*one), total), min(int64((full-x)*one), total) // no flow is larger
	}
	slack := int64(one*r.lp.slack()) + int64(2*len(r.g.arcs))
	for _, into := range []bool{true, false} {
		g, caps := r.g, b2
		if into {
			g, caps = r.back, turned(r.g, r.back, b1)
		}
		net := newNetwork(g, 1)
		for v, x := range w {
			if x > 0 {
				net.connect(int32(g.n), int32(v))
			}
		}
		for _, probe := range r.probes {
			if r.ctx.Err() != nil {
				return false
			}
			for i, c := range caps {
				net.set(i, c)
			}
			i := len(caps)
			for _, x := range w {
				if x > 0 {
					net.set(i, x)
					i++
				}
			}
			if net.flow(int32(g.n), probe) < total-slack {
				found = r.add(cutRow{net.side(g.n), into}) || found
			}
		}
	}
	return found
}

// turned returns what arcs of g have, in the order of the arcs of back, which is g reversed.
func turned(g, back *graph, of []int64) []int64 {
	list := make([]int64, len(of))
	for i, a := range g.arcs {
		list[back.find(a.to, a.from)] = of[i]
	}
	return list
}

// A weighted is a cut and its part in a proof.
type weighted struct {
	set    []bool
	weight *big.Rat
	into   bool
}

// upper returns the rate that the dual values of the cuts prove, in exact arithmetic. With y of the sets that count
// arcs into them, and z of those that count arcs out, Σ w <= Σ b(a)·max(y(a) + p(from) - p(to), z(a)) where the sets of
// each member have a sum of 1 or more, for any potentials p of switches. Whatever the dual values are, the result is
// valid.
func (r *reduction) upper() (rate *big.Rat, proof dual) {
	cover, into, out := zeros(len(r.members)), zeros(len(r.arcs)), zeros(len(r.arcs))
	for k, c := range r.cuts {
		d := r.lp.dual(r.fixed + k)
		if d < 1e-8 {
			continue
		}
		y := simplest(d*float64(len(r.g.gpu)), rounding)
		proof.cuts = append(proof.cuts, weighted{c.set, y, c.into})
		members, arcs := r.counts(c)
		for o, n := range members {
			cover[o].Add(cover[o], times(y, n))
		}
		sums := out
		if c.into {
			sums = into
		}
		for o, n := range arcs {
			sums[o].Add(sums[o], times(y, n))
		}
	}
	proof.phi = r.potentials()
	for i, a := range r.g.arcs {
		o := int(r.half[i]) - len(r.members)
		into[o].Add(into[o], new(big.Rat).Sub(proof.phi[a.from], proof.phi[a.to]))
	}
	rate = new(big.Rat)
	for o, c := range r.caps {
		if into[o].Cmp(out[o]) < 0 {
			into[o] = out[o]
		}
		rate.Add(rate, times(into[o], c))
	}
	var least *big.Rat
	for o, n := range r.members {
		if x := cover[o].Quo(cover[o], big.NewRat(n, 1)); least == nil || x.Cmp(least) < 0 {
			least = x
		}
	}
	if least == nil || least.Sign() == 0 {
		return nil, dual{}
	}
	return rate.Quo(rate, least), proof
}

// potentials returns the dual values of the switches' rows, indexed by vertex: each is of all switches of an orbit.
func (r *reduction) potentials() []*big.Rat {
	phi := zeros(r.g.n)
	first := r.fixed - 2*len(r.passes)
	for k, v := range r.passes {
		d := (r.lp.dual(first+2*k) - r.lp.dual(first+2*k+1)) * float64(len(r.g.gpu))
		p := simplest(math.Abs(d), rounding)
		if d < 0 {
			p.Neg(p)
		}
		var orbit []int32
		for u := range int32(r.g.n) {
			if r.sym.vertices.find(u) == v {
				orbit = append(orbit, u)
			}
		}
		p.Quo(p, big.NewRat(int64(len(orbit)), 1))
		for _, u := range orbit {
			phi[u] = p
		}
	}
	return phi
}

// lower returns the rate of the weights and halves that the program found, rounded to fractions by a part of them
// at most: flows in whole numbers say how far the weights may be scaled.
func (r *reduction) lower(part float64) (rate *big.Rat, d *Division) {
	w := make([]*big.Rat, len(r.members))
	for k := range w {
		w[k] = simplest(r.lp.x(k), part)
	}
	ints, _ := whole(w)
	weights, sum := make([]int64, r.g.n), int64(0)
	for _, v := range r.g.gpu {
		weights[v] = ints[r.weight[v]]
		sum += weights[v]
	}
	if sum == 0 {
		return nil, nil
	}
	halves := [2][]*big.Rat{}
	for o, c := range r.caps {
		b1, full := simplest(r.lp.x(len(r.members)+o)*r.scale, part), big.NewRat(c, 1)
		if b1.Cmp(full) > 0 {
			b1 = full
		}
		halves[0], halves[1] = append(halves[0], b1), append(halves[1], new(big.Rat).Sub(full, b1))
	}
	var least *big.Rat
	for k, half := range halves {
		x := r.carries(half, k == 0, weights, sum)
		if x == nil {
			return nil, nil
		}
		if least == nil || x.Cmp(least) < 0 {
			least = x
		}
	}
	return least, r.division(halves[0], part)
}

// carries returns the sum of the weights, scaled by as much as capacities by orbit allow their trees to be; or nil
// where that is not known.
func (r *reduction) carries(caps []*big.Rat, back bool, weights []int64, sum int64) *big.Rat {
	ints, unit := whole(caps)
	h := &graph{n: r.g.n, unit: unit, gpu: r.g.gpu}
	for i, a := range r.g.arcs {
		if back {
			a.from, a.to = a.to, a.from
		}
		h.arcs = append(h.arcs, arc{a.from, a.to, ints[int(r.half[i])-len(r.members)]})
	}
	if h.finish() != nil || h.checkTotal(sum) != nil {
		return nil
	}
	best := h.spread(r.ctx, weights, r.probes)
	if !best.exact {
		return nil
	}
	return times(best.rat().Mul(best.rat(), h.unit), sum)
}

func zeros(n int) []*big.Rat {
	list := make([]*big.Rat, n)
	for i := range list {
		list[i] = new(big.Rat)
	}
	return list
}

func times(x *big.Rat, n int64) *big.Rat { return new(big.Rat).Mul(x, big.NewRat(n, 1)) }

// division returns the weights that the program found, and what of each arc is the reduction's, indexed by orbit in
// half.
func (r *reduction) division(half []*big.Rat, part float64) *Division {
	d := &Division{}
	for _, v := range r.g.gpu {
		d.Roots = append(d.Roots, simplest(r.lp.x(int(r.weight[v])), part))
	}
	for _, h := range r.half {
		d.Gather = append(d.Gather, half[int(h)-len(r.members)])
	}
	return d
}
