// Package synthesis makes programs for a topology. A program is a set of trees: each tree brings data from one rank to
// all ranks, or sums from all ranks to one. The trees of an AllToAll are routes, each from one rank to one other rank.
//
// [Find] packs trees into the links of a topology by maximum flows, so that their rate comes close to the bound of
// package topology/bound. On request, it takes trees from a schedule of few rounds (package rounds). It returns a
// [Result]: a [Plan] with the trees, and a certificate (package certificate) that proves how good the trees are. A Plan
// is written as the text of a .mscl file.
package synthesis

import (
	"context"
	"math/big"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/synthesis/certificate"
	"mscclc/synthesis/rounds"
	"mscclc/topology"
	"mscclc/topology/bound"
)

// A Request is what a program is asked for.
type Request struct {
	Kind   ir.Kind
	Root   int  // a rank, of rooted kinds
	Hops   int  // the most from a root to a rank, or LeastHops; 0 is any number
	Alike  bool // trees of all ranks are images of those of one, or ErrNoFit
	Chunks int  // trees of each root; 0 is the fewest that reach the bound, up to MostChunks
	Steps  int  // where it is not 0, the steps of a k-synchronous schedule of as many Chunks

	Solver rounds.Solver // of schedules; nil is the best that is installed

	GPUs    []int32 // indexed by rank: a GPU of the topology; nil is all, in their order
	NoRelay bool    // GPUs that are no ranks do not forward
	Direct  bool    // trees go over links from GPU to GPU only: see HasDirect
}

// LeastHops asks for trees of as few hops as there are.
const LeastHops = -1

// question returns the question of a collective's bound on the GPUs of a request.
func (r *Request) question(kind ir.Kind) bound.Question {
	q := bound.Question{Kind: kind, GPUs: r.GPUs, NoRelay: r.NoRelay}
	if kind.Rooted() {
		q.Root = r.Root
	}
	return q
}

// MostChunks is how many trees of a root a program has at most.
const MostChunks = 16

// A Result is a program's trees, with what proves how good they are.
type Result struct {
	Plan        Plan
	Certificate certificate.Certificate
	Bound       *bound.Bound
	Rounds      *Synchronous // the schedule that the trees are of, or nil
}

// Find packs trees for a request into the links of a topology. It fails with a diag.List where ranks do not reach each
// other, and where trees forward data through a GPU that is no rank.
func Find(ctx context.Context, t *topology.Topology, r Request) (*Result, error) {
	asked, err := ask(ctx, t, r.question(r.Kind))
	if err != nil {
		return nil, err
	}
	ranks := t.Ranks()
	if r.GPUs != nil {
		ranks = len(r.GPUs)
	}
	own := asked
	if r.Direct {
		if own, err = ask(ctx, direct(t), r.question(r.Kind)); err != nil {
			return nil, err
		}
	}
	s := &search{answer: own, whole: asked, ctx: ctx, m: machineOf(own.g, ranks), r: r}
	if err := s.pack(); err != nil {
		return nil, err
	}
	if err := s.relayed(); err != nil {
		return nil, err
	}
	return s.result(), nil
}

// relayed returns an error if trees forward data through a GPU that is no rank.
func (s *search) relayed() error {
	for _, f := range []*Forest{s.spread, s.gather} {
		if f == nil {
			continue
		}
		for _, t := range f.Trees {
			for _, h := range t.Hops {
				if gpu := s.relay(&h); gpu >= 0 {
					return diag.List{diag.New(diag.Unsupported, diag.Span{}, "trees forward data through GPU %d, which takes no "+
						"part: a program runs on its ranks only", gpu).
						WithHint("with --no-relay, trees use only links that other GPUs are no end of")}
				}
			}
		}
	}
	return nil
}

// relay returns a GPU that the ways of a hop lead through, or -1.
func (s *search) relay(h *Hop) int32 {
	for _, w := range h.ways {
		for _, v := range w.way[1 : len(w.way)-1] {
			if p := s.g.Places[v]; s.t.Places[p].Kind == topology.GPU {
				return p
			}
		}
	}
	return -1
}

// An answer is the bound of a question, with the graph that it is about.
type answer struct {
	t *topology.Topology
	b *bound.Bound
	g *bound.Graph
}

func ask(ctx context.Context, t *topology.Topology, q bound.Question) (*answer, error) {
	b, err := bound.Of(ctx, t, q)
	if err != nil {
		return nil, err
	}
	g, err := bound.GraphOf(t, q)
	return &answer{t, b, g}, err
}

