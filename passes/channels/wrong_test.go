package channels

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// wrongChannels are programs that MSCCL++'s language takes and its executor hangs in or computes rubbish by, each with
// one that is mended.
var wrongChannels = []struct {
	name  string
	code  diag.Code
	text  string // in a problem, with its notes
	wrong *channelBuilder
	right *channelBuilder
}{
	{"wait before signal", diag.Deadlock,
		"which rank 1 block 0 op 10 (signal) would raise; that block is still at op 8 (wait)",
		gatherBy(false, begun, always(met(awaitOn(0), signalOn(0))...)),
		gatherBy(false, begun, always(met(signalOn(0), awaitOn(0))...))},
	{"signal on one channel and wait on another", diag.Unmatched,
		"rank 0 block 0 op 8 (signal) signals rank 1, which never waits for it",
		gatherBy(false, begun, always(met(signalOn(1), awaitOn(0))...)),
		gatherBy(false, begun, always(met(signalOn(1), awaitOn(1))...))},
	{"no wait for the end", diag.Race, "writes output[0] of rank 1 when that rank's launch may have ended",
		gatherBy(false, begun, always(met(on(ir.ChRelaxedSignal, 0), on(ir.ChRelaxedAwait, 0))...)),
		gatherBy(false, begun, always(met(signalOn(0), awaitOn(0))...))},
	{"no wait for the beginning", diag.Race, "writes output[0] of rank 1 when that rank's launch may not have begun",
		gatherBy(false, always(), always(met(signalOn(0), awaitOn(0))...)),
		gatherBy(false, begun, always(met(signalOn(0), awaitOn(0))...))},
	{"put before the threads meet", diag.Race,
		"rank 0 block 0 has no block barrier between op 3 (relaxed wait) and op 5 (move)",
		gatherBy(false, always(meet, on(ir.ChRelaxedSignal, 0), meet, on(ir.ChRelaxedAwait, 0)),
			always(met(signalOn(0), awaitOn(0))...)),
		gatherBy(false, begun, always(met(signalOn(0), awaitOn(0))...))},
	{"signal before the threads meet", diag.Race,
		"rank 0 block 0 has no block barrier between op 6 (move) and op 7 (signal)",
		gatherBy(false, begun, always(signalOn(0), meet, awaitOn(0), meet)),
		gatherBy(false, begun, always(meet, signalOn(0), awaitOn(0)))},
	{"a turn's signals and one wait", diag.Unmatched, "with 2 loop iterations",
		gatherBy(false, begun, always(looped(met(signalOn(0))...), awaitOn(0), meet)),
		gatherBy(false, begun, always(looped(met(signalOn(0), awaitOn(0))...)))},
	{"loops of unequal turns", diag.Unmatched, "with 2 loop iterations", unequal(8192), unequal(4096)},
	{"acquire without release", diag.Unmatched,
		"rank 0 block 0 op 1 (acquire) waits at semaphore 0 of rank 0, and nothing signals it",
		alone(nil, []ir.ChannelOp{}, sema(ir.ChAcquire, 0), meet),
		alone(nil, []ir.ChannelOp{sema(ir.ChRelease, 0)}, sema(ir.ChAcquire, 0), meet)},
	{"a semaphore that two release", diag.Undecided,
		"is at semaphore 0 of rank 0, and so is rank 0 block 2 op 0 (release)", alone([]ir.ChannelOp{sema(ir.ChRelease, 0)},
			[]ir.ChannelOp{sema(ir.ChRelease, 0)}, sema(ir.ChAcquire, 0), sema(ir.ChAcquire, 0)),
		alone([]ir.ChannelOp{sema(ir.ChRelease, 0)}, []ir.ChannelOp{sema(ir.ChRelease, 1)}, sema(ir.ChAcquire, 0, 1))},
	{"a barrier of one block twice", diag.Deadlock,
		"rank 0 block 0 op 1 (barrier) waits for 2 blocks at barrier 0, and 1 come to it",
		alone(nil, []ir.ChannelOp{}, barrier(0, 2), barrier(0, 2)), alone(nil, []ir.ChannelOp{barrier(0, 2)}, barrier(0, 2))},
	{"a barrier that one block comes to more often", diag.Unmatched, "barrier 0 of rank 0",
		alone(nil, []ir.ChannelOp{barrier(0, 2)}, barrier(0, 2), barrier(0, 2)),
		alone(nil, []ir.ChannelOp{barrier(0, 2), barrier(0, 2)}, barrier(0, 2), barrier(0, 2))},
	{"a race of blocks", diag.Race, "rank 0 block 1 op 0 (move) reads scratch[0] of rank 0, and nothing orders it after rank 0 block 0 op 0 (move), which writes it", byScratch(), byScratch(barrier(0, 2))},
	{"a race of blocks with a semaphore that does not wait", diag.Race, "nothing orders it after", bySemaphore(1), bySemaphore(0)},
	{"an allgather that gathers nothing", diag.WrongResult, "output[1] of rank 0", gathers(0), gathers(1)},
	{"copy and put without a meeting", diag.Race,
		"reads scratch[0] of rank 0, and nothing orders it after rank 0 block 0 op 6 (move), which writes it; rank 0 block 0 op 6 (move) writes it; rank 0 block 0 has no block barrier between op 6 (move) and op 7 (move)", staged(nil), staged([]ir.ChannelOp{meet})},
	{"copy and reduce in place without a meeting", diag.Race,
		"writes input[0] of rank 0, and nothing orders it after rank 0 block 0 op 0 (move), which reads it", summed(nil), summed([]ir.ChannelOp{meet})},
	{"output written before input in its place is read", diag.Race,
		"reads input[0] of rank 0, and nothing orders it after", aliased(true), aliased(false)},
	{"a write that got lost", diag.Uninitialized, "reads scratch[0] of rank 0 before anything writes it", lost(true), lost(false)},
	{"packets in scratch that is not double", diag.Race, "1 tile iteration before, in the same copy", packetsOf(1, false), packetsOf(1, true)},
	{"packets and data in one place", diag.Overlap, "take the place of two chunks: scratch[1], which has data too", beside(1), beside(2)},
	{"source of a port overwritten", diag.Race, "reads scratch[0] of rank 0, and nothing orders it after rank 0 block 0 op 12 (move), which writes it; rank 0 block 0 op 12 (move) writes it; a port of rank 0 block 0", ported(meet), ported(ir.ChannelOp{Kind: ir.ChFlush, Type: ir.PortChannel, Channels: []int32{0}})},
	{"packets that come back to a place of another's", diag.Race, "who reads them takes either", echoedOver(), echoed(2)},
	{"packets that come back and that nothing made", diag.Unmatched, "waits for packets of scratch[1], which nothing sends", unmade(), echoed(2)},
	{"packets passed on before its own are sent", diag.Deadlock, "rank 2 block 0 op 0 (move) waits for packets, which rank 1 block 0 op 1 (move) would send", ringed(true), ringed(false)},
	{"packets passed on before they are made", diag.Deadlock, "waits for packets, which rank 0 block 0 op 1 (move) would send; that block is still at op 0", packedHere(true), packedHere(false)},
	{"a launch that ends before its port", diag.Race, "reads output[0] of rank 0 when that rank's launch may have ended", throughPorts(ir.ChEachSignal), throughPorts(ir.ChEachSignalFlush)},
	{"a launch that ends before its port, and nothing comes back", diag.Race, "reads input[0] of rank 0 when that rank's launch may have ended", handedBack(false), handedBack(true)},
	{"the next launch overwrites a port's source", diag.Race, "reads it 1 tile iteration before, in the same copy", keptBack(ir.ChEachSignal), keptBack(ir.ChEachSignalFlush)},
	{"put and signal by two threads", diag.Race, "rank 0 block 0 op 6 (move) writes output[0] of rank 2 when that rank's launch may have ended", pushed(true, []int32{0, 1}), pushed(true, []int32{0, 1}, meet)},
	{"puts and signals by threads in another order", diag.Race, "writes output[0] of rank 2 when that rank's launch may have ended", pushed(false, []int32{1, 0}), pushed(false, []int32{0, 1})},
	{"a signal that threads in another order put after", diag.Race, "when that rank's launch may have ended", pushed(false, []int32{1, 0}), pushed(false, []int32{1, 0}, meet)},
}

