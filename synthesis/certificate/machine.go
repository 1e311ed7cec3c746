package certificate

import (
	"fmt"
	"math/big"

	"mscclc/topology"
)

// A Part is the GPUs of a topology that take part.
type Part struct {
	GPUs    []int32 // indexed by rank: a GPU of the topology; nil is all, in their order
	NoRelay bool    // links of GPUs that are no ranks carry nothing
}

// machine compares the certificate with the topology: its places, and where its ranks are.
func (k *checker) machine(t *topology.Topology) error {
	c := k.c
	if c.Version != Version {
		return fmt.Errorf("version %d of the format is not known", c.Version)
	}
	if len(c.Places) != len(t.Places) {
		return fmt.Errorf("it is of a machine of %d places: this one has %d", len(c.Places), len(t.Places))
	}
	for i, p := range t.Places {
		if c.Places[i] != p.String() {
			return fmt.Errorf("place %d is %q: it is %q here", i, c.Places[i], p)
		}
	}
	if len(c.Ranks) < 2 {
		return fmt.Errorf("it has %d ranks", len(c.Ranks))
	}
	k.gpus = t.Ranks()
	for r, p := range c.Ranks {
		if p < 0 || p >= t.Ranks() {
			return fmt.Errorf("rank %d is on place %d, which is no GPU", r, p)
		}
		if _, twice := k.rank[p]; twice {
			return fmt.Errorf("two ranks are on place %d", p)
		}
		k.rank[p] = r
	}
	return nil
}

// part compares the ranks with those that take part, and takes the capacities from the topology. Links of the network
// count only where some ranks reach each other by no other links, as in package bound.
func (k *checker) part(t *topology.Topology, part Part) error {
	ranks := part.GPUs
	if ranks == nil {
		for g := range t.Ranks() {
			ranks = append(ranks, int32(g))
		}
	}
	if len(k.c.Ranks) != len(ranks) {
		return fmt.Errorf("it has %d ranks: %d GPUs take part", len(k.c.Ranks), len(ranks))
	}
	domains, apart := t.Domains(), false
	for r, p := range k.c.Ranks {
		if p != int(ranks[r]) {
			return fmt.Errorf("rank %d is on GPU %d: it is GPU %d here", r, p, ranks[r])
		}
		apart = apart || domains[p] != domains[k.c.Ranks[0]]
	}
	aside := func(place int32) bool { // a GPU that takes no part
		_, rank := k.rank[int(place)]
		return int(place) < k.gpus && !rank
	}
	for l, link := range t.Links {
		if t.Classes[link.Class].Network && !apart || part.NoRelay && (aside(link.From) || aside(link.To)) {
			continue
		}
		key := [2]int{int(link.From), int(link.To)}
		if k.cap[key] == nil {
			k.cap[key] = new(big.Rat)
		}
		k.cap[key].Add(k.cap[key], capacity(t.Bandwidth(int32(l))))
	}
	return nil
}

// capacity returns a bandwidth in MB/s, rounded to kB/s.
func capacity(mbs float64) *big.Rat { return big.NewRat(int64(mbs*1000+0.5), 1000) }
