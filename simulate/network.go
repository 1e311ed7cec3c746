package simulate

import (
	"slices"

	"mscclc/topology"
)

// A network has the links of a topology, and what they are occupied until.
type network struct {
	t      *topology.Topology
	ways   [][]int32 // the links of each way
	free   []float64 // of a link: when it is
	busy   []float64 // of a link: how long it was occupied
	memory []float64 // of a rank: when its memory is free
	alpha  []float64 // of a link
	beta   []float64
	far    []bool // of a link: joins nodes
}

func newNetwork(t *topology.Topology) *network {
	n := &network{t: t, free: make([]float64, len(t.Links)), busy: make([]float64, len(t.Links)),
		memory: make([]float64, t.Ranks()), alpha: make([]float64, len(t.Links)), beta: make([]float64, len(t.Links)), far: make([]bool, len(t.Links))}
	for l := range t.Links {
		n.alpha[l], n.beta[l] = t.Latency(int32(l)), t.Bandwidth(int32(l))
		n.far[l] = t.Classes[t.Links[l].Class].Network
	}
	return n
}

// latency is the α of a way.
func (n *network) latency(way int32) (sum float64) {
	for _, l := range n.ways[way] {
		sum += n.alpha[l]
	}
	return sum
}

// leaves says whether a way leaves its node.
func (n *network) leaves(way int32) bool {
	return slices.ContainsFunc(n.ways[way], func(l int32) bool { return n.far[l] })
}

// carry sends bytes on their way at a time, at no more than a rate. It returns when the first link has taken the last byte, and when
// that has arrived.
func (n *network) carry(links []int32, at, bytes, rate float64) (taken, arrived float64) {
	head, tail := at, at+bytes/rate
	taken = tail
	for i, l := range links {
		head = max(head, n.free[l])
		occupied := bytes / n.beta[l]
		n.free[l] = head + occupied
		n.busy[l] += occupied
		tail = max(tail, head+occupied)
		if i == 0 {
			taken = tail
		}
		head += n.alpha[l]
		tail += n.alpha[l]
	}
	return taken, tail
}

// local has a rank's memory read and write so many bytes, and returns when that is over.
func (n *network) local(rank int32, at, bytes, rate float64) float64 {
	begin := max(at, n.memory[rank])
	n.memory[rank] = begin + bytes/rate
	return n.memory[rank]
}
