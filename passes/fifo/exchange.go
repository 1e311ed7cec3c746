package fifo

import (
	"slices"

	"mscclc/ir"
)

// This file says which ends of connections must not share a thread block, as
// far as the target has room for the blocks.

// A parting is what keeps two ends of a rank apart. Nil keeps none apart.
type parting struct {
	long  map[end]bool     // ends of long exchanges
	span  map[end][2]int32 // by end: the least and the largest depth of its transfers
	depth int32            // of the program
}

func (s *state) part() *parting {
	d := s.InstDAG
	depth := depths(d, d.BySeq())
	p := &parting{span: make(map[end][2]int32)}
	note := func(e end, depth int32) {
		have, ok := p.span[e]
		if !ok {
			have = [2]int32{depth, depth}
		}
		p.span[e] = [2]int32{min(have[0], depth), max(have[1], depth)}
	}
	for i := range d.Insts {
		switch in := &d.Insts[i]; {
		case in.SendPeer >= 0 && in.RecvPeer < 0: // what is fused has a block with both ends
			note(end{in.Rank, in.Part, in.Channel, in.SendPeer, true}, depth[i])
		case in.RecvPeer >= 0 && in.SendPeer < 0:
			note(end{in.Rank, in.Part, in.Channel, in.RecvPeer, false}, depth[in.RecvMate])
		}
	}
	p.depth = slices.Max(append(depth, 0))
	p.long = s.exchanges(depth)
	return p
}

// near reports whether the ends a and b of a rank, of which one sends, go well in
// one block: they are no long exchange, and not half the program lies between
// them. A block that sends where a chain begins and receives where it ends begins
// no tile before the one before has gone the whole way.
func (p *parting) near(a, b end) bool {
	if p == nil {
		return true
	}
	if a.peer == b.peer && p.long[a] {
		return false
	}
	x, y := p.span[a], p.span[b]
	both := max(x[1], y[1]) - min(x[0], y[0])
	return both <= max(x[1]-x[0], y[1]-y[0])+max(2, p.depth/2)
}

// exchanges finds the connections on which two ranks send each other more at
// once than the connections hold, by their ends. A thread block that had both
// ends could not send all before it receives, so that one of the two blocks
// would receive all first, and the transfers would follow each other. In blocks
// of their own the ends run side by side. Two transfers of one depth do not
// depend on each other.
func (s *state) exchanges(depth []int32) map[end]bool {
	d := s.InstDAG
	long := func(i int) bool {
		in := &d.Insts[i]
		return in.Op == ir.Send && s.messages(in.Count) > int32(s.slots) && d.Insts[in.SendMate].SendMate < 0
	}
	type transfer struct {
		end
		depth int32
	}
	of := func(i int) transfer {
		in := &d.Insts[i]
		return transfer{end{in.Rank, in.Part, in.Channel, in.SendPeer, true}, depth[i]}
	}
	sent := make(map[transfer]bool)
	for i := range d.Insts {
		if long(i) {
			sent[of(i)] = true
		}
	}
	ends := make(map[end]bool)
	for t := range sent {
		back := t
		back.rank, back.peer = t.peer, t.rank
		if sent[back] {
			ends[t.end], ends[t.other()] = true, true
		}
	}
	return ends
}

// other returns the rank's other end with the same peer.
func (e end) other() end {
	e.send = !e.send
	return e
}
