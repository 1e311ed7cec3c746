package channels

import (
	"math/rand"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/ir/verify/explore/onesided"
)

// fromFirst returns a broadcast from rank 0 in which the others have input, too.
func fromFirst(ranks int) *channelBuilder {
	b := channelProgram(ir.AllReduce, ranks, 1, false)
	b.Coll = &ir.Collective{Kind: ir.Custom, Ranks: ranks, Chunks: 1, In: 1, Out: 1, Require: map[ir.Part][]ir.Part{}}
	for r := range int32(ranks) {
		b.Ranks[r].In, b.Ranks[r].Out = 1, 1
		b.Coll.Require[ir.Part{Rank: r}] = []ir.Part{{}}
	}
	return b
}

// relayed returns a broadcast of three ranks in which rank 0 writes to both others and signals rank 1 alone, which
// signals rank 2 by signals, between which and what it waits for its threads do not synchronise. Thread 0 waits.
func relayed(waits ir.ChannelOpKind, signals ...ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.Broadcast, 3, 1, true).connect(ir.MemoryChannel, 1).connect(ir.PortChannel, 1)
	all := func() []ir.ChannelOp { return met(on(ir.ChRelaxedSignal, 0, 1), on(ir.ChRelaxedAwait, 0, 1)) }
	put := ir.ChannelOp{Kind: ir.ChEach, Type: ir.MemoryChannel,
		Srcs: []ir.ChannelRef{ref(0, ir.Input, 0, 1), ref(0, ir.Input, 0, 1)},
		Dsts: []ir.ChannelRef{ref(1, ir.Output, 0, 1), ref(2, ir.Output, 0, 1)}}
	b.block(0, append(append(all(), put), met(signalOn(0))...)...)
	b.block(1, append(append(all(), on(waits, 0)), append(signals, meet)...)...)
	waits2 := []ir.ChannelOp{awaitOn(1), meet}
	for _, o := range signals {
		if o.Type == ir.PortChannel {
			waits2[0].Type = ir.PortChannel
		}
		if slices.Contains(o.Channels, 0) { // rank 0 is signalled, too
			b.Ranks[0].Blocks[0] = append(b.Ranks[0].Blocks[0], awaitOn(0), meet)
		}
	}
	b.block(2, append(all(), waits2...)...)
	return b
}

// relayedBlock returns a broadcast of two ranks in which a block of rank 1 waits for what rank 0 puts in scratch, and
// another copies that to the output when the first releases its semaphore, between which and the wait the threads do
// not synchronise. On channel 1 rank 0 says nothing of that.
func relayedBlock(awaits, releases []int32) *channelBuilder {
	b := channelProgram(ir.Broadcast, 2, 1, false).connect(ir.MemoryChannel, 2).scratch(1)
	b.Ranks[1].Semaphores = []int32{0, 0}
	b.block(0, append(append(begun(0), signalOn(1), move(to(ref(1, ir.Scratch, 0, 1)), ref(0, ir.Input, 0, 1)),
		move(to(ref(0, ir.Output, 0, 1)), ref(0, ir.Input, 0, 1))), meet, signalOn(0))...)
	b.block(1, append(begun(1), awaitOn(awaits...), sema(ir.ChRelease, releases...))...)
	b.block(1, sema(ir.ChAcquire, 0), meet, move(to(ref(1, ir.Output, 0, 1)), ref(1, ir.Scratch, 0, 1)))
	b.block(1, sema(ir.ChAcquire, 1))
	return b
}

