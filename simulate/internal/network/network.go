// Package network carries data over the links of a topology. Links serve the data of blocks in the order of arrival
// ([Network.Carry], [Network.Spread]). Messages of two-sided programs queue at each link ([Flight]). Messages of
// one-sided programs between nodes share links ([Messages]).
package network

import (
	"errors"
	"fmt"
	"slices"

	"mscclc/topology"
)

// ErrNoWay is part of the error where a topology has no way between ranks that a program needs, or not the ranks.
var ErrNoWay = errors.New("the topology has no such way")

// A Network has the links of a topology, and what they are occupied until. Ranks sit on its GPUs.
type Network struct {
	Topology *topology.Topology
	Ways     [][]int32 // the links of each way
	Busy     []float64 // by link: how long it was occupied

	gpu    []int32   // by rank
	memory []float64 // by GPU: when its memory is free
	free   []float64 // by link: when it is
	alpha  []float64 // of a link
	beta   []float64
	rate   []float64 // by link: what messages between nodes leave of β to what blocks move
	far    []bool    // by link: joins nodes

	links  []int32   // that messages sent together go through
	shared []float64 // by link: how long they occupy it, all
	begun  []float64 // and since when

	messages *Messages // between nodes, of one-sided programs
}

// New returns a network of t whose links are free. gpu is the GPU of each rank, indexed by rank.
func New(t *topology.Topology, gpu []int32) *Network {
	n := &Network{Topology: t, gpu: gpu, free: make([]float64, len(t.Links)), Busy: make([]float64, len(t.Links)),
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

// Find finds the ways between the GPUs of pairs of ranks; those of a rank to itself are empty.
func (n *Network) Find(pairs [][2]int32) (ways []int32, err error) {
	gpus := make([][2]int32, len(pairs))
	for i, p := range pairs {
		gpus[i] = [2]int32{n.gpu[p[0]], n.gpu[p[1]]}
	}
	ways, n.Ways = n.Topology.Ways(gpus)
	for i, p := range pairs {
		if p[0] != p[1] && len(n.Ways[ways[i]]) == 0 {
			return nil, fmt.Errorf("from rank %d to rank %d: %w", p[0], p[1], ErrNoWay)
		}
	}
	return ways, nil
}

// Latency returns the α of a way.
func (n *Network) Latency(way int32) (sum float64) {
	for _, l := range n.Ways[way] {
		sum += n.alpha[l]
	}
	return sum
}

// occupied returns how long a message occupies a link, and one between nodes for a time more.
func (n *Network) occupied(l int32, bytes, more float64) float64 {
	if n.far[l] {
		return bytes/n.beta[l] + more
	}
	return bytes / n.beta[l]
}

// Alone returns how long a message takes that is alone on its way, at no more than a rate, latency apart.
func (n *Network) Alone(links []int32, bytes, rate, more float64) (longest float64) {
	longest = bytes / rate
	for _, l := range links {
		longest = max(longest, n.occupied(l, bytes, more))
	}
	return longest
}

// Leaves reports whether a way leaves its node.
func (n *Network) Leaves(way int32) bool {
	return slices.ContainsFunc(n.Ways[way], func(l int32) bool { return n.far[l] })
}

// A Passage is when the first link of a way has taken the last byte of a message, and when its first byte and its last
// have arrived.
type Passage struct{ Taken, Head, Tail float64 }

// Carry sends bytes on their way at a time, at no more than a rate.
func (n *Network) Carry(links []int32, at, bytes, rate float64) (p Passage) {
	p.Head, p.Tail = at, at+bytes/rate
	p.Taken = p.Tail
	for i, l := range links {
		n.moves(l)
		p.Head = max(p.Head, n.free[l])
		occupied := bytes / n.rate[l]
		n.free[l] = p.Head + occupied
		n.Busy[l] += bytes / n.beta[l]
		p.Tail = max(p.Tail, p.Head+occupied)
		if i == 0 {
			p.Taken = p.Tail
		}
		p.Head += n.alpha[l]
		p.Tail += n.alpha[l]
	}
	return p
}

// moves says to messages on a link that blocks move something there.
func (n *Network) moves(l int32) {
	if n.rate[l] != n.beta[l] {
		n.messages.moved(l)
	}
}

// Together begins messages of equal length that are sent at once: they take turns on the links that several of them go
// through, packet by packet, so that they end there together. Each is then spread, and apart ends them.
func (n *Network) Together(ways []int32, bytes float64) {
	for _, way := range ways {
		for _, l := range n.Ways[way] {
			if n.shared[l] == 0 {
				n.links = append(n.links, l)
			}
			n.shared[l] += bytes / n.rate[l]
		}
	}
}

// Spread carries one of the messages that are sent together.
func (n *Network) Spread(links []int32, at, bytes, rate float64) (p Passage) {
	p.Head, p.Tail = at, at+bytes/rate
	p.Taken = p.Tail
	for i, l := range links {
		p.Head = max(p.Head, n.free[l])
		n.begun[l] = max(n.begun[l], p.Head)
		n.Busy[l] += bytes / n.beta[l]
		p.Tail = max(p.Tail, p.Head+n.shared[l])
		if i == 0 {
			p.Taken = p.Tail
		}
		p.Head += n.alpha[l]
		p.Tail += n.alpha[l]
	}
	return p
}

// Apart ends messages that were sent together.
func (n *Network) Apart() {
	for _, l := range n.links {
		n.moves(l)
		n.free[l] = n.begun[l] + n.shared[l]
		n.begun[l], n.shared[l] = 0, 0
	}
	n.links = n.links[:0]
}

// A Flight is a message on its way, which queues at each link when it is there, and not before.
type Flight struct {
	Passage
	Way        []int32
	Bytes      float64
	Connection int32
	Slot       int64
	next       int // of its links
}

// Fly takes a flight on from link to link, up to one where it queues: it returns when it is through that, or done where
// it has arrived.
func (n *Network) Fly(f *Flight) (at float64, done bool) {
	for f.next < len(f.Way) {
		l := f.Way[f.next]
		start := max(f.Head, n.free[l])
		queued := start > f.Head
		occupied := f.Bytes / n.beta[l]
		n.free[l] = start + occupied
		n.Busy[l] += occupied
		f.Tail = max(f.Tail, start+occupied)
		if f.next == 0 {
			f.Taken = f.Tail
		}
		f.Head, f.Tail = start+n.alpha[l], f.Tail+n.alpha[l]
		if f.next++; queued && f.next < len(f.Way) {
			return start, false
		}
	}
	return 0, true
}

// Local has a rank's memory read and write a given number of bytes, and returns when that is over.
func (n *Network) Local(rank int32, at, bytes, rate float64) float64 {
	memory := &n.memory[n.gpu[rank]]
	*memory = max(at, *memory) + bytes/rate
	return *memory
}
