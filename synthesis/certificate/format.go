package certificate

import "mscclc/ir"

// Version is that of the format.
const Version = 1

// A Certificate says what trees carry a collective on a topology, and why no trees carry more.
//
// A tree carries one unit of data in the time that 1/Scale units pass 1 MB/s. A call is as many units as there are
// trees.
type Certificate struct {
	Version    int      `json:"version"`
	Collective string   `json:"collective"`
	Topology   string   `json:"topology"` // its name
	Places     []string `json:"places"`   // of the topology, in its order: what numbers of vertices mean
	Ranks      []int    `json:"ranks"`    // indexed by rank: a place
	Scale      string   `json:"scale"`    // trees for each MB/s of a link, as a fraction
	Spread     []Tree   `json:"spread,omitempty"`
	Gather     []Tree   `json:"gather,omitempty"` // data goes against their hops

	// Generators are symmetries of the links that trees go over: indexed by place, the place that each goes to. With them,
	// Spread and Gather list trees of one rank of each orbit, and the others are their images: see Images. Generators
	// commute.
	Generators [][]int `json:"generators,omitempty"`

	Bound string `json:"bound"`          // MB/s that no algorithm exceeds, as a fraction
	Cuts  []Cut  `json:"cuts,omitempty"` // that prove the bound together

	// Potentials of AllReduce say how switches count in the proof, which neither add nor copy; others are 0.
	Potentials []Potential `json:"potentials,omitempty"`

	// Lengths of links prove the bound of AllToAll; others are 0. Its trees are routes from one rank to another.
	Lengths []Length `json:"lengths,omitempty"`
}

// A Length is of all links from a place to another, in any unit that all lengths have.
type Length struct {
	From  int   `json:"from"`
	To    int   `json:"to"`
	Value int64 `json:"value"`
}

// A Potential is of a switch or NIC, a fraction with its sign.
type Potential struct {
	Place int    `json:"place"`
	Value string `json:"value"`
}

// A Tree is Count trees that are alike.
type Tree struct {
	Root  int   `json:"root"` // a rank, as From and To are
	Count int64 `json:"count"`
	Hops  []Hop `json:"hops"`
}

// A Hop is an arc of a tree, between ranks, and the ways that carry it.
type Hop struct {
	From int   `json:"from"`
	To   int   `json:"to"`
	Ways []Way `json:"ways"`
}

// A Way is links one after the other, by the places that they join, and how many of the trees go over it.
type Way struct {
	Count  int64 `json:"count"`
	Places []int `json:"places"`
}

// A Cut is places, and its part in the proof: of the links out of it, or into it.
type Cut struct {
	Weight string `json:"weight"` // a fraction
	Into   bool   `json:"into,omitempty"`
	Places []int  `json:"places"`
}

// Trees is what the trees of a collective are called.
func Trees(k ir.Kind) string {
	if k == ir.AllToAll {
		return "routes"
	}
	return "trees"
}

// Kinds are the collectives that have certificates.
var Kinds = []ir.Kind{ir.AllGather, ir.ReduceScatter, ir.AllReduce, ir.Broadcast, ir.ReduceTo, ir.AllToAll}