// passedOn returns a broadcast of three ranks in which rank 1 waits for what rank 0 puts in its scratch, and a port
// puts that to rank 2 without the threads of rank 1 meeting: the port of the thread that waits, or another.
func passedOn(thread int) *channelBuilder {
	b := fromFirst(3).connect(ir.MemoryChannel, 1).connect(ir.PortChannel, 1).scratch(2)
	all := func() []ir.ChannelOp { return met(on(ir.ChRelaxedSignal, 0, 1), on(ir.ChRelaxedAwait, 0, 1)) }
	b.block(0, append(append(all(), move(to(ref(0, ir.Output, 0, 1)), ref(0, ir.Input, 0, 1)),
		move(to(ref(1, ir.Scratch, 0, 1)), ref(0, ir.Input, 0, 1))), meet, signalOn(0),
		ir.ChannelOp{Kind: ir.ChAwait, Type: ir.PortChannel, Channels: []int32{0}}, meet)...)
	put := ir.ChannelOp{Kind: ir.ChEachSignalFlush, Type: ir.PortChannel, Channels: []int32{0, 0},
		Srcs: []ir.ChannelRef{ref(1, ir.Scratch, 1, 1), ref(1, ir.Scratch, 1, 1)},
		Dsts: []ir.ChannelRef{ref(0, ir.Scratch, 0, 1), ref(0, ir.Scratch, 0, 1)}}
	put.Channels[thread], put.Srcs[thread], put.Dsts[thread] = 1, ref(1, ir.Scratch, 0, 1), ref(2, ir.Output, 0, 1)
	b.block(1, append(append([]ir.ChannelOp{move(to(ref(1, ir.Scratch, 1, 1)), ref(1, ir.Input, 0, 1))}, all()...),
		awaitOn(0), put, meet, move(to(ref(1, ir.Output, 0, 1)), ref(1, ir.Scratch, 0, 1)))...)
	b.block(2, append(all(), ir.ChannelOp{Kind: ir.ChAwait, Type: ir.PortChannel, Channels: []int32{1}}, meet)...)
	return b
}

// begunByPackets returns a broadcast of two ranks in which rank 0 knows by packets alone that the launch of rank 1 has
// begun, and then puts its input there, or gets something from there.
func begunByPackets(gets bool) *channelBuilder {
	b := fromFirst(2).connect(ir.MemoryChannel, 1).packets(4, true)
	b.block(1, move(to(packet(0, 0, 1)), ref(1, ir.Input, 0, 1)), awaitOn(0), meet)
	ops := []ir.ChannelOp{move(to(ref(0, ir.Output, 0, 1)), packet(0, 0, 1)), meet,
		move(to(ref(0, ir.Output, 0, 1), ref(1, ir.Output, 0, 1)), ref(0, ir.Input, 0, 1))}
	if gets {
		ops = append(ops, move(to(ref(0, ir.Scratch, 3, 1)), ref(1, ir.Input, 0, 1)))
	}
	b.block(0, append(ops, meet, signalOn(0))...)
	return b
}

// relaxedPorts is pushed with all that ports signal, and what awaits that, relaxed, which to ports is no difference.
func relaxedPorts() *channelBuilder {
	b := pushed(false, []int32{0, 1})
	for r := range b.Ranks {
		for i := range b.Ranks[r].Blocks[0] {
			if o := &b.Ranks[r].Blocks[0][i]; o.Type == ir.PortChannel && (o.Kind == ir.ChSignal || o.Kind == ir.ChAwait) {
				o.Kind += ir.ChRelaxedSignal - ir.ChSignal
			}
		}
	}
	return b
}

// The explorer says of programs whose threads relay what they acquired, right or not, what Check says.
func TestThreadsTellOn(t *testing.T) {
	for name, c := range map[string]struct {
		of   *channelBuilder
		good bool
	}{
		"a signal by the thread that waited": {relayed(ir.ChAwait, signalOn(1)), true},
		"by another thread":                  {relayed(ir.ChAwait, signalOn(0, 1)), false},
		"a relaxed wait":                     {relayed(ir.ChRelaxedAwait, signalOn(1)), false},
		"a relaxed signal":                   {relayed(ir.ChAwait, on(ir.ChRelaxedSignal, 1)), false},
		"two threads signal the channel":     {relayed(ir.ChAwait, signalOn(1), meet, signalOn(0)), true},
		"a port's signal":                    {relayed(ir.ChAwait, portOn(ir.ChSignal, 1)), true},
		"a release by the thread":            {relayedBlock([]int32{0, 1}, []int32{0, 1}), true},
		"a release by another":               {relayedBlock([]int32{1, 0}, []int32{0, 1}), false},
		"a port's put by the thread":         {passedOn(0), true},
		"a port's put by another":            {passedOn(1), false},
		"relaxed signals of ports":           {relaxedPorts(), true},
		"a put after packets":                {begunByPackets(false), true},
		"a get after packets":                {begunByPackets(true), false},
	} {
		g, _, list := Check(c.of.ChannelProgram, verify.Options{})
		if good := len(list) == 0; good != c.good || !good && list[0].Code != diag.Race {
			t.Errorf("%s: good is %v:\n%s", name, good, texts(list))
			continue
		}
		if v, err := onesided.Explore(g, 1, rand.New(rand.NewSource(1))); err != nil || v.Good() != c.good {
			t.Errorf("%s: the explorer says %v, %v", name, v, err)
		}
	}
}
