package ir

import "slices"

// Join returns one operation that does o and then next, the operation after it in a block of rank, and whether there
// is one. Of copies it asks only that they are alike: the caller knows whether next touches what o copies.
func (o *ChannelOp) Join(next *ChannelOp, rank int32) (one ChannelOp, ok bool) {
	if o.Unsynced != next.Unsynced || o.Type != next.Type || o.Part != next.Part || o.Parts != next.Parts {
		return one, false
	}
	one = *o
	switch {
	case o.Kind == ChEach && next.Kind == ChSignal && o.Type == PortChannel && o.Parts <= 1:
		one.Kind = ChEachSignal // in the queue of the port, one after another
		return one, slices.Equal(o.Channels, next.Channels)
	case o.Kind == ChEachSignal && next.Kind == ChFlush:
		one.Kind = ChEachSignalFlush
		return one, slices.Equal(o.Channels, next.Channels)
	case o.Kind != next.Kind || len(o.Channels)+len(next.Channels) > OpChannels:
		return one, false
	}
	one.Channels = slices.Concat(o.Channels, next.Channels)
	switch o.Kind {
	case ChMeet:
		return one, true
	case ChSignal, ChAwait, ChRelaxedSignal, ChRelaxedAwait, ChFlush:
		return one, !overlap(o.Channels, next.Channels)
	case ChAcquire, ChRelease:
		one.Semaphores = slices.Concat(o.Semaphores, next.Semaphores)
		return one, len(one.Semaphores) <= OpSemaphores && !overlap(o.Semaphores, next.Semaphores)
	case ChEach:
		if !o.PairsWith(next, rank) {
			return one, false
		}
		one.Srcs, one.Dsts = slices.Concat(o.Srcs, next.Srcs), slices.Concat(o.Dsts, next.Dsts)
		return one, true
	case ChMove: // packets that go on to several
		one.Dsts = slices.Concat(o.Dsts, next.Dsts)
		return one, (o.Type == MemoryChannel || o.Type == PortChannel) && len(one.Dsts) <= OpOperands &&
			len(o.Srcs) == 1 && o.Srcs[0].Packets && slices.Equal(o.Srcs, next.Srcs)
	}
	return one, false
}

// PairsWith reports whether one operation of rank has room for the pairs of o and of next, and these are alike:
// MSCCL++'s executor takes the first source's buffer for that of all.
func (o *ChannelOp) PairsWith(next *ChannelOp, rank int32) bool {
	unlike := func(first ChannelRef) func(ChannelRef) bool {
		return func(r ChannelRef) bool {
			return r.Packets != first.Packets || r.Count != first.Count || (r.Rank == rank) != (first.Rank == rank)
		}
	}
	src := o.Srcs[0]
	other := func(r ChannelRef) bool { return r.Buf != src.Buf || unlike(src)(r) }
	return len(o.Srcs)+len(next.Srcs) <= OpOperands &&
		!slices.ContainsFunc(o.Srcs, other) && !slices.ContainsFunc(next.Srcs, other) &&
		!slices.ContainsFunc(o.Dsts, unlike(o.Dsts[0])) && !slices.ContainsFunc(next.Dsts, unlike(o.Dsts[0]))
}

// overlap reports whether two lists have a number in common.
func overlap(a, b []int32) bool {
	return slices.ContainsFunc(a, func(x int32) bool { return slices.Contains(b, x) })
}
