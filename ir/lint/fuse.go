package lint

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// fuse looks at whether b, which follows a, could be one operation with it: each operation is a turn of the
// interpreter, and puts of one operation are all under way at once.
func (l *linter) fuse(a, b *ir.ChannelOp) {
	one, ok := a.Join(b, int32(l.rank))
	switch {
	case a.Kind == ir.ChMeet: // meet looks at block barriers
	case ok && !(a.Kind == ir.ChEach && b.Kind == ir.ChEach && l.conflict(a, b)):
		l.at(diag.LintFuse, b.Pos, "this and the operation before can be one, of %s", roomText(&one))
	case a.Kind == ir.ChMove && len(a.Srcs) > 1 && b.Kind == ir.ChEach && a.Parts == b.Parts && a.Part == b.Part &&
		sendsOn(a, b):
		l.at(diag.LintFuse, b.Pos, "the sum before this can be sent on as it is made")
	}
}

// roomText says how many pairs, semaphores or channels an operation has.
func roomText(o *ir.ChannelOp) string {
	switch {
	case len(o.Dsts) > 0:
		return diag.Counted(len(o.Dsts), "pair")
	case len(o.Semaphores) > 0:
		return diag.Counted(len(o.Semaphores), "semaphore")
	}
	return diag.Counted(len(o.Channels), "channel")
}

// sendsOn reports whether b puts nothing but what a sums into its own memory, through memory.
func sendsOn(a, b *ir.ChannelOp) bool {
	if b.Type != ir.MemoryChannel || len(a.Dsts) != 1 {
		return false
	}
	return !slices.ContainsFunc(b.Srcs, func(r ir.ChannelRef) bool { return r != a.Dsts[0] })
}

// busy counts what the operations of a block use. With halves or with scratch that is reused the executor finds chunks
// in another rank's scratch by the length of the own one, which is used then.
func (l *linter) busy(ops []ir.ChannelOp) {
	u := l.uses
	var moved int64
	var count func(ops []ir.ChannelOp)
	count = func(ops []ir.ChannelOp) {
		for i := range ops {
			o := &ops[i]
			if o.Type < ir.NumChannelTypes {
				for _, c := range o.Channels {
					use(&u.channels[o.Type], c)
				}
			}
			for _, s := range o.Semaphores {
				use(&u.semaphores, s)
			}
			u.together = u.together || o.Kind == ir.ChBarrier || len(o.Semaphores) > 0
			for _, list := range [][]ir.ChannelRef{o.Srcs, o.Dsts} {
				for _, r := range list {
					u.scratch = u.scratch || r.Buf == ir.Scratch && (int(r.Rank) == l.rank || l.p.DoubleScratch || l.p.Reuse)
					if r.Rank == ir.AllRanks {
						use(&u.channels[ir.SwitchChannel], r.Switch)
					}
					moved += int64(r.Count) * partsOfChunk / int64(max(o.Parts, 1))
				}
			}
			l.reached(o)
			count(o.Body)
		}
	}
	count(ops)
	u.moved = append(u.moved, moved)
}

// partsOfChunk is what a chunk counts as, so that parts of it are whole numbers.
const partsOfChunk = 1 << 16

// reached marks the first channel to each rank that o's remote operands are of: a put names none, and needs one.
func (l *linter) reached(o *ir.ChannelOp) {
	if o.Type != ir.MemoryChannel && o.Type != ir.PortChannel {
		return
	}
	for i, c := range l.p.Ranks[l.rank].Channels[o.Type] {
		to := func(r ir.ChannelRef) bool { return r.Rank == c.Peer }
		if slices.ContainsFunc(o.Srcs, to) || slices.ContainsFunc(o.Dsts, to) {
			if first := slices.IndexFunc(l.p.Ranks[l.rank].Channels[o.Type],
				func(x ir.Channel) bool { return x.Peer == c.Peer }); first == i {
				use(&l.uses.channels[o.Type], int32(i))
			}
		}
	}
}

// pair marks the ends whose other end is used: the k-th channel to a rank pairs with the k-th back.
func (l *linter) pair() {
	type key struct{ from, to, nth int32 }
	for t := range ir.SwitchChannel {
		ends, order := map[key]int32{}, []key{}
		for r := range l.p.Ranks {
			nth := map[int32]int32{}
			for i, c := range l.p.Ranks[r].Channels[t] {
				k := key{int32(r), c.Peer, nth[c.Peer]}
				nth[c.Peer]++
				ends[k] = int32(i)
				if list := l.all[r].channels[t]; i < len(list) && list[i] {
					order = append(order, k)
				}
			}
		}
		for _, k := range order {
			if i, paired := ends[key{k.to, k.from, k.nth}]; paired {
				use(&l.all[k.to].channels[t], i)
			}
		}
	}
}

// switches marks the channels of all ranks of a group whose switch one of them uses: each must be a member.
func (l *linter) switches() {
	for r := range l.p.Ranks {
		for i, used := range l.all[r].channels[ir.SwitchChannel] {
			c := l.p.Ranks[r].Channels[ir.SwitchChannel][i]
			for _, member := range c.Group {
				for k, other := range l.p.Ranks[member].Channels[ir.SwitchChannel] {
					if used && other.Buf == c.Buf && slices.Equal(other.Group, c.Group) {
						use(&l.all[member].channels[ir.SwitchChannel], int32(k))
					}
				}
			}
		}
	}
}

// self looks at whether o copies a chunk to where it lies. A sum that the switch makes and stores is none.
func (l *linter) self(o *ir.ChannelOp) {
	if o.Kind == ir.ChMove && len(o.Srcs) == 1 && len(o.Dsts) == 1 && o.Srcs[0] == o.Dsts[0] &&
		o.Srcs[0].Rank != ir.AllRanks {
		l.at(diag.LintCopy, o.Pos, "this copies a chunk to where it lies")
	}
}

// onward looks at whether b, which follows a but for threads that meet, adds to what a has summed, so that one sum
// would do.
func (l *linter) onward(a, b *ir.ChannelOp) {
	if a.Kind == ir.ChMove && b.Kind == ir.ChMove && a.Type == b.Type && a.Parts == b.Parts && a.Part == b.Part &&
		a.Reduce == b.Reduce &&
		len(a.Srcs) > 1 && len(b.Srcs) > 1 && len(a.Dsts) == 1 && len(b.Dsts) == 1 &&
		a.Dsts[0] == b.Srcs[0] && b.Dsts[0] == a.Dsts[0] && len(a.Srcs)+len(b.Srcs)-1 <= ir.OpOperands {
		l.at(diag.LintFuse, b.Pos, "this adds to what the sum before made: one sum of %d would do", len(a.Srcs)+len(b.Srcs)-1)
	}
}

func use(list *[]bool, i int32) {
	for len(*list) <= int(i) {
		*list = append(*list, false)
	}
	(*list)[i] = true
}