// alone returns one rank of up to three blocks, which does what ops say after a copy.
func alone(third, second []ir.ChannelOp, ops ...ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 1, false)
	b.Ranks[0].Semaphores = []int32{0, 0}
	b.block(0, append([]ir.ChannelOp{move(to(ref(0, ir.Output, 0, 1)), ref(0, ir.Input, 0, 1))}, ops...)...)
	for _, list := range [][]ir.ChannelOp{second, third} {
		if list != nil {
			b.block(0, slices.Clone(list)...)
		}
	}
	return b
}

// byScratch is two blocks of a rank, of which one writes what the other reads, with ops between.
func byScratch(between ...ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 1, false).scratch(1)
	return b.block(0, append([]ir.ChannelOp{move(to(ref(0, ir.Scratch, 0, 1)), ref(0, ir.Input, 0, 1))}, between...)...).
		block(0, append(slices.Clone(between), move(to(ref(0, ir.Output, 0, 1)), ref(0, ir.Scratch, 0, 1)))...)
}

// bySemaphore returns the same with a semaphore that begins with some count, in turns of a loop.
func bySemaphore(initial int32) *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 1, false).scratch(1)
	b.Ranks[0].Semaphores = []int32{initial}
	return b.block(0, looped(move(to(ref(0, ir.Scratch, 0, 1)), ref(0, ir.Input, 0, 1)), meet, sema(ir.ChRelease, 0))).
		block(0, looped(sema(ir.ChAcquire, 0), meet, move(to(ref(0, ir.Output, 0, 1)), ref(0, ir.Scratch, 0, 1)), meet))
}

