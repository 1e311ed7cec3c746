package bound

import (
	"context"
	"errors"
	"math/big"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/topology"
)

// A Question is a collective on some GPUs of a topology.
type Question struct {
	Kind    ir.Kind
	GPUs    []int32 // indexed by rank: a GPU of the topology; nil is all, in their order
	Names   []int   // indexed by rank: what Cut calls it; nil is by GPUs
	Root    int     // a rank, of rooted kinds
	NoRelay bool    // GPUs that are no ranks do not forward

	// Weights is indexed by rank: how much of the whole each rank has, where ranks have unequal parts. nil is equal parts.
	// AllGather, ReduceScatter, Gather and Scatter take it.
	Weights []int64
}

// A Bound is a rate that a collective does not exceed.
type Bound struct {
	Rate    *big.Rat // in MB/s (bytes a microsecond), of a call's bytes as nccl-tests counts them: algbw
	Reached *big.Rat // a rate that some AllReduce or AllToAll reaches, or nil where none is known; else Rate
	Exact   bool     // no smaller rate can be proven: Reached is Rate, or a millionth less at most, which is rounding
	Cut     string   // what limits it, in words: rank 3's links
	Cuts    []Cut    // the cuts that prove it, the heaviest first; none where lengths of all links do

	Lengths    []int64            // of AllToAll, by arcs of GraphOf: lengths of links that prove it
	Division   *Division          // of an AllReduce that reaches Reached, or nil
	Potentials map[int32]*big.Rat // of AllReduce, by places of the topology: a part of the proof; others are 0

	cuts    []weighted // of AllReduce, one of each orbit
	problem *problem
	sym     *symmetry
}

// A Cut is a set of GPUs and what leaves it.
type Cut struct {
	GPUs      []int32  // of the set, those that are ranks
	Places    []int32  // of the set, in the topology
	Weight    *big.Rat // its part in the proof
	Into      bool     // what enters the set counts, and not what leaves it
	Bandwidth *big.Rat // of the links that leave it, in MB/s
}

// MBs returns the bound in MB/s.
func (b *Bound) MBs() float64 {
	f, _ := b.Rate.Float64()
	return f
}

// Micros returns the least time of a call of a given number of bytes, as nccl-tests counts them, in microseconds.
func (b *Bound) Micros(bytes int64) float64 { return float64(bytes) / b.MBs() }

// Kinds lists the collectives that have bounds.
var Kinds = []ir.Kind{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.AllToAll, ir.Broadcast, ir.ReduceTo, ir.Gather,
	ir.Scatter}

// ErrNone is part of the error where a question has no bound, and nothing is wrong: of one GPU, and of other kinds.
var ErrNone = errors.New("there is no bound")

// A problem is a question with what is made of it.
type problem struct {
	q       Question
	t       *topology.Topology
	g       *graph
	weights []int64 // indexed by vertex
	total   int64
	root    int32 // a vertex
}

// Of returns the bound of a collective on a topology. Where ctx is done before the search ends, the bound is valid but
// not exact. It fails with ErrNone, or with a diag.List where ranks do not reach each other.
func Of(ctx context.Context, t *topology.Topology, q Question) (*Bound, error) {
	p, err := newProblem(t, q)
	if err != nil {
		return nil, err
	}
	if err := p.unreached(); err != nil {
		return nil, err
	}
	sym := symmetryOf(ctx, p.g, p.colours())
	switch q.Kind {
	case ir.AllReduce:
		return p.allReduce(ctx, sym)
	case ir.AllToAll:
		return p.allToAll(ctx, sym)
	}
	g := p.g
	if reversed(q.Kind) {
		g = g.reverse()
	}
	var found least
	if q.Kind == ir.Gather || q.Kind == ir.Scatter {
		found = g.deal(ctx, p.root, p.weights)
	} else {
		found = g.spread(ctx, p.weights, sym.probes(g.gpu))
	}
	rate := p.rate(found.rat(), p.total)
	set := found.set
	if reversed(q.Kind) { // what enters the set is what leaves the rest
		set = complement(set)
	}
	return p.bound(rate, found.exact, set, sym), nil
}

// reversed reports whether a collective is another one with all data going back.
func reversed(k ir.Kind) bool { return k == ir.ReduceScatter || k == ir.ReduceTo || k == ir.Gather }

