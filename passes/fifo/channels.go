package fifo

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file colours flows with channels. A flow is a chain of transfers joined
// by fused instructions: it needs one channel, since a fused instruction lives
// in one thread block. On one channel of one rank the receive peers and the
// send peers of fused instructions must pair one to one, because a block has
// one of each and each end of a connection belongs to one block. Two flows
// that break the pairing get two channels; where channels run out, a flow is
// cut in two at the ranks where it conflicts.

// A colouring assigns channels within each part; part p's channel c becomes
// the program's channel p*perPart + c.
type colouring struct {
	d       *ir.InstDAG
	room    room
	used    int32           // channels that some part uses
	peers   map[end]int32   // by side: its ends
	adds    map[end]int32   // what the flow at hand would add to either
	near    map[int32]int32 // by distance: the channel that it goes to first; nil where all peers fit one channel
	channel []int32
	onward  map[int32]int32 // channel of the send that is cut off a fused instruction because of a hint
	ends    *endTable       // what each end of a connection is bound to
	tbs     map[hintTB]*hinted
	cuts    []int32
	both    [2]demand // what demands returns
	errs    diag.List
}

type hintTB struct{ rank, part, tb int32 }

// A hinted block is what the instructions that an author put into it ask for.
type hinted struct{ channel, send, recv int32 }

// colour gives every transfer a channel and lists the fused instructions to
// cut. Longest flows first, then by source order.
func colour(d *ir.InstDAG, room room) *colouring {
	c := &colouring{d: d, room: room, channel: make([]int32, len(d.Insts)), onward: make(map[int32]int32),
		ends: newEndTable(d.Coll.Ranks), tbs: make(map[hintTB]*hinted), peers: make(map[end]int32), adds: make(map[end]int32)}
	c.findFull()
	if c.nameBlocks(); c.errs != nil {
		return c
	}
	height := heights(d, d.BySeq())
	var starts []int32
	bound := make([]int8, len(d.Insts))
	for i := range d.Insts {
		if d.Insts[i].Op == ir.Send {
			starts = append(starts, int32(i))
			bound[i] = c.bound(int32(i))
		}
	}
	slices.SortFunc(starts, func(a, b int32) int {
		// What hints bind goes first, since nothing can move it.
		return cmp.Or(cmp.Compare(bound[b], bound[a]), cmp.Compare(height[b], height[a]),
			cmp.Compare(d.Insts[a].Seq, d.Insts[b].Seq))
	})
	var flow []int32
	for _, s := range starts {
		flow = flow[:0]
		for i := s; i >= 0; i = d.Insts[i].SendMate {
			flow = append(flow, i)
		}
		c.hintedFlow(flow)
	}
	return c
}

// bound returns 1 where a hint says on which channel some transfer of the flow that
// begins at i is, else 0.
func (c *colouring) bound(i int32) int8 {
	for i = c.d.Insts[i].SendMate; i >= 0; i = c.d.Insts[i].SendMate {
		if c.asked(i) >= 0 {
			return 1
		}
	}
	return 0
}

// asked returns the channel on which hints want the transfer that i receives, or -1.
func (c *colouring) asked(i int32) int32 {
	in := &c.d.Insts[i]
	switch h := &c.d.Hints[in.Hint]; {
	case h.Channel >= 0:
		return h.Channel
	case h.SendTB >= 0:
		return c.tbs[hintTB{in.RecvPeer, in.Part, h.SendTB}].channel
	case h.RecvTB >= 0:
		return c.tbs[hintTB{in.Rank, in.Part, h.RecvTB}].channel
	}
	return -1
}

// hintedFlow colours a flow in pieces: where a hint asks for another channel
// than one before it, the flow is cut.
func (c *colouring) hintedFlow(insts []int32) {
	first, want := 0, int32(-1)
	for k := 1; k < len(insts); k++ {
		asked := c.asked(insts[k])
		if want >= 0 && asked >= 0 && asked != want {
			c.cuts = append(c.cuts, insts[k-1])
			c.flow(insts[first:k], want)
			first, want = k-1, asked
		}
		want = max(want, asked)
	}
	c.flow(insts[first:], want)
}

// flow colours the instructions of one flow: a send, fused ones, a receive. It
// takes channel want, or where that is -1 the first that has room for it and
// that it has least conflicts on.
func (c *colouring) flow(insts []int32, want int32) {
	if want >= 0 {
		c.take(insts, want)
		return
	}
	first := min(c.near[c.distance(&c.d.Insts[insts[0]])], c.room.channels-1)
	best, fewest := first, len(insts)
	try := func(ch int32) {
		if n := c.conflicts(insts, ch); n < fewest && c.holds(insts, ch) {
			best, fewest = ch, n
		}
	}
	try(first)
	for ch := int32(0); ch < min(c.used+1, c.room.channels) && fewest > 0; ch++ {
		try(ch)
	}
	c.take(insts, best)
}

