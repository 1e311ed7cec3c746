package fifo

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file finds channels for the blocks that authors number by sendtb and
// recvtb, before anything else is placed. The blocks at the two ends of a
// transfer are on one channel, so that blocks come in groups; two blocks with
// one end, as two that send to one peer, are on different channels. A group
// takes the channel that one of its hints names, or the first that fits. What
// fits no channel is refused, and nothing that comes later can break a hint.

// A naming is the groups of numbered blocks.
type naming struct {
	*colouring
	of     map[hintTB]int32 // the group of a block, which may have become part of another
	groups []nameGroup
}

type nameGroup struct {
	parent       int32 // the group that it has become part of, or itself
	channel, pos int32 // what a hint names, or -1
	blocks       []hintTB
	asks         []demand
}

// nameBlocks binds all numbered blocks to channels and ends, or fills errs.
func (c *colouring) nameBlocks() {
	if len(c.d.Hints) <= 1 {
		return // nobody asks for anything
	}
	n := &naming{colouring: c, of: make(map[hintTB]int32)}
	for _, i := range c.d.BySeq() {
		in := &c.d.Insts[i]
		h := &c.d.Hints[in.Hint]
		if in.Op == ir.Send || *h == ir.NoHint { // the hint of a transfer stands at its receive
			continue
		}
		c.used = max(c.used, h.Channel+1)
		if in.RecvMate < 0 {
			if tb := localTB(h); tb >= 0 {
				n.fix(n.group(hintTB{in.Rank, in.Part, tb}), h.Channel, in.Pos)
			}
			continue
		}
		n.ask(demand{end{in.RecvPeer, in.Part, h.Channel, in.Rank, true}, claim{pair: -1, tb: h.SendTB, pos: in.Pos}})
		n.ask(demand{end{in.Rank, in.Part, h.Channel, in.RecvPeer, false}, claim{pair: -1, tb: h.RecvTB, pos: in.Pos}})
		if h.SendTB >= 0 && h.RecvTB >= 0 {
			n.join(n.group(hintTB{in.RecvPeer, in.Part, h.SendTB}), n.group(hintTB{in.Rank, in.Part, h.RecvTB}))
		}
	}
	for _, named := range [2]bool{true, false} {
		for k := range n.groups {
			if g := &n.groups[k]; g.parent == int32(k) && named == (g.channel >= 0) {
				n.settle(g)
			}
		}
	}
}

func (n *naming) ask(want demand) {
	if want.tb < 0 {
		return
	}
	k := n.group(hintTB{want.rank, want.part, want.tb})
	n.fix(k, want.channel, want.pos)
	n.groups[k].asks = append(n.groups[k].asks, want)
}

// group returns the group of a block.
func (n *naming) group(key hintTB) int32 {
	k, ok := n.of[key]
	if !ok {
		k = int32(len(n.groups))
		n.groups = append(n.groups, nameGroup{parent: k, channel: -1, pos: -1, blocks: []hintTB{key}})
		n.of[key] = k
	}
	for n.groups[k].parent != k {
		n.groups[k].parent = n.groups[n.groups[k].parent].parent
		k = n.groups[k].parent
	}
	return k
}

// fix says that group k is on a channel, if that is not -1.
func (n *naming) fix(k, channel, pos int32) {
	g := &n.groups[k]
	switch {
	case channel < 0 || g.channel == channel:
	case g.channel < 0:
		g.channel, g.pos = channel, pos
	default:
		n.errs = append(n.errs,
			conflict(n.d, pos, g.pos,
				"this thread block, or one that it shares a transfer with, is on channel %d already, and cannot be on channel %d too", g.channel, channel))
	}
}

// join makes groups a and b one.
func (n *naming) join(a, b int32) {
	if a == b {
		return
	}
	if len(n.groups[a].asks)+len(n.groups[a].blocks) < len(n.groups[b].asks)+len(n.groups[b].blocks) {
		a, b = b, a
	}
	from := &n.groups[b]
	n.fix(a, from.channel, from.pos)
	to := &n.groups[a]
	to.asks, to.blocks = append(to.asks, from.asks...), append(to.blocks, from.blocks...)
	from.parent, from.asks, from.blocks = a, nil, nil
}

// settle chooses a group's channel and binds its blocks.
func (n *naming) settle(g *nameGroup) {
	ch := g.channel
	if ch < 0 {
		for ch = 0; ch < n.room.channels-1 && !n.fits(g, ch); ch++ {
		}
	}
	n.used = max(n.used, ch+1)
	for _, key := range g.blocks {
		n.tbs[key] = &hinted{ch, -1, -1}
	}
	for _, want := range g.asks {
		want.channel = ch
		if !n.hintFits(&want) {
			n.clash(&want)
			return
		}
		n.bind(&want)
	}
}

func (n *naming) fits(g *nameGroup, ch int32) bool {
	for _, want := range g.asks {
		want.channel = ch
		if !n.hintFits(&want) {
			return false
		}
	}
	return true
}

// clash reports what want does not go with.
func (n *naming) clash(want *demand) {
	if other := n.ends.at(want.end); other != nil && other.tb >= 0 && other.tb != want.tb {
		n.errs = append(n.errs, conflict(n.d, want.pos, other.pos,
			"rank %d's end of channel %d with rank %d is in thread block %d already, and cannot be in %d too", want.rank,
			want.channel, want.peer, other.tb, want.tb))
		return
	}
	b := n.tbs[hintTB{want.rank, want.part, want.tb}]
	peer, verb := b.recv, "receives from"
	if want.send {
		peer, verb = b.send, "sends to"
	}
	at := n.ends.at(end{want.rank, want.part, want.channel, peer, want.send}).pos
	n.errs = append(n.errs, conflict(n.d, want.pos, at,
		"thread block %d of rank %d %s rank %d already, and a block has one such peer: not rank %d too", want.tb, want.rank,
		verb, peer, want.peer))
}

// conflict returns the report that what pos asks for does not go with other.
func conflict(d *ir.InstDAG, pos, other int32, format string, args ...any) diag.Diagnostic {
	return diag.New(diag.Hint, d.Span(pos), format, args...).
		WithNote(d.Span(other), "the other hint is here").
		WithHint("leave out sendtb, recvtb or ch: the compiler chooses them")
}
