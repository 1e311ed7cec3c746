package channels

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// packedBy returns two ranks that send each other two chunks of packets, which blocks of each make and a port copies as
// they lie. The block that puts does before, the put, and what is received; the blocks that pack do what packs lists.
func packedBy(semaphores []int32, before []ir.ChannelOp, packs ...[]ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 2, false).packets(4, true).connect(ir.PortChannel, 1)
	for r := range int32(2) {
		own, other := 2*r, 2*(1-r)
		ops := append(slices.Clone(before), putPort(ir.ChEach, 0, packet(1-r, 2, 2), packet(r, 0, 2)),
			move(to(ref(r, ir.Output, other, 2)), packet(r, 2, 2)),
			move(to(ref(r, ir.Output, own, 2)), ref(r, ir.Input, 0, 2)))
		b.block(int(r), ops...)
		for _, list := range packs {
			mine := slices.Clone(list)
			for i := range mine {
				mine[i].Srcs, mine[i].Dsts = slices.Clone(mine[i].Srcs), slices.Clone(mine[i].Dsts)
				for k := range mine[i].Srcs {
					mine[i].Srcs[k].Rank, mine[i].Dsts[k].Rank = r, r
				}
			}
			b.block(int(r), mine...)
		}
		b.Ranks[r].Semaphores = semaphores
	}
	return b
}

// pack makes packets of some chunks of the input.
func pack(index, count int32) ir.ChannelOp {
	return move(to(packet(0, index, count)), ref(0, ir.Input, index, count))
}

// half has an operation do one of two parts.
func half(o ir.ChannelOp, i int32) ir.ChannelOp {
	o.Part, o.Parts = i, 2
	return o
}

func list(ops ...ir.ChannelOp) []ir.ChannelOp { return ops }

// handOn is a loop that acquires one semaphore and releases another.
func handOn(from, to int32) ir.ChannelOp {
	return looped(met(sema(ir.ChAcquire, from), sema(ir.ChRelease, to))...)
}

// lyingChannels are programs in which ports copy packets that other blocks make, each beside one that lacks what orders
// the two.
var lyingChannels = []struct {
	name         string
	right, wrong *channelBuilder
}{
	{"a barrier", packedBy(nil, list(barrier(0, 2)), list(pack(0, 2), barrier(0, 2))),
		packedBy(nil, nil, list(pack(0, 2)))},
	{"a barrier before the packing", packedBy(nil, list(barrier(0, 2)), list(pack(0, 2), barrier(0, 2))),
		packedBy(nil, list(barrier(0, 2)), list(barrier(0, 2), pack(0, 2)))},
	{"a barrier of several packers", packedBy(nil, list(barrier(0, 3)), list(pack(0, 1), barrier(0, 3)), list(pack(1, 1), barrier(0, 3))),
		packedBy(nil, list(barrier(0, 2)), list(pack(0, 1), barrier(0, 2)), list(pack(1, 1)))},
	{"packers that are one group", packedBy(nil, list(barrier(0, 3)), list(half(pack(0, 2), 0), barrier(0, 3)), list(half(pack(0, 2), 1), barrier(0, 3))),
		packedBy(nil, list(barrier(0, 2)), list(half(pack(0, 2), 0), barrier(0, 2)), list(half(pack(0, 2), 1)))},
	{"a semaphore", packedBy([]int32{0}, list(sema(ir.ChAcquire, 0), meet), list(pack(0, 2), meet, sema(ir.ChRelease, 0))),
		packedBy([]int32{1}, list(sema(ir.ChAcquire, 0), meet), list(pack(0, 2), meet, sema(ir.ChRelease, 0)))},
	{"a semaphore without a block barrier", packedBy([]int32{0}, list(sema(ir.ChAcquire, 0), meet), list(pack(0, 2), meet, sema(ir.ChRelease, 0))),
		packedBy([]int32{0}, list(sema(ir.ChAcquire, 0), meet), list(pack(0, 2), sema(ir.ChRelease, 0)))},
	{"a semaphore for each packer", packedBy([]int32{0, 0}, list(sema(ir.ChAcquire, 0, 1), meet),
		list(pack(0, 1), meet, sema(ir.ChRelease, 0)), list(pack(1, 1), meet, sema(ir.ChRelease, 1))),
		packedBy([]int32{0, 0}, list(sema(ir.ChAcquire, 0), meet),
			list(pack(0, 1), meet, sema(ir.ChRelease, 0)), list(pack(1, 1), meet, sema(ir.ChRelease, 1)),
			list(sema(ir.ChAcquire, 1)))},
	{"a baton", packedBy([]int32{0, 0}, list(sema(ir.ChAcquire, 1), meet), list(pack(0, 1), meet, sema(ir.ChRelease, 0)),
		list(sema(ir.ChAcquire, 0), meet, pack(1, 1), meet, sema(ir.ChRelease, 1))),
		packedBy([]int32{0, 0}, list(sema(ir.ChAcquire, 1), meet), list(pack(0, 1), meet, sema(ir.ChRelease, 0)),
			list(pack(1, 1), meet, sema(ir.ChRelease, 1), sema(ir.ChAcquire, 0)))},
	{"loops between", packedBy([]int32{0, 0}, list(looped(met(sema(ir.ChAcquire, 1))...)),
		list(pack(0, 2), meet, looped(met(sema(ir.ChRelease, 0))...)), list(handOn(0, 1))),
		packedBy([]int32{0, 1}, list(looped(met(sema(ir.ChAcquire, 1))...)),
			list(pack(0, 2), meet, looped(met(sema(ir.ChRelease, 0))...)), list(handOn(0, 1)))},
	{"its own block", packedBy(nil, list(move(to(packet(0, 0, 2)), ref(0, ir.Input, 0, 2)), meet)), nil},
}

