package channels

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// rightChannels are programs that use each kind of operation as it is meant.
func rightChannels() map[string]*channelBuilder {
	list := map[string]*channelBuilder{
		"packets in two phases":    twoPhasesOf(3),
		"packets that two read":    packetsOfTwo(),
		"packets half unread":      unreadPackets(),
		"packets passed on":        chained(),
		"groups of blocks":         grouped(3),
		"groups in a loop":         groupedLoop(2),
		"pipeline of two blocks":   pipeline(),
		"credit of two":            credit(),
		"a chain of blocks":        chainOfBlocks(),
		"barrier of three blocks":  threeBlocks(),
		"puts and a flush":         throughPorts(ir.ChEachSignalFlush),
		"switch of some ranks":     someRanks(),
		"packets through ports":    portPackets(),
		"packets of another block": own(lyingChannels[0].right),
		"packets by a semaphore":   own(lyingChannels[4].right),
		"packets as they lie":      rawPackets(),
		"packets that come back":   echoed(2),
		"a reduction by minimum":   minimum(),
	}
	for name, b := range sharedChannels() {
		list[name] = b
	}
	for _, c := range wrongChannels {
		list["mended: "+c.name] = c.right
	}
	return list
}

// twoPhasesOf returns an allreduce by packets: each rank sums a chunk and sends that to all.
func twoPhasesOf(n int32) *channelBuilder {
	b := channelProgram(ir.AllReduce, int(n), int(n), true).packets(2*n, true)
	for r := range n {
		var ops, last []ir.ChannelOp
		sum, all := []ir.ChannelRef{ref(r, ir.Input, r, 1)}, to(ref(r, ir.Input, r, 1))
		for p := range n {
			if p == r {
				continue
			}
			ops = append(ops, move(to(packet(p, r, 1)), ref(r, ir.Input, p, 1)))
			sum, all = append(sum, packet(r, p, 1)), append(all, packet(p, n+r, 1))
			last = append(last, move(to(ref(r, ir.Input, p, 1)), packet(r, n+p, 1)))
		}
		b.block(int(r), append(append(ops, move(all, sum...)), met(last...)...)...)
	}
	return b
}

// packetsOfTwo has two blocks read the same packets.
func packetsOfTwo() *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 2, false).packets(2, true)
	for r := range int32(2) {
		b.block(int(r), move(to(packet(1-r, 0, 2), ref(r, ir.Output, 2*r, 2)), ref(r, ir.Input, 0, 2)),
			move(to(ref(r, ir.Output, 2*(1-r), 1)), packet(r, 0, 1)))
		b.block(int(r), move(to(ref(r, ir.Output, 2*(1-r)+1, 1)), packet(r, 1, 1)),
			move(to(ref(r, ir.Output, 2*(1-r), 1)), packet(r, 0, 1)))
	}
	for r := range b.Ranks { // both write what they read in common: one of them in scratch
		b.Ranks[r].Scratch = 8
		b.Ranks[r].Blocks[1][1].Dsts[0] = ref(int32(r), ir.Scratch, 6, 1)
	}
	return b
}

// unreadPackets sends packets of which some are read.
func unreadPackets() *channelBuilder {
	b := packetsOf(3, true)
	for r := range int32(2) {
		b.Ranks[r].Scratch = 14
		ops := b.Ranks[r].Blocks[0]
		ops[0].Dsts = append(ops[0].Dsts, packet(r, 3, 3)) // of which the middle one is read
		b.block(int(r), move(to(ref(r, ir.Scratch, 13, 1)), packet(r, 4, 1)))
	}
	return b
}

// withUnread is an allreduce of two ranks, after which rank 0 sends packets to a rank that nothing reads.
func withUnread(to int32) *channelBuilder {
	b := packetsOf(2, true)
	for r := range b.Ranks {
		b.Ranks[r].Scratch += 8
	}
	at := b.Ranks[0].Scratch - 1
	ops := b.Ranks[0].Blocks[0]
	b.Ranks[0].Blocks[0] = append(ops, meet, move([]ir.ChannelRef{packet(to, at, 1)}, ref(0, ir.Input, 0, 1)),
		move([]ir.ChannelRef{packet(to, at-1, 1)}, ref(0, ir.Input, 0, 1)))
	return b
}

// TestUnreadPackets: packets that nothing reads are a warning, where the scratch is the plan's own, or the packets stay
// in the sender's.
func TestUnreadPackets(t *testing.T) {
	for to, reused := range []bool{true, false} {
		b := withUnread(int32(to))
		b.Reuse = reused
		_, report, found := Check(b.ChannelProgram, verify.Options{})
		if len(found) > 0 || len(report.Warnings) != 1 || report.Warnings[0].Code != diag.LintUnused ||
			!strings.Contains(report.Warnings[0].Text, "sends packets that nothing reads in the launch") {
			t.Errorf("to rank %d: %v, %v", to, found, report.Warnings)
		}
	}
}