// unequal returns the same with a loop of the other block with a number of bytes per turn.
func unequal(unit int64) *channelBuilder {
	b := bySemaphore(0)
	b.Ranks[0].Blocks[1][0].Unit = unit
	return b
}

// gathers returns an allgather that puts output chunk rank*n.
func gathers(n int32) *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 1, false).connect(ir.MemoryChannel, 1)
	for r := range int32(2) {
		ops := append(begun(r), move(to(ref(r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1)),
			move(to(ref(1-r, ir.Output, r*n, 1)), ref(r, ir.Input, 0, 1)))
		if n == 0 && r == 0 {
			ops[len(ops)-2], ops[len(ops)-1].Dsts = meet, to(ref(0, ir.Output, 0, 1))
		}
		b.block(int(r), append(ops, met(signalOn(0), awaitOn(0))...)...)
	}
	return b
}

// staged returns an allgather that puts from scratch what it copied there, with ops between.
func staged(between []ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 1, false).connect(ir.MemoryChannel, 1).scratch(1)
	for r := range int32(2) {
		ops := append(begun(r), move(to(ref(r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1)),
			move(to(ref(r, ir.Scratch, 0, 1)), ref(r, ir.Input, 0, 1)))
		ops = append(append(ops, between...), move(to(ref(1-r, ir.Output, r, 1)), ref(r, ir.Scratch, 0, 1)))
		b.block(int(r), append(ops, met(signalOn(0), awaitOn(0))...)...)
	}
	return b
}

// summed saves input in scratch, and reduces into it.
func summed(between []ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 2, true).scratch(1)
	b.Coll = &ir.Collective{Kind: ir.Custom, Ranks: 1, In: 2, Out: 2, Chunks: 2, Inplace: true,
		Require: map[ir.Part][]ir.Part{{}: {{}, {Index: 1}}, {Index: 1}: {{}}}}
	ops := append([]ir.ChannelOp{move(to(ref(0, ir.Scratch, 0, 1)), ref(0, ir.Input, 0, 1))}, between...)
	return b.block(0, append(ops, move(to(ref(0, ir.Input, 0, 1)), ref(0, ir.Input, 0, 1), ref(0, ir.Input, 1, 1)),
		meet, move(to(ref(0, ir.Input, 1, 1)), ref(0, ir.Scratch, 0, 1)))...)
}

// aliased writes output and reads input, which are one in place.
func aliased(inplace bool) *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 2, inplace).scratch(1)
	return b.block(0, move(to(ref(0, ir.Output, 0, 1)), ref(0, ir.Input, 0, 1)),
		move(to(ref(0, ir.Scratch, 0, 1)), ref(0, ir.Input, 0, 1)), meet,
		move(to(ref(0, ir.Output, 1, 1)), ref(0, ir.Input, 1, 1)))
}

// lost has each rank sum a chunk in scratch and give it to both, or write the sum to both and forget scratch, as fusion
// does.
func lost(forgets bool) *channelBuilder {
	b := channelProgram(ir.AllReduce, 2, 2, false).connect(ir.MemoryChannel, 1).scratch(1)
	for r := range int32(2) {
		own, other := ref(r, ir.Output, r, 1), ref(1-r, ir.Output, r, 1)
		dsts := to(ref(r, ir.Scratch, 0, 1))
		if forgets {
			dsts = to(own, other)
		}
		ops := append(begun(r), move(dsts, ref(r, ir.Input, r, 1), ref(1-r, ir.Input, r, 1)), meet,
			move(to(own), ref(r, ir.Scratch, 0, 1)), move(to(other), ref(r, ir.Scratch, 0, 1)))
		b.block(int(r), append(ops, met(signalOn(0), awaitOn(0))...)...)
	}
	return b
}

