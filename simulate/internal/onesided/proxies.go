package onesided

import (
	"math"
	"slices"

	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/onesided"
	"mscclc/simulate/internal/network"
)

// This file has messages go from node to node. A store for a rank of another node ends in memory of the block's own
// node. The block's next signal has its rank's proxy send what was stored, and the count after it (transport/proxy.h).
// So neither store nor signal holds a block up that the network is slow for.

// An owed is what a block has stored for a rank of another node: a given number of chunks, in runs of neighbours, of
// which the last ends before chunk end.
type owed struct {
	way, rank         int32
	bytes             float64
	chunks, runs, end int32
	flags             ir.Range // operands, among which are the counts that go with it
}

// mirrored reports whether operand k, a destination, is memory of another node that is no packets.
func (o *Blocks) mirrored(x *onesided.Operand, k int32) bool {
	return x.Rank >= 0 && x.Buf != ir.Packets && o.Net.Leaves(o.ways[k])
}

// owe has a block owe count chunks from first on, or none. It owes bytes for them in all replicas. It returns all that
// the block owes the rank.
func (b *block) owe(way, rank, first, count int32, bytes float64) *owed {
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
	return w
}

// post has the proxy of a block's rank send what the block owes, and the counts of the Signal that it is at, if any.
func (o *Blocks) post(b *block, signal bool, at float64) {
	if signal {
		s := &o.program.Steps[b.step]
		for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
			if o.Net.Leaves(o.ways[k]) {
				w := b.owe(o.ways[k], o.program.Operands[k].Rank, 0, 0, 0)
				if w.flags.End == 0 {
					w.flags.First = k
				}
				w.flags.End = k + 1
			}
		}
	}
	for _, w := range b.owed {
		o.mail(b, w, at)
	}
	b.owed = b.owed[:0]
}

// pieces returns how many messages the proxy makes of what a block owes in a pass, all replicas together, up to a
// number of these. Whole tiles of chunks that are neighbours lie side by side, as long as memory is made for the
// replicas that the call has. Others go on their own, where they do not go with the counts.
func (o *Blocks) pieces(b *block, w owed) float64 {
	groups := math.Ceil(o.replicas / launch.Together)
	switch whole := o.whole && o.Bytes(b.pass%o.Simulated) == o.Tile; {
	case w.bytes <= groups*launch.Inside:
		return groups
	case whole && groups == 1:
		return float64(w.runs)
	case whole:
		return groups * float64(w.chunks)
	}
	if n := o.replicas * float64(w.chunks); !o.whole && n > groups {
		o.Split = max(o.Split, int64(n))
	}
	return o.replicas * float64(w.chunks)
}

// mail has the proxy send what a block owes. It makes one piece after the other, while those before are on their way.
func (o *Blocks) mail(b *block, w owed, at float64) {
	costs, rate, n := &o.Costs.Network, math.Inf(1), o.pieces(b, w)
	if costs.Bytes > 0 {
		rate = costs.Bytes
	}
	x := network.Message{Pieces: n, Bytes: w.bytes, More: float64(costs.NIC * n), Flags: w.flags}
	x.First = max(o.sends[b.rank], at) + costs.Message
	x.Last = x.First + float64(costs.Message*(n-1))
	x.Work = o.Net.Alone(o.Net.Ways[w.way], x.Bytes, rate, x.More)
	o.sends[b.rank] = max(x.Last, x.First+x.Bytes/rate)
	to := func(s int32) bool { return o.messages.To(s) == w.rank }
	k := b.turn // mostly, as the order is that of the pass before
	if k >= len(b.streams) || !to(b.streams[k]) {
		k = slices.IndexFunc(b.streams, to)
	}
	if k < 0 {
		k = len(b.streams)
		b.streams = append(b.streams, o.messages.Stream(w.rank, w.way))
	}
	b.turn = (k + 1) % len(b.streams)
	o.messages.Send(b.streams[k], x)
}

// take has the proxy of a rank take a message, and raise its flags. It is a network.Arrived.
func (o *Blocks) take(rank int32, x *network.Message, left, latency float64) {
	cost := o.Costs.Network.Message
	one := (left - x.Began) / x.Pieces
	arrived := latency + max(left, x.Last+one)
	o.takes[rank] = max(max(o.takes[rank], x.Began+latency+one)+float64(cost*x.Pieces), arrived+cost)
	for k := x.Flags.First; k < x.Flags.End; k++ {
		if f := &o.program.Operands[k]; f.Rank == rank {
			o.raise(o.flag(f), o.takes[rank])
		}
	}
}
