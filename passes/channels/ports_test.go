package channels

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

func portOn(kind ir.ChannelOpKind, channels ...int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: kind, Type: ir.PortChannel, Channels: channels}
}

// passOn has a port pass on packets that the block awaits.
func passOn(channel int32, dst, src ir.ChannelRef) ir.ChannelOp {
	return putPort(ir.ChMove, channel, dst, src)
}

// ringed returns an allgather of three ranks by packets, of which each passes on, through a port, what comes to it,
// before or after its own.
func ringed(before bool) *channelBuilder {
	const n = 3
	b := channelProgram(ir.AllGather, n, 1, false).packets(n, true).connect(ir.PortChannel, 1)
	for r := range int32(n) {
		next, prev := (r+1)%n, (r+n-1)%n
		channel := next
		if next > r {
			channel--
		}
		ops := []ir.ChannelOp{move(to(packet(next, r, 1)), ref(r, ir.Input, 0, 1)),
			passOn(channel, packet(next, prev, 1), packet(r, prev, 1))}
		if before {
			slices.Reverse(ops)
		}
		b.block(int(r), append(ops, move(to(ref(r, ir.Output, prev, 1)), packet(r, prev, 1)),
			move(to(ref(r, ir.Output, next, 1)), packet(r, next, 1)),
			move(to(ref(r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1)))...)
	}
	return b
}

// packedHere returns an allreduce of two ranks of which each passes on, through a port, packets that it makes itself,
// before or after that.
func packedHere(before bool) *channelBuilder {
	b := channelProgram(ir.AllReduce, 2, 1, true).packets(4, true).connect(ir.PortChannel, 1)
	for r := range int32(2) {
		ops := []ir.ChannelOp{move(to(packet(r, 2, 1)), ref(r, ir.Input, 0, 1)),
			passOn(0, packet(1-r, r, 1), packet(r, 2, 1))}
		if before {
			slices.Reverse(ops)
		}
		b.block(int(r), append(ops, move(to(ref(r, ir.Input, 0, 1)), ref(r, ir.Input, 0, 1), packet(r, 1-r, 1)))...)
	}
	return b
}

// keptBack returns an allgather of two ranks of which each puts from scratch, which its next launch writes first of
// all.
func keptBack(kind ir.ChannelOpKind) *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 1, false).connect(ir.MemoryChannel, 1).connect(ir.PortChannel, 1).scratch(1)
	for r := range int32(2) {
		ops := []ir.ChannelOp{move(to(ref(r, ir.Scratch, 0, 1)), ref(r, ir.Input, 0, 1)),
			move(to(ref(r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1))}
		ops = append(append(ops, begun(r)...), putPort(kind, 0, ref(1-r, ir.Output, r, 1), ref(r, ir.Scratch, 0, 1)),
			portOn(ir.ChAwait, 0), meet)
		b.block(int(r), ops...)
	}
	return b
}

// pushed returns an allgather of three ranks through ports, each of which has a put, then what stands between, and then
// a signal; by one thread for both ports, or by one for each.
func pushed(alone bool, signals []int32, between ...ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllGather, 3, 1, true).connect(ir.MemoryChannel, 1).connect(ir.PortChannel, 1)
	for r := range int32(3) {
		ops := met(on(ir.ChRelaxedSignal, 0, 1), on(ir.ChRelaxedAwait, 0, 1))
		both := ir.ChannelOp{Kind: ir.ChEach, Type: ir.PortChannel, Channels: []int32{0, 1}}
		for p := range int32(3) {
			if p == r {
				continue
			}
			from, at := ref(r, ir.Output, r, 1), ref(p, ir.Output, r, 1)
			if both.Srcs, both.Dsts = append(both.Srcs, from), append(both.Dsts, at); alone {
				ops = append(ops, putPort(ir.ChEach, int32(len(both.Srcs)-1), at, from))
			}
		}
		if !alone {
			ops = append(ops, both)
		}
		ops = append(append(ops, between...), portOn(ir.ChSignal, signals...), meet, portOn(ir.ChFlush, 0, 1),
			portOn(ir.ChAwait, 0, 1), meet)
		b.block(int(r), ops...)
	}
	return b
}

// handedBack has rank 0 put to rank 1 through a port, and know that the port is done by what comes back, or end
// without.
func handedBack(back bool) *channelBuilder {
	b := channelProgram(ir.Broadcast, 2, 1, true).connect(ir.MemoryChannel, 1).connect(ir.PortChannel, 1)
	first := append(met(on(ir.ChRelaxedAwait, 0)),
		putPort(ir.ChEachSignal, 0, ref(1, ir.Output, 0, 1), ref(0, ir.Input, 0, 1)))
	second := append(met(on(ir.ChRelaxedSignal, 0)), portOn(ir.ChAwait, 0), meet)
	if back {
		first, second = append(first, awaitOn(0)), append(second, signalOn(0))
	}
	return b.block(0, first...).block(1, second...)
}

// putOver has rank 1 put to rank 0 through a port what that may still read.
func putOver() *channelBuilder {
	b := channelProgram(ir.Broadcast, 2, 1, true).connect(ir.PortChannel, 1)
	b.Coll.Root = 1
	return b.scratch(1).block(0, move(to(ref(0, ir.Scratch, 0, 1)), ref(0, ir.Output, 0, 1)), meet, portOn(ir.ChAwait, 0)).
		block(1, putPort(ir.ChEachSignalFlush, 0, ref(0, ir.Output, 0, 1), ref(1, ir.Input, 0, 1)))
}

// Where a port may still read what it was to put, a hint says how to end that; of what it writes, none does.
func TestPortsAreToBeFlushed(t *testing.T) {
	for name, c := range map[string]struct {
		of    *channelBuilder
		hints bool
	}{
		"a launch's end": {throughPorts(ir.ChEachSignal), true}, "the next launch": {keptBack(ir.ChEachSignal), true},
		"the same launch": {ported(meet), true}, "threads": {pushed(false, []int32{1, 0}), false},
		"what was read": {putOver(), false},
	} {
		_, _, list := Check(c.of.ChannelProgram, verify.Options{})
		if !slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == diag.Race }) {
			t.Errorf("%s: no race in %v", name, list)
		}
		for _, d := range list {
			if strings.Contains(d.Hint, "flush the port") != c.hints {
				t.Errorf("%s: %s: hint %q", name, d.Text, d.Hint)
			}
		}
	}
}