// chained has packets go from rank to rank.
func chained() *channelBuilder {
	const n = 3
	b := channelProgram(ir.Broadcast, n, 1, false).packets(1, true)
	b.block(0, move(to(packet(1, 0, 1), ref(0, ir.Output, 0, 1)), ref(0, ir.Input, 0, 1)))
	b.block(1, move(to(packet(2, 0, 1)), packet(1, 0, 1)), move(to(ref(1, ir.Output, 0, 1)), packet(1, 0, 1)))
	b.block(2, move(to(ref(2, ir.Output, 0, 1)), packet(2, 0, 1)))
	// Who sends must know that the packets of two launches ago are read.
	b.connect(ir.MemoryChannel, 1)
	for r := range int32(n) {
		ops := b.Ranks[r].Blocks[0]
		b.Ranks[r].Blocks[0] = append(ops, met(signalOn(0, 1), awaitOn(0, 1))...)
	}
	return b
}

// echoed returns an allgather in which each rank packs its chunk in its own scratch, and sends these packets to the
// same place of all ranks through the switch: its own come back to it. A block of its own reads each place.
func echoed(n int32) *channelBuilder {
	b := channelProgram(ir.AllGather, int(n), 1, false).packets(n, true)
	for r := range n {
		var group []int32
		for p := range n {
			group = append(group, p)
		}
		b.Ranks[r].Channels[ir.SwitchChannel] = []ir.Channel{{Group: group, Buf: ir.Scratch}}
		all := through(ir.Scratch, r, 1)
		all.Packets = true
		send := move(to(all), packet(r, r, 1))
		send.Type = ir.SwitchChannel
		b.block(int(r), move(to(packet(r, r, 1)), ref(r, ir.Input, 0, 1)), send)
		for p := range n {
			b.block(int(r), move(to(ref(r, ir.Output, p, 1)), packet(r, p, 1)))
		}
	}
	return b
}

// echoedOver is echoed with rank 1 sending packets to the place to which those of rank 0 come back.
func echoedOver() *channelBuilder {
	b := echoed(2)
	return b.block(1, move(to(packet(0, 0, 1)), ref(1, ir.Input, 0, 1)))
}

// unmade is echoed without rank 1's packing.
func unmade() *channelBuilder {
	b := echoed(2)
	b.Ranks[1].Blocks[0] = b.Ranks[1].Blocks[0][1:]
	return b
}

// grouped has n blocks copy a part each of two chunks.
func grouped(n int32) *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 2, false)
	for i := range n {
		o := move(to(ref(0, ir.Output, 0, 2)), ref(0, ir.Input, 0, 2))
		o.Part, o.Parts = i, n
		b.block(0, o)
	}
	return b
}

// groupedLoop returns an allgather in which n blocks put a part each of each turn.
func groupedLoop(n int32) *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 1, false).connect(ir.MemoryChannel, int(n))
	for r := range int32(2) {
		for i := range n {
			o := move(to(ref(r, ir.Output, r, 1), ref(1-r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1))
			o.Part, o.Parts = i, n
			ops := met(on(ir.ChRelaxedSignal, i), on(ir.ChRelaxedAwait, i))
			b.block(int(r), append(ops, looped(append([]ir.ChannelOp{o}, met(signalOn(i), awaitOn(i))...)...))...)
		}
	}
	return b
}

// pipeline has one block of a rank fill scratch for another that sends it on, turn by turn, with a place for each
// turn's part.
func pipeline() *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 1, false).connect(ir.MemoryChannel, 1).scratch(1)
	for r := range int32(2) {
		b.Ranks[r].Semaphores = []int32{0}
		b.block(int(r), looped(move(to(ref(r, ir.Scratch, 0, 1), ref(r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1)),
			meet, sema(ir.ChRelease, 0)))
		ops := append(begun(r), looped(sema(ir.ChAcquire, 0), meet,
			move(to(ref(1-r, ir.Output, r, 1)), ref(r, ir.Scratch, 0, 1)), meet, signalOn(0), awaitOn(0), meet))
		b.block(int(r), ops...)
	}
	return b
}

// chainOfBlocks has a rank's work handed over twice: one block fills scratch, the next sends that, and the last reads
// what has come.
func chainOfBlocks() *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 1, false).connect(ir.MemoryChannel, 2).scratch(2)
	for r := range int32(2) {
		b.Ranks[r].Semaphores = []int32{0, 0}
		b.block(int(r), move(to(ref(r, ir.Scratch, 0, 1), ref(r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1)), meet,
			sema(ir.ChRelease, 0))
		sends := []ir.ChannelOp{sema(ir.ChAcquire, 0), meet, on(ir.ChRelaxedSignal, 0), on(ir.ChRelaxedAwait, 0), meet,
			move(to(ref(1-r, ir.Scratch, 1, 1)), ref(r, ir.Scratch, 0, 1)), meet, signalOn(1), meet, sema(ir.ChRelease, 1)}
		b.block(int(r), sends...)
		b.block(int(r), sema(ir.ChAcquire, 1), meet, awaitOn(1), meet,
			move(to(ref(r, ir.Output, 1-r, 1)), ref(r, ir.Scratch, 1, 1)))
	}
	return b
}

