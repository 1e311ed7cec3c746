package ir

import (
	"slices"
	"testing"
)

// at returns a chunk of a rank, as TestJoin names operands.
func at(rank int32, buf Buf, index int32) ChannelRef {
	return ChannelRef{Rank: rank, Buf: buf, Index: index, Count: 1}
}

func packet(rank, index int32) ChannelRef {
	r := at(rank, Scratch, index)
	r.Packets = true
	return r
}

// pair copies from one place to another, through memory, or through port channels.
func pair(src, dst ChannelRef, ports ...int32) ChannelOp {
	o := ChannelOp{Kind: ChEach, Srcs: []ChannelRef{src}, Dsts: []ChannelRef{dst}, Channels: ports}
	if len(ports) > 0 {
		o.Type = PortChannel
	}
	return o
}

func onward(t ChannelType, src, dst ChannelRef) ChannelOp {
	return ChannelOp{Kind: ChMove, Type: t, Srcs: []ChannelRef{src}, Dsts: []ChannelRef{dst}}
}

func on(kind ChannelOpKind, t ChannelType, channels ...int32) ChannelOp {
	return ChannelOp{Kind: kind, Type: t, Channels: channels}
}

func acquire(ids ...int32) ChannelOp { return ChannelOp{Kind: ChAcquire, Semaphores: ids} }

func times(n int, o ChannelOp) ChannelOp {
	o.Srcs, o.Dsts = slices.Repeat(o.Srcs, n), slices.Repeat(o.Dsts, n)
	return o
}

// Operations of rank 0, and the kind of the one operation that does both, or none.
func TestJoin(t *testing.T) {
	const none = NumChannelOps
	in, out, far, further := at(0, Input, 0), at(0, Output, 0), at(1, Output, 0), at(2, Output, 0)
	put, long := pair(in, far), pair(in, far)
	long.Srcs[0].Count, long.Dsts[0].Count = 2, 2
	part, alone := put, put
	part.Parts, alone.Unsynced = 2, true
	for name, test := range map[string]struct {
		a, b ChannelOp
		want ChannelOpKind
	}{
		"signals":                    {on(ChSignal, MemoryChannel, 0), on(ChSignal, MemoryChannel, 1, 2), ChSignal},
		"signals of a channel":       {on(ChSignal, MemoryChannel, 0, 1), on(ChSignal, MemoryChannel, 1), none},
		"signals of two types":       {on(ChSignal, MemoryChannel, 0), on(ChSignal, PortChannel, 1), none},
		"a signal and a relaxed one": {on(ChSignal, MemoryChannel, 0), on(ChRelaxedSignal, MemoryChannel, 1), none},
		"8 channels":                 {on(ChAwait, MemoryChannel, 0, 1, 2, 3), on(ChAwait, MemoryChannel, 4, 5, 6, 7), ChAwait},
		"9 channels":                 {on(ChAwait, MemoryChannel, 0, 1, 2, 3), on(ChAwait, MemoryChannel, 4, 5, 6, 7, 8), none},
		"flushes":                    {on(ChFlush, PortChannel, 0), on(ChFlush, PortChannel, 1), ChFlush},
		"block barriers":             {on(ChMeet, NoChannel), on(ChMeet, NoChannel), ChMeet},
		"semaphores":                 {acquire(0), acquire(1, 2), ChAcquire},
		"one semaphore":              {acquire(0), acquire(0), none},
		"17 semaphores":              {acquire(0, 1, 2, 3, 4, 5, 6, 7), acquire(8, 9, 10, 11, 12, 13, 14, 15, 16), none},
		"puts":                       {put, pair(at(0, Input, 1), further), ChEach},
		"puts of two buffers":        {put, pair(out, far), none},
		"puts of two lengths":        {put, long, none},
		"puts of packets":            {put, pair(in, packet(1, 0)), none},
		"a put and a get":            {put, pair(far, in), none},
		"gets of two ranks":          {pair(far, in), pair(further, out), ChEach},
		"gets of two buffers":        {pair(far, in), pair(at(2, Input, 0), out), none},
		"a put and a part":           {put, part, none},
		"a put without barriers":     {put, alone, none},
		"10 puts":                    {times(5, put), times(5, put), ChEach},
		"11 puts":                    {times(5, put), times(6, put), none},
		"8 puts through ports":       {times(5, pair(in, far, 0, 1, 2, 3, 4)), times(3, pair(in, far, 5, 6, 7)), ChEach},
		"9 puts through ports":       {times(5, pair(in, far, 0, 1, 2, 3, 4)), times(4, pair(in, far, 5, 6, 7, 8)), none},
		"a put and its signal":       {pair(in, far, 0), on(ChSignal, PortChannel, 0), ChEachSignal},
		"a put and another signal":   {pair(in, far, 0), on(ChSignal, PortChannel, 1), none},
		"a put, a signal, a flush":   {on(ChEachSignal, PortChannel, 0), on(ChFlush, PortChannel, 0), ChEachSignalFlush},
		"packets that go on": {onward(MemoryChannel, packet(0, 0), packet(1, 0)),
			onward(MemoryChannel, packet(0, 0), packet(2, 0)), ChMove},
		"two packets that go on": {onward(MemoryChannel, packet(0, 0), packet(1, 0)),
			onward(MemoryChannel, packet(0, 1), packet(2, 0)), none},
		"packets to a switch": {onward(SwitchChannel, packet(0, 0), packet(AllRanks, 0)),
			onward(SwitchChannel, packet(0, 0), packet(AllRanks, 1)), none},
		"copies": {onward(NoChannel, in, out), onward(NoChannel, in, out), none},
	} {
		one, ok := test.a.Join(&test.b, 0)
		if ok != (test.want != none) || ok && one.Kind != test.want {
			t.Errorf("%s: %v, %v", name, ok, one.Kind)
			continue
		}
		if !ok || one.Kind != test.a.Kind {
			continue
		}
		if !slices.Equal(one.Channels, slices.Concat(test.a.Channels, test.b.Channels)) ||
			!slices.Equal(one.Semaphores, slices.Concat(test.a.Semaphores, test.b.Semaphores)) ||
			!slices.Equal(one.Dsts, slices.Concat(test.a.Dsts, test.b.Dsts)) {
			t.Errorf("%s: %+v does not do both", name, one)
		}
	}
}