func newProblem(t *topology.Topology, q Question) (*problem, error) {
	if !slices.Contains(Kinds, q.Kind) {
		return nil, none("%v has no bound", q.Kind)
	}
	if q.GPUs == nil {
		for g := range t.Ranks() {
			q.GPUs = append(q.GPUs, int32(g))
		}
	}
	n := len(q.GPUs)
	if n < 2 {
		return nil, none("%v of %s moves nothing", q.Kind, diag.Counted(n, "GPU"))
	}
	if err := checkQuestion(t, &q); err != nil {
		return nil, err
	}
	g, err := newGraph(t, q.GPUs, q.NoRelay)
	if err != nil {
		return nil, err
	}
	p := &problem{q: q, t: t, g: g, weights: make([]int64, g.n), root: g.gpu[q.Root]}
	for i, v := range g.gpu {
		switch {
		case q.Kind == ir.Broadcast || q.Kind == ir.ReduceTo:
			if i == q.Root {
				p.weights[v] = 1
			}
		case q.Weights != nil:
			p.weights[v] = q.Weights[i]
		default:
			p.weights[v] = 1
		}
		if p.weights[v] > mostTotal-p.total {
			return nil, tooLarge()
		}
		p.total += p.weights[v]
	}
	return p, g.checkTotal(p.total)
}

func none(format string, args ...any) error {
	return errors.Join(diag.List{diag.New(diag.Unsupported, diag.Span{}, format, args...)}, ErrNone)
}

// checkQuestion checks the numbers of a question.
func checkQuestion(t *topology.Topology, q *Question) error {
	fault := func(format string, args ...any) error {
		return diag.List{diag.New(diag.Parameter, diag.Span{}, format, args...)}
	}
	seen := map[int32]bool{}
	for _, g := range q.GPUs {
		if g < 0 || int(g) >= t.Ranks() {
			return fault("%s has %s: GPU %d is none of them", t.Name, diag.Counted(t.Ranks(), "GPU"), g)
		}
		if seen[g] {
			return fault("GPU %d is named twice", g)
		}
		seen[g] = true
	}
	if q.Root < 0 || q.Root >= len(q.GPUs) {
		return fault("root %d is none of %s", q.Root, diag.Counted(len(q.GPUs), "rank"))
	}
	if q.Weights == nil {
		return nil
	}
	if !slices.Contains([]ir.Kind{ir.AllGather, ir.ReduceScatter, ir.Gather, ir.Scatter}, q.Kind) {
		return fault("%v has no weights: its ranks have equal parts", q.Kind)
	}
	if len(q.Weights) != len(q.GPUs) {
		return fault("there are %s for %s", diag.Counted(len(q.Weights), "weight"), diag.Counted(len(q.GPUs), "rank"))
	}
	moved := int64(0)
	for i, w := range q.Weights {
		if w < 0 {
			return fault("a weight is %d: it is 0 or more", w)
		}
		if q.Kind == ir.AllGather || q.Kind == ir.ReduceScatter || i != q.Root {
			moved = max(moved, w)
		}
	}
	if moved == 0 {
		return fault("all weights are 0: nothing moves")
	}
	return nil
}

// unreached returns an error if a rank does not reach another that it must.
func (p *problem) unreached() error {
	back := p.g.reverse()
	from, to := p.g.reached(p.root), back.reached(p.root)
	needsTo := p.q.Kind != ir.Broadcast && p.q.Kind != ir.Scatter
	needsFrom := !reversed(p.q.Kind) || p.q.Kind == ir.ReduceScatter
	for i, v := range p.g.gpu {
		a, b := p.name(p.q.Root), p.name(i)
		missing, other := needsFrom && !from[v], to[v]
		if !missing && needsTo && !to[v] {
			a, b = b, a
			missing, other = true, from[v]
		}
		if !missing {
			continue
		}
		d := diag.New(diag.Unsupported, diag.Span{}, "%s has no path from rank %d to rank %d, which %v needs", p.t.Name, a, b,
			p.q.Kind)
		if other {
			d = d.WithHint("rank %d reaches rank %d: a link goes one way, or its other direction is down or has no bandwidth",
				b, a)
		} else {
			d = d.WithHint("links that are down, of no bandwidth, or of GPUs that do not relay carry nothing")
		}
		return diag.List{d}
	}
	return nil
}

func (p *problem) name(rank int) int {
	if p.q.Names != nil {
		return p.q.Names[rank]
	}
	return int(p.q.GPUs[rank])
}

