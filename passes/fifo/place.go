package fifo

import (
	"cmp"
	"maps"
	"slices"

	"mscclc/ir"
)

// place gives every instruction a channel and a thread block. Flows get
// channels (channels.go), fusions that do not fit are cut, and blocks follow:
// one for each pair of peers that a fused instruction has; what connection
// ends are left are paired, with one peer where possible, so that a rank has
// no more blocks on a channel than it has peers in one direction. A local
// operation joins the block that shares most dependences with it.
//
// Fewer channels make fewer blocks: where a rank would have more blocks than
// the target allows, place tries again with half the channels.
func place(s *state) (int, error) {
	parts := int32(1)
	for i := range s.Insts {
		parts = max(parts, s.Insts[i].Part+1)
	}
	most := int32(32)
	if s.opt.Limits.Channels > 0 {
		most = int32(s.opt.Limits.Channels)
	}
	room := room{max(most/parts, 1), int32(s.opt.Limits.Peers), s.spread.load}
	var c *colouring
	for ; ; room.channels /= 2 {
		c = colour(s.InstDAG, room)
		if c.errs != nil {
			return 0, c.errs.Sort()
		}
		if room.channels == 1 || s.opt.Limits.Blocks == 0 || c.mostBlocks() <= s.opt.Limits.Blocks {
			break
		}
	}
	if s.spread.channels == 0 {
		s.spread.heaviest = 0
		for e := range maps.Values(c.ends.of) {
			s.spread.heaviest = max(s.spread.heaviest, e.load)
		}
	}
	for i := range s.Insts {
		s.Insts[i].Channel = c.channel[i]
	}
	slices.SortFunc(c.cuts, func(a, b int32) int { return cmp.Compare(s.Insts[a].Seq, s.Insts[b].Seq) })
	for _, i := range c.cuts {
		unfuse(s.InstDAG, i)
		if ch, ok := c.onward[i]; ok {
			s.Insts[len(s.Insts)-1].Channel = ch
		}
	}
	if len(c.cuts) > 0 {
		depend(s.InstDAG)
	}
	b := newBlocks(s.InstDAG, c, s.part())
	if most := s.opt.Limits.Blocks; most > 0 && b.most() > most {
		b = newBlocks(s.InstDAG, c, nil)
	}
	b.locals(c.tbs, s.spread.most)
	b.number(c.used)
	return len(c.cuts), nil
}

// mostBlocks returns the number of blocks that the rank with most would have.
func (c *colouring) mostBlocks() int {
	n := make(map[port][2]int)
	for e := range c.ends.of {
		p := n[port{e.rank, e.part, e.channel}]
		if e.send {
			p[0]++
		} else {
			p[1]++
		}
		n[port{e.rank, e.part, e.channel}] = p
	}
	ranks := make([]int, c.d.Coll.Ranks)
	for p, k := range n {
		ranks[p.rank] += max(k[0], k[1])
	}
	return slices.Max(ranks)
}

// blocks is the making of thread blocks.
type blocks struct {
	d    *ir.InstDAG
	list []protoBlock
	ends *endTable
	ofTB map[hintTB]int32
	*parting
	load   []int32   // instructions of each block
	byRank [][]int32 // blocks of each rank
}

type protoBlock struct {
	ir.Block
	part int32
}

// most returns the number of blocks of the rank that has most.
func (b *blocks) most() (n int) {
	for _, list := range b.byRank {
		n = max(n, len(list))
	}
	return n
}

