package certificate

import (
	"fmt"
	"math/big"
	"slices"

	"mscclc/ir"
	"mscclc/topology"
)

// A Verdict is what a certificate proves, in MB/s of a call's bytes as nccl-tests counts them.
type Verdict struct {
	Kind    ir.Kind
	Reached *big.Rat // by the trees
	Bound   *big.Rat // which no algorithm exceeds
}

// Share returns what part of the bound the trees reach.
func (v *Verdict) Share() float64 {
	f, _ := new(big.Rat).Quo(v.Reached, v.Bound).Float64()
	return f
}

// A checker has what a certificate says of a topology, beside what the topology says.
type checker struct {
	c      *Certificate
	kind   ir.Kind
	cap    map[[2]int]*big.Rat // by places: MB/s of the links between, in that direction
	rank   map[int]int         // by place
	gpus   int                 // places, which come first
	load   map[[2]int]int64    // by places: how many trees go that way, of those that are listed
	images int64               // that a listed tree has, with itself
	next   [][]int             // by place: where links lead
	routes map[[2]int]int64    // by ranks, of AllToAll: how many routes there are
}

// Check verifies a certificate: capacities are the topology's, and ranks the part's. Each tree spans all ranks by ways
// of links that pass through no GPU. Links carry no more trees than their capacity has room for. The cuts, or the
// lengths of links, prove the bound.
func Check(c *Certificate, t *topology.Topology, p Part) (*Verdict, error) {
	k := &checker{c: c, cap: map[[2]int]*big.Rat{}, rank: map[int]int{}, load: map[[2]int]int64{},
		routes: map[[2]int]int64{}}
	if err := k.machine(t); err != nil {
		return nil, err
	}
	if err := k.part(t, p); err != nil {
		return nil, err
	}
	spread, gather, err := k.kinds()
	if err != nil {
		return nil, err
	}
	if err := k.generators(); err != nil {
		return nil, err
	}
	counts, err := k.trees(c.Spread, false)
	if err != nil {
		return nil, err
	}
	sums, err := k.trees(c.Gather, true)
	if err != nil {
		return nil, err
	}
	switch {
	case spread != (len(c.Spread) > 0) || gather != (len(c.Gather) > 0):
		return nil, fmt.Errorf("%v has other trees", k.kind)
	case spread && gather && !slices.Equal(counts, sums):
		return nil, fmt.Errorf("as many trees must spread from a rank as gather to it")
	case gather:
		counts = sums
	}
	if err := k.roots(counts); err != nil {
		return nil, err
	}
	v := &Verdict{Kind: k.kind}
	if v.Reached, err = k.reached(counts); err != nil {
		return nil, err
	}
	bound := k.bound
	if k.kind == ir.AllToAll {
		bound = k.exchangeBound
	}
	if v.Bound, err = bound(counts); err != nil {
		return nil, err
	}
	if v.Reached.Cmp(v.Bound) > 0 {
		return nil, fmt.Errorf("the trees reach %s MB/s, more than the bound", v.Reached.RatString())
	}
	return v, nil
}

func (k *checker) kinds() (spread, gather bool, err error) {
	for _, kind := range Kinds {
		if kind.String() == k.c.Collective {
			k.kind = kind
			gather = kind == ir.ReduceScatter || kind == ir.AllReduce || kind == ir.ReduceTo
			return !gather || kind == ir.AllReduce, gather, nil
		}
	}
	return false, false, fmt.Errorf("there are no certificates of %q", k.c.Collective)
}