// fusedAt reports whether the k-th instruction of a flow is fused: all but the
// first and the last.
func fusedAt(insts []int32, k int) bool { return k > 0 && k < len(insts)-1 }

// A demand is what an instruction asks of one end of a connection.
type demand struct {
	end
	claim
}

// demands returns the demands of instruction k of a flow on channel ch: its receive's
// (not of the first), then its send's (not of the last).
func (c *colouring) demands(insts []int32, k int, ch int32) []demand {
	in := &c.d.Insts[insts[k]]
	recv := demand{end{in.Rank, in.Part, ch, in.RecvPeer, false},
		claim{pair: -1, tb: c.d.Hints[in.Hint].RecvTB, pos: in.Pos}}
	send := demand{end{in.Rank, in.Part, ch, in.SendPeer, true}, claim{pair: -1, tb: -1, pos: in.Pos}}
	if k < len(insts)-1 { // the hint of a transfer stands at its receive
		to := &c.d.Insts[insts[k+1]]
		send.tb, send.pos = c.d.Hints[to.Hint].SendTB, to.Pos
	}
	if fusedAt(insts, k) {
		recv.pair, send.pair = in.SendPeer, in.RecvPeer
	}
	c.both = [2]demand{recv, send}
	switch {
	case k == 0:
		return c.both[1:]
	case k == len(insts)-1:
		return c.both[:1]
	}
	return c.both[:]
}

// conflicts counts the fused instructions that channel ch cannot hold as they
// are.
func (c *colouring) conflicts(insts []int32, ch int32) (n int) {
	for k := range insts {
		if fusedAt(insts, k) && !c.pairFits(c.demands(insts, k, ch)) {
			n++
		}
	}
	return n
}

// pairFits reports whether the two ends of a fused instruction can share a block.
// It sets the author's number of that block in both, where one has it.
func (c *colouring) pairFits(ask []demand) bool {
	tb := int32(-1)
	for _, want := range ask {
		have := c.ends.at(want.end)
		if have == nil {
			have = &noClaim
		}
		if have.pair >= 0 && have.pair != want.pair {
			return false
		}
		for _, t := range [2]int32{have.tb, want.tb} {
			if t >= 0 && tb >= 0 && t != tb {
				return false
			}
			tb = max(tb, t)
		}
	}
	for i := range ask {
		ask[i].tb = tb
		if tb >= 0 && !c.hintFits(&ask[i]) {
			return false
		}
	}
	return true
}

// hintFits reports whether the block that the author numbered want.tb may have
// the end: no other block has it, and the block has no other.
func (c *colouring) hintFits(want *demand) bool {
	if have := c.ends.at(want.end); have != nil && have.tb >= 0 && have.tb != want.tb {
		return false
	}
	b := c.tbs[hintTB{want.rank, want.part, want.tb}]
	switch {
	case b == nil: // nothing has been said of it yet
		return true
	case want.send:
		return b.channel == want.channel && (b.send < 0 || b.send == want.peer)
	}
	return b.channel == want.channel && (b.recv < 0 || b.recv == want.peer)
}

// take binds the flow to channel ch, and cuts what does not fit.
func (c *colouring) take(insts []int32, ch int32) {
	c.used = max(c.used, ch+1)
	for k, i := range insts {
		if k == 0 && c.d.Insts[i].Op != ir.Send {
			c.onward[i] = ch
		} else {
			c.channel[i] = ch
		}
		ask := c.demands(insts, k, ch)
		if fusedAt(insts, k) && !c.pairFits(ask) {
			c.cuts = append(c.cuts, i)
			ask = c.demands(insts, k, ch)
			ask[0].pair, ask[1].pair = -1, -1
		}
		for _, want := range ask {
			c.bind(&want).load++
		}
	}
}

// bind gives an end what want asks for, and returns what it is bound to then.
func (c *colouring) bind(want *demand) *claim {
	have, isNew := c.ends.made(want.end)
	if isNew {
		have.pos = want.pos
		c.peers[want.side()]++
	}
	have.pair = max(have.pair, want.pair)
	if want.tb >= 0 && have.tb != want.tb {
		have.tb, have.pos = want.tb, want.pos
		b := c.tbs[hintTB{want.rank, want.part, want.tb}]
		if want.send {
			b.send = want.peer
		} else {
			b.recv = want.peer
		}
	}
	return have
}