// colours returns what symmetries keep: what ranks weigh, the root, and which vertices are no ranks.
func (p *problem) colours() []int64 {
	list := make([]int64, p.g.n)
	for i := range list {
		list[i] = -1
	}
	for i, v := range p.g.gpu {
		if list[v] = p.weights[v] * 2; p.q.Kind.Rooted() && i == p.q.Root {
			list[v]++
		}
	}
	return list
}

// rate returns a multiple of a rate in units of capacity, in MB/s.
func (p *problem) rate(x *big.Rat, count int64) *big.Rat {
	r := new(big.Rat).Mul(x, p.g.unit)
	return r.Mul(r, big.NewRat(count, 1))
}

// bound makes a Bound that one cut proves.
func (p *problem) bound(rate *big.Rat, exact bool, set []bool, sym *symmetry) *Bound {
	proof := weighted{set: set, weight: big.NewRat(1, 1)}
	if reversed(p.q.Kind) {
		proof.set, proof.into = complement(set), true
	}
	b := &Bound{Rate: rate, Exact: exact, Cut: p.words(set, sym), Cuts: []Cut{p.cut(proof)}}
	if exact {
		b.Reached = rate
	}
	return b
}

func (p *problem) cut(w weighted) Cut {
	set, source := w.set, w.set
	if w.into {
		source = complement(set)
	}
	c := Cut{Bandwidth: p.rate(big.NewRat(p.g.leaving(source), 1), 1), Weight: w.weight, Into: w.into}
	for v, in := range set {
		if in {
			c.Places = append(c.Places, p.g.place[v]...)
		}
	}
	for i, v := range p.g.gpu {
		if set[v] {
			c.GPUs = append(c.GPUs, p.q.GPUs[i])
		}
	}
	return c
}

func (p *problem) allReduce(ctx context.Context, sym *symmetry) (*Bound, error) {
	upper, lower, proof, division := p.g.allReduce(ctx, sym)
	// all data passes each cut, so that any cut is a bound, too
	weak := p.g.spread(ctx, ones(p.g, p.root), sym.probes(p.g.gpu))
	if upper == nil || weak.rat().Cmp(upper) <= 0 {
		one := big.NewRat(1, 1)
		upper, proof = weak.rat(), dual{cuts: []weighted{{weak.set, one, false}, {complement(weak.set), one, true}}}
	}
	b := &Bound{Rate: p.rate(upper, 1), Division: division, Potentials: p.byPlace(proof.phi), cuts: proof.cuts,
		problem: p, sym: sym}
	if lower != nil {
		b.reach(p.rate(lower, 1))
	}
	slices.SortStableFunc(proof.cuts, func(a, b weighted) int { return b.weight.Cmp(a.weight) })
	for _, c := range proof.cuts {
		b.Cuts = append(b.Cuts, p.cut(c))
	}
	b.Cut = p.wordsOf(proof.cuts, sym)
	return b, nil
}

// byPlace returns what vertices have, but zeros, by their places.
func (p *problem) byPlace(of []*big.Rat) map[int32]*big.Rat {
	found := map[int32]*big.Rat{}
	for v, x := range of {
		for _, place := range p.g.place[v] {
			if x.Sign() != 0 {
				found[place] = x
			}
		}
	}
	return found
}

// reach notes a rate that is reached.
func (b *Bound) reach(rate *big.Rat) {
	b.Reached = rate
	near := new(big.Rat).Mul(b.Rate, big.NewRat(1e6-1, 1e6))
	b.Exact = rate.Cmp(near) >= 0
}

// ones returns weights of 1 for one vertex.
func ones(g *graph, v int32) []int64 {
	list := make([]int64, g.n)
	list[v] = 1
	return list
}

func (p *problem) allToAll(ctx context.Context, sym *symmetry) (*Bound, error) {
	upper, lower, lengths := p.g.allToAll(ctx, sym)
	cut := p.g.sparsest(sym, lengths)
	if upper == nil || cut.rat().Cmp(upper) <= 0 {
		upper, lengths = cut.rat(), nil
	}
	n := int64(len(p.g.gpu))
	b := &Bound{Rate: p.rate(upper, n), Cut: "all links together, since paths have several"}
	if lower != nil {
		b.reach(p.rate(lower, n))
	}
	if lengths == nil {
		b.Cut, b.Cuts = p.words(cut.set, sym), []Cut{p.cut(weighted{set: cut.set, weight: big.NewRat(1, 1)})}
		lengths = p.g.crossing(cut.set)
	}
	b.Lengths = lengths
	return b, nil
}