// own has the first block's packets be of its rank.
func own(b *channelBuilder) *channelBuilder {
	for r := range b.Ranks {
		for i := range b.Ranks[r].Blocks[0] {
			o := &b.Ranks[r].Blocks[0][i]
			o.Srcs, o.Dsts = slices.Clone(o.Srcs), slices.Clone(o.Dsts)
			for k := range o.Srcs {
				if o.Srcs[k].Buf == ir.Input {
					o.Srcs[k].Rank, o.Dsts[k].Rank = int32(r), int32(r)
				}
			}
		}
	}
	return b
}

// TestPacketsAsTheyLie: a port may copy packets that other blocks made where something orders it after them, and is
// rejected where nothing does, with what to do.
func TestPacketsAsTheyLie(t *testing.T) {
	for _, c := range lyingChannels {
		if _, report, found := Check(own(c.right).ChannelProgram, verify.Options{}); len(found) > 0 || !report.Ran {
			t.Errorf("%s:\n%s", c.name, texts(found))
		}
		if c.wrong == nil {
			continue
		}
		_, _, found := Check(own(c.wrong).ChannelProgram, verify.Options{})
		if !slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
			return d.Code == diag.Race && strings.Contains(d.Text, "scratch[") &&
				strings.Contains(d.Hint, "copies packets as they lie")
		}) {
			t.Errorf("%s, without what orders the two:\n%s", c.name, texts(found))
		}
	}
}

// TestOrderOfLyingPackets: that a port copies packets as they lie orders nothing, so that what only this would order at
// a semaphore of two blocks stays undecided.
func TestOrderOfLyingPackets(t *testing.T) {
	b := packedBy([]int32{0}, nil, list(sema(ir.ChAcquire, 0), pack(0, 2), meet, sema(ir.ChRelease, 0)),
		list(sema(ir.ChRelease, 0)))
	for r := range int32(2) {
		ops := &b.Ranks[r].Blocks[0]
		*ops = append(*ops, sema(ir.ChAcquire, 0))
		b.place(*ops)
	}
	if _, _, found := Check(b.ChannelProgram, verify.Options{}); len(found) == 0 {
		t.Error("it is proven")
	}
}