func newBlocks(d *ir.InstDAG, c *colouring, p *parting) *blocks {
	b := &blocks{d: d, parting: p, ends: c.ends, ofTB: make(map[hintTB]int32), byRank: make([][]int32, d.Coll.Ranks)}
	ends := make([]end, 0, len(c.ends.of))
	for e, has := range c.ends.of {
		has.block = -1 // of an earlier try
		ends = append(ends, e)
	}
	slices.SortFunc(ends, func(x, y end) int {
		return cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(x.part, y.part), cmp.Compare(x.channel, y.channel),
			cmp.Compare(x.peer, y.peer), compareBool(x.send, y.send))
	})
	for _, e := range ends { // what an author numbered
		if tb := c.ends.at(e).tb; tb >= 0 {
			b.give(e, b.numbered(e, hintTB{e.rank, e.part, tb}))
		}
	}
	for _, e := range ends { // pairs that fused instructions need
		pair := c.ends.at(e).pair
		if pair < 0 {
			continue
		}
		other := end{e.rank, e.part, e.channel, pair, !e.send}
		if b.ends.at(e).block < 0 { // an author's number is both ends'
			b.give(e, b.add(e))
		}
		b.give(other, b.ends.at(e).block)
	}
	b.leftovers(ends)
	for i := range d.Insts {
		b.assign(&d.Insts[i])
	}
	return b
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// leftovers gives blocks to the ends that nothing has paired: send and receive
// of one peer share one, then any send with any receive of the same channel,
// but for those that are to be apart.
func (b *blocks) leftovers(ends []end) {
	var free []end // ends of one (rank, part, channel)
	same := func(x, y end) bool { return x.rank == y.rank && x.part == y.part && x.channel == y.channel }
	flush := func() {
		for i, e := range free { // the two ends of one peer stand side by side
			if i+1 < len(free) && free[i+1].peer == e.peer && b.near(e, free[i+1]) {
				k := b.add(e)
				b.give(e, k)
				b.give(free[i+1], k)
			}
		}
		b.join(free)
		for _, e := range free {
			if b.ends.at(e).block < 0 {
				b.give(e, b.add(e))
			}
		}
		free = free[:0]
	}
	for _, e := range ends {
		if len(free) > 0 && !same(free[0], e) {
			flush()
		}
		if b.ends.at(e).block < 0 {
			free = append(free, e)
		}
	}
	flush()
}

// join gives each send a block with the first receive that is near.
func (b *blocks) join(free []end) {
	var receives []end
	placed := func(e end) bool { return b.ends.at(e).block >= 0 }
	for _, e := range free {
		if !e.send && !placed(e) {
			receives = append(receives, e)
		}
	}
	for _, e := range free {
		if !e.send || placed(e) {
			continue
		}
		if n := slices.IndexFunc(receives, func(r end) bool { return b.near(e, r) }); n >= 0 {
			k := b.add(e)
			b.give(e, k)
			b.give(receives[n], k)
			receives = slices.Delete(receives, n, n+1)
		}
	}
}

func (b *blocks) add(e end) int32 {
	k := int32(len(b.list))
	b.list = append(b.list, protoBlock{ir.Block{Rank: e.rank, SendPeer: -1, RecvPeer: -1, Channel: e.channel}, e.part})
	b.load = append(b.load, 0)
	b.byRank[e.rank] = append(b.byRank[e.rank], k)
	return k
}

func (b *blocks) numbered(e end, key hintTB) int32 {
	k, ok := b.ofTB[key]
	if !ok {
		k = b.add(e)
		b.ofTB[key] = k
	}
	return k
}

func (b *blocks) give(e end, k int32) {
	has, _ := b.ends.made(e)
	has.block = k
	if e.send {
		b.list[k].SendPeer = e.peer
	} else {
		b.list[k].RecvPeer = e.peer
	}
}

// assign puts an instruction that communicates into the block of its end.
func (b *blocks) assign(in *ir.Inst) {
	switch {
	case in.SendPeer >= 0:
		in.Block = b.ends.at(end{in.Rank, in.Part, in.Channel, in.SendPeer, true}).block
	case in.RecvPeer >= 0:
		in.Block = b.ends.at(end{in.Rank, in.Part, in.Channel, in.RecvPeer, false}).block
	default:
		in.Block = -1
		return
	}
	b.load[in.Block]++
}

// number writes the blocks into d, sorted by rank, part, channel and peers, and
// gives parts channels of their own.
func (b *blocks) number(perPart int32) {
	perPart = max(perPart, 1)
	order := make([]int32, len(b.list))
	for k := range order {
		order[k] = int32(k)
	}
	slices.SortStableFunc(order, func(x, y int32) int {
		p, q := &b.list[x], &b.list[y]
		return cmp.Or(cmp.Compare(p.Rank, q.Rank), cmp.Compare(p.part, q.part), cmp.Compare(p.Channel, q.Channel),
			cmp.Compare(p.SendPeer, q.SendPeer), cmp.Compare(p.RecvPeer, q.RecvPeer))
	})
	to := make([]int32, len(order))
	b.d.Blocks = b.d.Blocks[:0]
	for at, k := range order {
		to[k] = int32(at)
		p := b.list[k]
		p.Channel += p.part * perPart
		b.d.Blocks = append(b.d.Blocks, p.Block)
	}
	for i := range b.d.Insts {
		in := &b.d.Insts[i]
		in.Block = to[in.Block]
		in.Channel = b.d.Blocks[in.Block].Channel
	}
}
