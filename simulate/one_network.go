package simulate

import (
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/transport"
)

// This file has messages go from node to node. A store for a rank of another node ends in memory of the block's own
// node. The block's next signal has its rank's proxy send what was stored, and the count behind it (transport/proxy.h).
// So neither store nor signal holds a block up that the network is slow for.

// An owed is what a block has stored for a rank of another node: so many chunks, in runs of neighbours, of which the
// last ends before chunk end.
type owed struct {
	way, rank         int32
	bytes             float64
	chunks, runs, end int32
}

// mirrored says whether operand k, a destination, is memory of another node that is no packets.
func (o *oneSided) mirrored(x *ir.Operand, k int32) bool {
	return x.Rank >= 0 && x.Buf != ir.Packets && o.net.leaves(o.ways[k])
}

// owe has a block owe count chunks from first on, or none. It owes bytes for them in all replicas.
func (b *oneBlock) owe(way, rank, first, count int32, bytes float64) {
	k := slices.IndexFunc(b.owed, func(w owed) bool { return w.rank == rank })
	if k < 0 {
		k = len(b.owed)
		b.owed = append(b.owed, owed{way: way, rank: rank})
	}
	w := &b.owed[k]
	if count > 0 && (w.runs == 0 || w.end != first) {
		w.runs++
	}
	if w.bytes += bytes; count > 0 {
		w.chunks, w.end = w.chunks+count, first+count
	}
}

// post has the proxy of a block's rank send what the block owes, and the counts of s, which is a Signal or nil. It
// returns when each rank has taken its message, by rank, until the next call.
func (o *oneSided) post(b *oneBlock, s *ir.Step, at float64) []float64 {
	if s != nil {
		for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
			if o.net.leaves(o.ways[k]) {
				b.owe(o.ways[k], o.program.OneSided.Operands[k].Rank, 0, 0, 0)
			}
		}
	}
	for _, w := range b.owed {
		o.taken[w.rank] = o.message(b.rank, w, o.messages(b, w), at)
	}
	b.owed = b.owed[:0]
	return o.taken
}

// messages is how many messages the proxy sends of what a block owes in a pass, all replicas together, up to a number
// of these. Whole tiles of chunks that are neighbours lie side by side, as long as memory is made for the replicas that
// the call has. Others go on their own, where they do not go with the counts.
func (o *oneSided) messages(b *oneBlock, w owed) float64 {
	groups := math.Ceil(o.columns / transport.Together)
	switch whole := o.whole && o.bytes(b.pass%o.simulated) == o.simulation.tile; {
	case w.bytes <= groups*transport.Inside:
		return groups
	case whole && groups == 1:
		return float64(w.runs)
	case whole:
		return groups * float64(w.chunks)
	}
	return o.columns * float64(w.chunks)
}

// message carries so many messages of what a block owes, and returns when the last is taken. The proxies do one message
// after the other, while those before it are on their way.
func (o *oneSided) message(from int32, w owed, n, at float64) float64 {
	costs, rate := &o.costs.Network, math.Inf(1)
	if costs.Bytes > 0 {
		rate = costs.Bytes
	}
	first := max(o.sends[from], at) + costs.Message
	last := first + costs.Message*(n-1)
	p := o.net.post(o.net.ways[w.way], first, w.bytes, rate, costs.NIC*n)
	o.sends[from] = last
	if costs.Bytes > 0 {
		o.sends[from] = max(last, p.taken)
	}
	one := o.net.longest(w.way, w.bytes/n, costs.NIC)
	arrived := max(p.tail, last+o.net.latency(w.way)+one)
	o.takes[w.rank] = max(max(o.takes[w.rank], p.head+one)+costs.Message*n, arrived+costs.Message)
	return o.takes[w.rank]
}
