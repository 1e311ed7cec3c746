package simulate

import (
	"slices"

	"mscclc/topology"
)

// A network has the links of a topology, and what they are occupied until.
type network struct {
	t      *topology.Topology
	ways   [][]int32 // the links of each way
	free   []float64 // by link: when it is
	busy   []float64 // by link: how long it was occupied
	memory []float64 // by rank: when its memory is free
	alpha  []float64 // of a link
	beta   []float64
	rate   []float64 // by link: what messages between nodes leave of β to what blocks move
	far    []bool    // by link: joins nodes

	links  []int32   // that messages sent together go through
	shared []float64 // by link: how long they occupy it, all
	begun  []float64 // and since when

	messages *messages // between nodes, of one-sided programs
}

func newNetwork(t *topology.Topology) *network {
	n := &network{t: t, free: make([]float64, len(t.Links)), busy: make([]float64, len(t.Links)),
		memory: make([]float64, t.Ranks()), alpha: make([]float64, len(t.Links)), beta: make([]float64, len(t.Links)),
		far:    make([]bool, len(t.Links)),
		shared: make([]float64, len(t.Links)), begun: make([]float64, len(t.Links))}
	for l := range t.Links {
		n.alpha[l], n.beta[l] = t.Latency(int32(l)), t.Bandwidth(int32(l))
		n.far[l] = t.Classes[t.Links[l].Class].Network
	}
	n.rate = slices.Clone(n.beta)
	return n
}

// latency returns the α of a way.
func (n *network) latency(way int32) (sum float64) {
	for _, l := range n.ways[way] {
		sum += n.alpha[l]
	}
	return sum
}

// occupied returns how long a message occupies a link, and one between nodes for a time more.
func (n *network) occupied(l int32, bytes, more float64) float64 {
	if n.far[l] {
		return bytes/n.beta[l] + more
	}
	return bytes / n.beta[l]
}

// alone returns how long a message takes that is alone on its way, at no more than a rate, latency apart.
func (n *network) alone(links []int32, bytes, rate, more float64) (longest float64) {
	longest = bytes / rate
	for _, l := range links {
		longest = max(longest, n.occupied(l, bytes, more))
	}
	return longest
}

// leaves reports whether a way leaves its node.
func (n *network) leaves(way int32) bool {
	return slices.ContainsFunc(n.ways[way], func(l int32) bool { return n.far[l] })
}

// A passage is when the first link of a way has taken the last byte of a message, and when its first byte and its last
// have arrived.
type passage struct{ taken, head, tail float64 }

// carry sends bytes on their way at a time, at no more than a rate.
func (n *network) carry(links []int32, at, bytes, rate float64) (p passage) {
	p.head, p.tail = at, at+bytes/rate
	p.taken = p.tail
	for i, l := range links {
		n.moves(l)
		p.head = max(p.head, n.free[l])
		occupied := bytes / n.rate[l]
		n.free[l] = p.head + occupied
		n.busy[l] += bytes / n.beta[l]
		p.tail = max(p.tail, p.head+occupied)
		if i == 0 {
			p.taken = p.tail
		}
		p.head += n.alpha[l]
		p.tail += n.alpha[l]
	}
	return p
}

// moves says to messages on a link that blocks move something there.
func (n *network) moves(l int32) {
	if n.rate[l] != n.beta[l] {
		n.messages.moved(l)
	}
}

// together begins messages of equal length that are sent at once: they take turns on the links that several of them go
// through, packet by packet, so that they end there together. Each is then spread, and apart ends them.
func (n *network) together(ways []int32, bytes float64) {
	for _, way := range ways {
		for _, l := range n.ways[way] {
			if n.shared[l] == 0 {
				n.links = append(n.links, l)
			}
			n.shared[l] += bytes / n.rate[l]
		}
	}
}

// spread carries one of the messages that are sent together.
func (n *network) spread(links []int32, at, bytes, rate float64) (p passage) {
	p.head, p.tail = at, at+bytes/rate
	p.taken = p.tail
	for i, l := range links {
		p.head = max(p.head, n.free[l])
		n.begun[l] = max(n.begun[l], p.head)
		n.busy[l] += bytes / n.beta[l]
		p.tail = max(p.tail, p.head+n.shared[l])
		if i == 0 {
			p.taken = p.tail
		}
		p.head += n.alpha[l]
		p.tail += n.alpha[l]
	}
	return p
}

func (n *network) apart() {
	for _, l := range n.links {
		n.moves(l)
		n.free[l] = n.begun[l] + n.shared[l]
		n.begun[l], n.shared[l] = 0, 0
	}
	n.links = n.links[:0]
}

// A flight is a message on its way, which queues at each link when it is there, and not before.
type flight struct {
	passage
	way        []int32
	next       int // of its links
	bytes      float64
	connection int32
	slot       int64
}

// fly takes a flight on from link to link, up to one where it queues: it returns when it is through that, or done where
// it has arrived.
func (n *network) fly(f *flight) (at float64, done bool) {
	for f.next < len(f.way) {
		l := f.way[f.next]
		start := max(f.head, n.free[l])
		queued := start > f.head
		occupied := f.bytes / n.beta[l]
		n.free[l] = start + occupied
		n.busy[l] += occupied
		f.tail = max(f.tail, start+occupied)
		if f.next == 0 {
			f.taken = f.tail
		}
		f.head, f.tail = start+n.alpha[l], f.tail+n.alpha[l]
		if f.next++; queued && f.next < len(f.way) {
			return start, false
		}
	}
	return 0, true
}

// local has a rank's memory read and write so many bytes, and returns when that is over.
func (n *network) local(rank int32, at, bytes, rate float64) float64 {
	begin := max(at, n.memory[rank])
	n.memory[rank] = begin + bytes/rate
	return n.memory[rank]
}