// credit has a block that may be two chunks ahead of another.
func credit() *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 4, false).scratch(2)
	b.Ranks[0].Semaphores = []int32{2, 0}
	var first, second []ir.ChannelOp
	for c := range int32(4) {
		first = append(first, sema(ir.ChAcquire, 0), meet, move(to(ref(0, ir.Scratch, c%2, 1)), ref(0, ir.Input, c, 1)),
			meet, sema(ir.ChRelease, 1))
		second = append(second, sema(ir.ChAcquire, 1), meet, move(to(ref(0, ir.Output, c, 1)), ref(0, ir.Scratch, c%2, 1)),
			meet, sema(ir.ChRelease, 0))
	}
	return b.block(0, first...).block(0, second...)
}

// threeBlocks turn chunks round by scratch, with a barrier.
func threeBlocks() *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 3, false).scratch(3)
	for i := range int32(3) {
		b.block(0, move(to(ref(0, ir.Scratch, i, 1)), ref(0, ir.Input, i, 1)), barrier(3, 3),
			move(to(ref(0, ir.Output, (i+1)%3, 1)), ref(0, ir.Scratch, (i+1)%3, 1)))
	}
	return b
}

// throughPorts returns an allgather by ports, which signal after their data.
func throughPorts(kind ir.ChannelOpKind) *channelBuilder {
	b := channelProgram(ir.AllGather, 3, 1, true).connect(ir.MemoryChannel, 1).connect(ir.PortChannel, 1)
	for r := range int32(3) {
		ops := met(on(ir.ChRelaxedSignal, 0, 1), on(ir.ChRelaxedAwait, 0, 1))
		o := ir.ChannelOp{Kind: kind, Type: ir.PortChannel, Channels: []int32{0, 1}}
		for p := range int32(3) {
			if p != r {
				o.Srcs, o.Dsts = append(o.Srcs, ref(r, ir.Output, r, 1)), append(o.Dsts, ref(p, ir.Output, r, 1))
			}
		}
		b.block(int(r), append(ops, o, ir.ChannelOp{Kind: ir.ChAwait, Type: ir.PortChannel, Channels: []int32{0, 1}},
			meet)...)
	}
	return b
}

// someRanks reduces through the switches of two pairs of ranks, and then across.
func someRanks() *channelBuilder {
	b := channelProgram(ir.AllReduce, 4, 2, false).connect(ir.MemoryChannel, 1).scratch(2)
	for r := range int32(4) {
		pair, across := r^1, r^2
		b.Ranks[r].Channels[ir.SwitchChannel] = []ir.Channel{{Group: []int32{min(r, pair), max(r, pair)}, Buf: ir.Input},
			{Group: []int32{0, 1, 2, 3}, Buf: ir.Output}}
		to1, to2 := across, r%2
		if across > r {
			to1--
		}
		mine := through(ir.Output, to2, 1)
		mine.Switch = 1
		all := met(signalOn(0, 1, 2), awaitOn(0, 1, 2))
		ops := append(slices.Clone(all), move(to(ref(r, ir.Scratch, 0, 1), ref(across, ir.Scratch, 1, 1)),
			through(ir.Input, to2, 1)))
		ops = append(ops, met(signalOn(to1), awaitOn(to1))...)
		if r < 2 {
			ops = append(ops, move(to(mine), ref(r, ir.Scratch, 0, 1), ref(r, ir.Scratch, 1, 1)))
		}
		b.block(int(r), append(ops, slices.Clone(all)...)...)
	}
	return b
}

// portPackets has a port pass on packets that have come.
func portPackets() *channelBuilder {
	b := channelProgram(ir.Broadcast, 2, 1, false).packets(1, true).connect(ir.MemoryChannel, 1).connect(ir.PortChannel, 1)
	b.block(0, move(to(packet(0, 0, 1), ref(0, ir.Output, 0, 1)), ref(0, ir.Input, 0, 1)),
		putPort(ir.ChMove, 0, packet(1, 0, 1), packet(0, 0, 1)), signalOn(0), awaitOn(0), meet)
	return b.block(1, move(to(ref(1, ir.Output, 0, 1)), packet(1, 0, 1)), meet, signalOn(0), awaitOn(0), meet)
}

// rawPackets has a port copy packets that its block has made.
func rawPackets() *channelBuilder {
	b := portPackets()
	ops := slices.Insert(b.Ranks[0].Blocks[0], 1, meet)
	ops[2].Kind = ir.ChEach
	b.Ranks[0].Blocks[0] = ops
	return b
}

// minimum says of a reduction that it is one by minimum, which means nothing.
func minimum() *channelBuilder {
	b := twoPhasesOf(2)
	b.Ranks[0].Blocks[0][1].Reduce = ir.ReduceMin
	return b
}

// What is right is proven, and has one block for each and one for each port.
func TestRightChannels(t *testing.T) {
	for name, b := range rightChannels() {
		if _, report, list := Check(b.ChannelProgram, verify.Options{}); len(list) > 0 || !report.Ran {
			t.Errorf("%s:\n%s", name, texts(list))
		}
	}
}
