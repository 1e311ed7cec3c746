package simulate

import (
	"mscclc/topology"
)

// A network has the links of a topology, and what they are occupied until.
type network struct {
	t      *topology.Topology
	router *topology.Router
	routes map[int64]span32
	links  []int32   // of all routes, one behind the other
	free   []float64 // of a link: when it is
	busy   []float64 // of a link: how long it was occupied
	memory []float64 // of a rank: when its memory is free
	alpha  []float64 // of a link
	beta   []float64
	far    []bool // of a link: joins nodes
}

type span32 struct{ first, end int32 }

func newNetwork(t *topology.Topology) *network {
	n := &network{t: t, router: topology.NewRouter(t), routes: map[int64]span32{}, free: make([]float64, len(t.Links)), busy: make([]float64, len(t.Links)),
		memory: make([]float64, t.Ranks()), alpha: make([]float64, len(t.Links)), beta: make([]float64, len(t.Links)), far: make([]bool, len(t.Links))}
	for l := range t.Links {
		n.alpha[l], n.beta[l] = t.Latency(int32(l)), t.Bandwidth(int32(l))
		n.far[l] = t.Classes[t.Links[l].Class].Network
	}
	return n
}

// route finds the way from a rank to another; ok is false where there is none.
func (n *network) route(from, to int32) (r span32, ok bool) {
	key := int64(from)<<32 | int64(to)
	if r, ok := n.routes[key]; ok {
		return r, r.end > r.first || from == to
	}
	r.first = int32(len(n.links))
	n.links = n.router.Route(n.links, int(from), int(to))
	if n.links == nil {
		n.links = []int32{}
	}
	r.end = int32(len(n.links))
	n.routes[key] = r
	return r, r.end > r.first || from == to
}

// latency is the α of a way.
func (n *network) latency(r span32) (sum float64) {
	for _, l := range n.links[r.first:r.end] {
		sum += n.alpha[l]
	}
	return sum
}

// network says whether a way leaves its node.
func (n *network) leaves(r span32) bool {
	for _, l := range n.links[r.first:r.end] {
		if n.far[l] {
			return true
		}
	}
	return false
}

// carry sends bytes on their way at a time, at no more than a rate. It returns when the first link has taken the last byte, and when
// that has arrived.
func (n *network) carry(r span32, at, bytes, rate float64) (taken, arrived float64) {
	head, tail := at, at+bytes/rate
	taken = tail
	for i, l := range n.links[r.first:r.end] {
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