// trees checks that each tree spans, and counts what its ways load. It returns how many begin at each rank.
func (k *checker) trees(list []Tree, back bool) ([]int64, error) {
	counts := make([]int64, len(k.c.Ranks))
	for i, t := range list {
		if t.Root < 0 || t.Root >= len(counts) || t.Count < 1 || t.Count > mostTrees/k.images {
			return nil, fmt.Errorf("tree %d: root %d, count %d", i, t.Root, t.Count)
		}
		counts[t.Root] += t.Count
		has := make([]bool, len(counts))
		has[t.Root] = true
		for j, h := range t.Hops {
			if h.From < 0 || h.From >= len(has) || h.To < 0 || h.To >= len(has) || !has[h.From] || has[h.To] {
				return nil, fmt.Errorf("tree %d: a hop from rank %d to %d: the first has no data, or the second has", i, h.From, h.To)
			}
			if k.kind == ir.AllToAll && j > 0 && h.From != t.Hops[j-1].To {
				return nil, fmt.Errorf("route %d: a hop from rank %d does not go on from the one before", i, h.From)
			}
			has[h.To] = true
			if err := k.ways(&h, t.Count, back); err != nil {
				return nil, fmt.Errorf("tree %d: the hop from rank %d to %d: %w", i, h.From, h.To, err)
			}
		}
		if k.kind == ir.AllToAll {
			if err := k.pair(&t); err != nil {
				return nil, fmt.Errorf("route %d: %w", i, err)
			}
		} else if r := slices.Index(has, false); r >= 0 {
			return nil, fmt.Errorf("tree %d does not reach rank %d", i, r)
		}
	}
	return k.ofImages(counts), nil
}

// ways checks that a hop's ways carry its trees, and counts what they load.
func (k *checker) ways(h *Hop, count int64, back bool) error {
	for _, w := range h.Ways {
		n := len(w.Places)
		if n < 2 || w.Places[0] != k.c.Ranks[h.From] || w.Places[n-1] != k.c.Ranks[h.To] || w.Count < 1 || w.Count > count {
			return fmt.Errorf("a way leads elsewhere, or carries %d of %d trees", w.Count, count)
		}
		count -= w.Count
		for i := 1; i < n; i++ {
			arc := [2]int{w.Places[i-1], w.Places[i]}
			if back {
				arc[0], arc[1] = arc[1], arc[0]
			}
			if k.cap[arc] == nil {
				return fmt.Errorf("no link leads from place %d to %d", arc[0], arc[1])
			}
			if w.Places[i] < k.gpus && i < n-1 {
				return fmt.Errorf("the way goes through GPU %d: a program cannot forward there", w.Places[i])
			}
			k.load[arc] += w.Count
		}
	}
	if count != 0 {
		return fmt.Errorf("%d of its trees have no way", count)
	}
	return nil
}

// roots checks where trees begin: equally many at each rank, or all at one, but for AllReduce.
func (k *checker) roots(counts []int64) error {
	switch k.kind {
	case ir.AllGather, ir.ReduceScatter:
		if slices.Min(counts) != slices.Max(counts) {
			return fmt.Errorf("%v has equally many trees of each rank", k.kind)
		}
	case ir.AllToAll:
		return k.pairs()
	case ir.Broadcast, ir.ReduceTo:
		if rest := slices.DeleteFunc(slices.Clone(counts), func(c int64) bool { return c == 0 }); len(rest) != 1 {
			return fmt.Errorf("%v has trees of one rank", k.kind)
		}
	}
	return nil
}

// reached checks that no link carries more than it has room for, and returns the rate of all trees.
func (k *checker) reached(counts []int64) (*big.Rat, error) {
	scale, err := fraction(k.c.Scale)
	if err != nil || scale.Sign() == 0 {
		return nil, fmt.Errorf("scale %q is no fraction above 0", k.c.Scale)
	}
	if err := k.loads(scale); err != nil {
		return nil, err
	}
	total := new(big.Rat)
	for _, c := range counts {
		total.Add(total, big.NewRat(c, 1))
	}
	if k.kind == ir.AllToAll { // a call's bytes count what a rank keeps, too
		n := int64(len(counts))
		total.Mul(total, big.NewRat(1, n-1))
	}
	return total.Quo(total, scale), nil
}

// fraction reads a number of at most 200 characters, 0 or more.
func fraction(text string) (*big.Rat, error) {
	r, ok := new(big.Rat), false
	other := func(c byte) bool { return c != '/' && (c < '0' || c > '9') }
	if len(text) <= 200 && !slices.ContainsFunc([]byte(text), other) {
		r, ok = r.SetString(text)
	}
	if !ok {
		return nil, fmt.Errorf("%.20q is no fraction", text)
	}
	return r, nil
}