func machineOf(g *bound.Graph, ranks int) *Machine {
	m := &Machine{Vertices: len(g.Places), Ranks: ranks}
	for _, a := range g.Arcs {
		m.Arcs = append(m.Arcs, Arc(a))
	}
	return m
}

// reverse returns the machine with all arcs turned around.
func (m *Machine) reverse() *Machine {
	r := &Machine{Vertices: m.Vertices, Ranks: m.Ranks}
	for _, a := range m.Arcs {
		r.Arcs = append(r.Arcs, Arc{a.To, a.From, a.Cap})
	}
	return r
}

// HasDirect reports whether a topology has links from GPU to GPU beside others. A program cannot choose among the paths
// of two GPUs, so that its trees may be faster if they leave the other links out.
func HasDirect(t *topology.Topology) bool {
	n := len(direct(t).Links)
	return n > 0 && n < len(t.Links)
}

// direct returns a topology with the links of t from GPU to GPU only.
func direct(t *topology.Topology) *topology.Topology {
	less := &topology.Topology{Name: t.Name, Nodes: t.Nodes, GPUs: t.GPUs, Device: t.Device, Classes: t.Classes,
		Places: t.Places}
	for _, l := range t.Links {
		if t.Places[l.From].Kind == topology.GPU && t.Places[l.To].Kind == topology.GPU {
			less.Links = append(less.Links, l)
		}
	}
	return less
}

// A search is what Find goes through. Its answer is of the links that trees may go over.
type search struct {
	*answer
	whole *answer // of all links
	ctx   context.Context
	m     *Machine
	r     Request

	spread, gather *Forest
	shifts         *Shifts   // where trees are images of those of rank 0
	group          [][]int32 // generators of shifts, where forests have the trees of rank 0 only; else nil
	scale          *big.Rat  // trees of both for each unit of capacity
	rounds         *Synchronous
}

// counts returns how many trees begin at each rank where a root has a given number.
func (s *search) counts(k int64) []int64 {
	counts := make([]int64, s.m.Ranks)
	for r := range counts {
		if one := s.r.Kind == ir.Broadcast || s.r.Kind == ir.ReduceTo; !one || r == s.r.Root {
			counts[r] = k
		}
	}
	return counts
}

// pack packs the trees of a request.
func (s *search) pack() error {
	if s.r.Steps != 0 {
		return s.synchronous()
	}
	switch s.r.Kind {
	case ir.AllReduce:
		return s.both()
	case ir.AllToAll:
		return s.route()
	}
	if s.r.Hops != 0 {
		if done, err := s.alike(s.r.Chunks); done || err != nil {
			return err
		}
		return s.shallow()
	}
	k := int64(s.r.Chunks)
	if k == 0 {
		k = s.fewest()
	}
	if done, err := s.alike(int(k)); done || err != nil {
		return err
	}
	counts := s.counts(k)
	var total int64
	for _, c := range counts {
		total += c
	}
	// a tree's rate in units of capacity, where all trees together reach the bound
	rate := new(big.Rat).Quo(s.b.Rate, s.g.Unit)
	rate.Quo(rate, big.NewRat(total, 1))
	m := s.m
	into := &s.spread
	if s.r.Kind == ir.ReduceScatter || s.r.Kind == ir.ReduceTo {
		m, into = m.reverse(), &s.gather
	}
	f, err := Pack(s.ctx, m, counts, rate)
	if err != nil {
		return err
	}
	*into, s.scale = f, f.Scale
	return nil
}

// fewest returns the fewest trees of a root that can reach the bound: with rate p/q of a root, capacities times k·q/p
// are whole for k = p over the greatest common divisor of p and all capacities times q.
func (s *search) fewest() int64 {
	var roots int64
	for _, c := range s.counts(1) {
		roots += c
	}
	rate := new(big.Rat).Quo(s.b.Rate, s.g.Unit)
	rate.Quo(rate, big.NewRat(roots, 1))
	d := new(big.Int).Set(rate.Num())
	for _, a := range s.m.Arcs {
		d.GCD(nil, nil, d, new(big.Int).Mul(rate.Denom(), big.NewInt(a.Cap)))
	}
	k := d.Quo(rate.Num(), d)
	if !k.IsInt64() || k.Int64() > MostChunks {
		return MostChunks
	}
	return k.Int64()
}
