package lang

import (
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file makes an ir.ChannelProgram of what a file says of channels.

// program returns the program, or nil after a fault.
func (ch *channelLevel) program(m *machine, h *ir.Header) *ir.ChannelProgram {
	p := &m.prog
	if ch.matched(m); len(m.errs) > 0 {
		return nil
	}
	if ch.launch.threads == 0 {
		ch.launch.threads, ch.launch.align = usualThreads, usualAlign
	}
	l := &ch.launch
	g := &ir.ChannelProgram{Header: *h, Ranks: make([]ir.ChannelRank, len(ch.ranks)), Threads: int(l.threads),
		Align: int(l.align), DoubleScratch: l.double, Reuse: l.reuse, MinBytes: uint64(h.Sizes.Min), MaxBytes: math.MaxUint64}
	if h.Sizes.Max > 0 {
		g.MaxBytes = uint64(h.Sizes.Max) - 1
	}
	for r := range ch.ranks {
		from, to := &ch.ranks[r], &g.Ranks[r]
		to.In, to.Out, to.Semaphores = p.at(int32(r), ir.Input).chunks, p.at(int32(r), ir.Output).chunks, from.semas
		for i := range p.scratch {
			to.Scratch += int32(p.scratch[i].Chunks)
		}
		to.Blocks = make([][]ir.ChannelOp, len(from.blocks))
		for b := range from.blocks {
			to.Blocks[b] = from.blocks[b].ops
		}
	}
	ch.connect(g)
	return g
}

// connect gives the ranks their channels. A switch channel is of one buffer: an
// end has one for each buffer that any end of its channel is used with, so that
// the ranks of a group have the same.
func (ch *channelLevel) connect(g *ir.ChannelProgram) {
	bufs := map[string]uint8{} // of the k-th switch channel of a group
	ends := make([]string, len(ch.ends))
	count := map[string]int32{}
	for i := range ch.ends {
		if e := &ch.ends[i]; e.via == ir.SwitchChannel {
			group := groupKey(e.group)
			own := string(appendInt(nil, e.rank)) + group
			ends[i] = string(appendInt(nil, count[own])) + group
			count[own]++
			bufs[ends[i]] |= e.bufs
		}
	}
	first := map[[3]int32]int32{} // by rank, number and buffer
	for i := range ch.ends {
		e := &ch.ends[i]
		list := &g.Ranks[e.rank].Channels[e.via]
		if e.via != ir.SwitchChannel {
			*list = append(*list, ir.Channel{Peer: e.peer})
			continue
		}
		for b := ir.Input; b <= ir.Scratch; b++ {
			if bufs[ends[i]]&(1<<b) != 0 {
				first[[3]int32{e.rank, e.id, int32(b)}] = int32(len(*list))
				*list = append(*list, ir.Channel{Group: e.group, Buf: b})
			}
		}
	}
	for r := range g.Ranks {
		for _, list := range g.Ranks[r].Blocks {
			renumber(int32(r), list, first)
		}
	}
}

// renumber gives operands of switch channels the numbers of these.
func renumber(rank int32, list []ir.ChannelOp, first map[[3]int32]int32) {
	for i := range list {
		if list[i].Type == ir.SwitchChannel {
			list[i].Srcs, list[i].Dsts = renumbered(rank, list[i].Srcs, first), renumbered(rank, list[i].Dsts, first)
		}
		renumber(rank, list[i].Body, first)
	}
}

// renumbered copies what the blocks of a group share.
func renumbered(rank int32, list []ir.ChannelRef, first map[[3]int32]int32) []ir.ChannelRef {
	list = slices.Clone(list)
	for i := range list {
		if x := &list[i]; x.Rank == ir.AllRanks {
			x.Switch = first[[3]int32{rank, x.Switch, int32(x.Buf)}]
		}
	}
	return list
}

func appendInt(b []byte, n int32) []byte {
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

func groupKey(group []int32) string {
	b := make([]byte, 0, 4*len(group))
	for _, r := range group {
		b = appendInt(b, r)
	}
	return string(b)
}

// matched reports ends of channels that have no other end.
func (ch *channelLevel) matched(m *machine) {
	type pair struct {
		rank, peer int32
		via        ir.ChannelType
	}
	pairs, switches := map[pair]int{}, map[string]int{}
	of := func(rank int32, group string) string { return string(appendInt(nil, rank)) + group }
	for i := range ch.ends {
		if e := &ch.ends[i]; e.via == ir.SwitchChannel {
			switches[of(e.rank, groupKey(e.group))]++
		} else {
			pairs[pair{e.rank, e.peer, e.via}]++
		}
	}
	for i := range ch.ends {
		e := &ch.ends[i]
		if e.via != ir.SwitchChannel {
			back := pair{e.peer, e.rank, e.via}
			mine, other := pairs[pair{e.rank, e.peer, e.via}], pairs[back]
			if mine > other {
				pairs[back] = mine // told
				d := m.report(diag.Unmatched, e.span, "rank %d has %s to rank %d, which has %d back", e.rank, counted(mine, e.via),
					e.peer, other)
				d.Hint = "each rank makes its own end: channel(rank, peer) and channel(peer, rank)"
			}
			continue
		}
		group := groupKey(e.group)
		for _, r := range e.group {
			if mine, other := switches[of(e.rank, group)], switches[of(r, group)]; mine > other {
				switches[of(r, group)] = mine
				m.report(diag.Unmatched, e.span, "rank %d has %s of its group, and rank %d has %d", e.rank, counted(mine, e.via),
					r, other).Hint = "each rank of a switch channel makes its own end"
			}
		}
	}
}

func counted(n int, via ir.ChannelType) string { return diag.Counted(n, via.String()+" channel") }
