package channels

import (
	"testing"
	"time"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// allPairsOf returns an allgather of n ranks, with a block for each pair.
func allPairsOf(n int32) *channelBuilder {
	b := channelProgram(ir.AllGather, int(n), 1, true).connect(ir.MemoryChannel, 1)
	for r := range n {
		for c := range n - 1 {
			p := b.Ranks[r].Channels[ir.MemoryChannel][c].Peer
			ops := met(on(ir.ChRelaxedSignal, c), on(ir.ChRelaxedAwait, c),
				move(to(ref(p, ir.Output, r, 1)), ref(r, ir.Output, r, 1)), signalOn(c), awaitOn(c))
			b.block(int(r), ops...)
		}
	}
	return b
}

// oneBlockOf returns the same in one block a rank.
func oneBlockOf(n int32) *channelBuilder {
	b := channelProgram(ir.AllGather, int(n), 1, true).connect(ir.MemoryChannel, 1)
	for r := range n {
		var all []int32
		o := ir.ChannelOp{Kind: ir.ChEach, Type: ir.MemoryChannel}
		for c := range n - 1 {
			all = append(all, c)
			o.Srcs = append(o.Srcs, ref(r, ir.Output, r, 1))
			o.Dsts = append(o.Dsts, ref(b.Ranks[r].Channels[ir.MemoryChannel][c].Peer, ir.Output, r, 1))
		}
		b.block(int(r), met(on(ir.ChRelaxedSignal, all...), on(ir.ChRelaxedAwait, all...), o, signalOn(all...),
			awaitOn(all...))...)
	}
	return b
}

func TestChannelScale(t *testing.T) {
	for _, c := range []struct {
		name string
		of   *channelBuilder
	}{
		{"all pairs of 32", allPairsOf(32)},
		{"one block of 128", oneBlockOf(128)},
	} {
		at := time.Now()
		u, err := unroll(c.of.ChannelProgram, 1)
		if err != nil {
			t.Fatal(err)
		}
		unrolled := time.Since(at)
		if _, list := verify.Check(either.OfOneSided(u.program), verify.Options{}); len(list) > 0 {
			t.Errorf("%s: %s", c.name, texts(list))
		}
		t.Logf("%s: %d steps, unrolled in %v, proven in %v", c.name, len(u.program.Steps), unrolled, time.Since(at)-unrolled)
	}
}
