package channels

import (
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// Memory is what a rank has of each buffer, in chunks.
type Memory struct{ In, Out, Scratch int32 }

// Program returns the program with header h. memory returns what a rank has.
func (l *Level) Program(h *ir.Header, memory func(rank int32) Memory) *ir.ChannelProgram {
	set := l.Launch
	if set.Threads == 0 {
		set.Threads, set.Align = UsualThreads, UsualAlign
	}
	p := &ir.ChannelProgram{Header: *h, Ranks: make([]ir.ChannelRank, len(l.ranks)), Threads: int(set.Threads),
		Align: int(set.Align), DoubleScratch: set.Double, Reuse: set.Reuse, MinBytes: uint64(h.Sizes.Min),
		MaxBytes: math.MaxUint64}
	if h.Sizes.Max > 0 {
		p.MaxBytes = uint64(h.Sizes.Max) - 1
	}
	for r := range l.ranks {
		from, to := &l.ranks[r], &p.Ranks[r]
		own := memory(int32(r))
		to.In, to.Out, to.Scratch, to.Semaphores = own.In, own.Out, own.Scratch, from.semas
		to.Blocks = make([][]ir.ChannelOp, len(from.blocks))
		for b := range from.blocks {
			to.Blocks[b] = from.blocks[b].ops
		}
	}
	l.connect(p)
	return p
}

// connect gives the ranks their channels. A switch channel is of one buffer: an end has one for each buffer that any
// end of its channel is used with, so that the ranks of a group have the same.
func (l *Level) connect(p *ir.ChannelProgram) {
	bufs := map[string]uint8{} // of the k-th switch channel of a group
	ends := make([]string, len(l.ends))
	count := map[string]int32{}
	for i := range l.ends {
		if e := &l.ends[i]; e.Via == ir.SwitchChannel {
			group := groupKey(e.Group)
			own := string(appendInt(nil, e.Rank)) + group
			ends[i] = string(appendInt(nil, count[own])) + group
			count[own]++
			bufs[ends[i]] |= e.bufs
		}
	}
	first := map[[3]int32]int32{} // by rank, number and buffer
	for i := range l.ends {
		e := &l.ends[i]
		list := &p.Ranks[e.Rank].Channels[e.Via]
		if e.Via != ir.SwitchChannel {
			*list = append(*list, ir.Channel{Peer: e.Peer})
			continue
		}
		for b := ir.Input; b <= ir.Scratch; b++ {
			if bufs[ends[i]]&(1<<b) != 0 {
				first[[3]int32{e.Rank, e.ID, int32(b)}] = int32(len(*list))
				*list = append(*list, ir.Channel{Group: e.Group, Buf: b})
			}
		}
	}
	for r := range p.Ranks {
		for _, list := range p.Ranks[r].Blocks {
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

// A Report records an error, to which the caller may add a hint.
type Report func(code diag.Code, span diag.Span, format string, args ...any) *diag.Diagnostic

// Match reports ends of channels that have no other end.
func (l *Level) Match(report Report) {
	type pair struct {
		rank, peer int32
		via        ir.ChannelType
	}
	pairs, switches := map[pair]int{}, map[string]int{}
	of := func(rank int32, group string) string { return string(appendInt(nil, rank)) + group }
	for i := range l.ends {
		if e := &l.ends[i]; e.Via == ir.SwitchChannel {
			switches[of(e.Rank, groupKey(e.Group))]++
		} else {
			pairs[pair{e.Rank, e.Peer, e.Via}]++
		}
	}
	for i := range l.ends {
		e := &l.ends[i]
		if e.Via != ir.SwitchChannel {
			back := pair{e.Peer, e.Rank, e.Via}
			mine, other := pairs[pair{e.Rank, e.Peer, e.Via}], pairs[back]
			if mine > other {
				pairs[back] = mine // reported
				d := report(diag.Unmatched, e.Span, "rank %d has %s to rank %d, which has %d back", e.Rank, counted(mine, e.Via),
					e.Peer, other)
				d.Hint = "each rank makes its own end: channel(rank, peer) and channel(peer, rank)"
			}
			continue
		}
		group := groupKey(e.Group)
		for _, r := range e.Group {
			if mine, other := switches[of(e.Rank, group)], switches[of(r, group)]; mine > other {
				switches[of(r, group)] = mine
				report(diag.Unmatched, e.Span, "rank %d has %s of its group, and rank %d has %d", e.Rank, counted(mine, e.Via),
					r, other).Hint = "each rank of a switch channel makes its own end"
			}
		}
	}
}

func counted(n int, via ir.ChannelType) string { return diag.Counted(n, via.String()+" channel") }
