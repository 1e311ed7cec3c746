package channels

import (
	"slices"

	"mscclc/ir"
)

// This file joins neighbouring operations of a block, as MSCCL++'s own language does.

// The channels and semaphores that one operation of an MSCCL++ execution plan has room for.
const (
	mostChannels   = 8
	mostSemaphores = 16
)

// join returns list with fewer operations, in place: one operation signals or awaits
// several channels, or makes several copies that touch no common chunk. Through ports,
// one operation puts, signals and flushes.
func (s *synchroniser) join(rank int32, list []ir.ChannelOp) []ir.ChannelOp {
	for i := range list {
		list[i].Body = s.join(rank, list[i].Body)
	}
	for {
		out := list[:0]
		for i := range list {
			if n := len(out); n == 0 || !s.joins(rank, &out[n-1], &list[i]) {
				out = append(out, list[i])
			}
		}
		if len(out) == len(list) {
			return out
		}
		list = out
	}
}

// joins adds b to a if one operation can do both, and reports whether it did.
func (s *synchroniser) joins(rank int32, a, b *ir.ChannelOp) bool {
	if a.Unsynced != b.Unsynced || a.Type != b.Type || a.Part != b.Part || a.Parts != b.Parts {
		return false
	}
	switch {
	case a.Kind == ir.ChEach && b.Kind == ir.ChSignal && a.Type == ir.PortChannel && a.Parts <= 1 &&
		slices.Equal(a.Channels, b.Channels):
		a.Kind = ir.ChEachSignal // in the queue of the port, one behind the other
		return true
	case a.Kind == ir.ChEachSignal && b.Kind == ir.ChFlush && slices.Equal(a.Channels, b.Channels):
		a.Kind = ir.ChEachSignalFlush
		return true
	case a.Kind != b.Kind:
		return false
	}
	switch a.Kind {
	case ir.ChSignal, ir.ChAwait, ir.ChRelaxedSignal, ir.ChRelaxedAwait, ir.ChFlush:
		return merge(&a.Channels, b.Channels, mostChannels)
	case ir.ChAcquire, ir.ChRelease:
		return merge(&a.Semaphores, b.Semaphores, mostSemaphores)
	case ir.ChEach:
		return s.joinsEach(rank, a, b)
	case ir.ChMove: // packets that go on to several
		if a.Type == ir.NoChannel || len(a.Srcs) != 1 || len(b.Srcs) != 1 || a.Srcs[0] != b.Srcs[0] || !a.Srcs[0].Packets ||
			len(a.Dsts)+len(b.Dsts) > mostChannels {
			return false
		}
		a.Dsts, a.Channels = slices.Concat(a.Dsts, b.Dsts), slices.Concat(a.Channels, b.Channels)
		return true
	}
	return false
}

// merge appends b to a if the result has at most n numbers, all different. It reports whether it did.
func merge(a *[]int32, b []int32, n int) bool {
	if len(*a)+len(b) > n || slices.ContainsFunc(b, func(x int32) bool { return slices.Contains(*a, x) }) {
		return false
	}
	*a = slices.Concat(*a, b)
	return true
}

// joinsEach joins copies that are alike: MSCCL++ takes the first source's
// buffer for that of all.
func (s *synchroniser) joinsEach(rank int32, a, b *ir.ChannelOp) bool {
	if len(a.Srcs)+len(b.Srcs) > mostChannels {
		return false
	}
	like := func(x, y *ir.ChannelRef) bool {
		return x.Buf == y.Buf && x.Packets == y.Packets && x.Count == y.Count && (x.Rank == rank) == (y.Rank == rank)
	}
	if !like(&a.Srcs[0], &b.Srcs[0]) || a.Dsts[0].Packets != b.Dsts[0].Packets || a.Dsts[0].Count != b.Dsts[0].Count {
		return false
	}
	w := pending{s: s, rank: rank}
	w.touches(a)
	if w.conflicts(b) {
		return false
	}
	a.Srcs, a.Dsts, a.Channels = slices.Concat(a.Srcs, b.Srcs), slices.Concat(a.Dsts, b.Dsts),
		slices.Concat(a.Channels, b.Channels)
	return true
}