// packetsOf returns an allreduce of two ranks in one phase of packets.
func packetsOf(chunks int, double bool) *channelBuilder {
	b := channelProgram(ir.AllReduce, 2, chunks, false).packets(int32(chunks), double)
	n := int32(chunks)
	for r := range int32(2) {
		b.block(int(r), move(to(packet(1-r, 0, n)), ref(r, ir.Input, 0, n)),
			move(to(ref(r, ir.Output, 0, n)), ref(r, ir.Input, 0, n), packet(r, 0, n)))
	}
	return b
}

// beside has packets in chunk 0 of scratch, and data in another.
func beside(at int32) *channelBuilder {
	b := channelProgram(ir.AllReduce, 1, 1, false).packets(3, false)
	return b.block(0, move(to(packet(0, 0, 1)), ref(0, ir.Input, 0, 1)),
		move(to(ref(0, ir.Scratch, at, 1)), ref(0, ir.Input, 0, 1)), move(to(ref(0, ir.Output, 0, 1)), packet(0, 0, 1)))
}

// ported puts scratch through a port, and writes it anew after a meeting or a flush.
func ported(between ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 1, false).connect(ir.MemoryChannel, 1).connect(ir.PortChannel, 1).scratch(1)
	for r := range int32(2) {
		ops := append(begun(r), move(to(ref(r, ir.Scratch, 0, 1)), ref(r, ir.Input, 0, 1)), move(to(ref(r, ir.Output, r, 1)),
			ref(r, ir.Input, 0, 1)), meet, putPort(ir.ChEach, 0, ref(1-r, ir.Output, r, 1), ref(r, ir.Scratch, 0, 1)),
			meet, between, meet, move(to(ref(r, ir.Scratch, 0, 1)), ref(r, ir.Input, 0, 1)),
			ir.ChannelOp{Kind: ir.ChSignal, Type: ir.PortChannel, Channels: []int32{0}},
			ir.ChannelOp{Kind: ir.ChAwait, Type: ir.PortChannel, Channels: []int32{0}}, meet)
		b.block(int(r), ops...)
	}
	return b
}

// Each wrong program is rejected with its code, at an operation of it, and the one that is mended is accepted.
func TestWrongChannels(t *testing.T) {
	for _, c := range wrongChannels {
		_, _, list := Check(c.wrong.ChannelProgram, verify.Options{})
		found := ""
		for _, d := range list {
			text := d.Text
			for _, n := range d.Notes {
				text += "; " + n.Text
			}
			if d.Code == c.code && strings.Contains(text, c.text) && (d.Span.Line > 0 || d.Code == diag.WrongResult) {
				found = text
			}
		}
		if found == "" {
			t.Errorf("%s: not [%s] %s, but\n%s", c.name, c.code, c.text, texts(list))
		}
		if _, report, list := Check(c.right.ChannelProgram, verify.Options{}); len(list) > 0 || !report.Ran {
			t.Errorf("%s: mended, it is rejected:\n%s", c.name, texts(list))
		}
	}
}

func texts(list diag.List) string {
	var b strings.Builder
	for _, d := range list {
		b.WriteString("  " + d.Span.Pos.String() + " [" + string(d.Code) + "] " + d.Text)
		for _, n := range d.Notes {
			b.WriteString("; " + n.Text)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestUnmatchedHints: both sides of a signal that meets no wait say which rank has to do what.
func TestUnmatchedHints(t *testing.T) {
	wrong := gatherBy(false, begun, always(met(signalOn(1), awaitOn(0))...))
	_, _, found := Check(wrong.ChannelProgram, verify.Options{})
	var all []string
	for _, d := range found {
		all = append(all, d.Text+"; "+d.Hint)
	}
	for _, want := range []string{
		"signals rank 1, which never waits for it; add a wait at memory channel 1 of rank 1, to rank 0, or leave out this signal; in .mscl, that is .wait(tb = 0) of the channel that channel(1, 0) returned",
		"waits 2 times in a launch for signals of rank 1, which signals once; add a signal of rank 1 to memory channel 0 of rank 0, to rank 1, or leave out this wait; in .mscl, that is .signal(tb = 0) of the channel that channel(1, 0) returned",
	} {
		if !strings.Contains(strings.Join(all, "\n"), want) {
			t.Errorf("nothing says %q of\n%s", want, strings.Join(all, "\n"))
		}
	}
}
