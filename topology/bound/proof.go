package bound

import (
	"math/big"

	"mscclc/topology"
)

// A Graph is what a question is about: directed arcs between vertices, of which the first are the ranks' GPUs.
type Graph struct {
	Places []int32 // indexed by vertex: its place in the topology
	Arcs   []Arc
	Unit   *big.Rat // MB/s of a capacity of 1
}

// An Arc is all links from one vertex to another.
type Arc struct {
	From, To int32
	Cap      int64
}

// GraphOf returns the graph of a question. It fails as Of does.
func GraphOf(t *topology.Topology, q Question) (*Graph, error) {
	p, err := newProblem(t, q)
	if err != nil {
		return nil, err
	}
	if err := p.unreached(); err != nil {
		return nil, err
	}
	g := &Graph{Unit: p.g.unit}
	for _, places := range p.g.place {
		g.Places = append(g.Places, places[0])
	}
	for _, a := range p.g.arcs {
		g.Arcs = append(g.Arcs, Arc{a.from, a.to, a.cap})
	}
	return g, nil
}

// A Division says how an AllReduce shares out a graph, in units of its capacities.
type Division struct {
	Roots  []*big.Rat // indexed by rank: the rate of what is reduced to it and spread from it, to scale
	Gather []*big.Rat // indexed by arc: what the reduction has of its capacity; the spreading has the rest
}

// mostCuts is how many cuts a proof has at most.
const mostCuts = 1 << 14

// Proof returns all cuts that prove the bound together, where Cuts has one of each kind. It is nil where they are too
// many, or where no cuts prove it.
func (b *Bound) Proof() (list []Cut) {
	if b.cuts == nil {
		return b.Cuts
	}
	for _, w := range b.cuts {
		images := b.sym.orbit(w.set, mostCuts-len(list))
		if images == nil {
			return nil
		}
		part := new(big.Rat).Quo(w.weight, big.NewRat(int64(len(images)), 1))
		for _, set := range images {
			list = append(list, b.problem.cut(weighted{set, part, w.into}))
		}
	}
	return list
}
