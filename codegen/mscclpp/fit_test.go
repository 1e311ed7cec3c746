package mscclpp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
)

// TestFitOperands: what becomes of Moves that MSCCL++ has no operation for, in the text form.
func TestFitOperands(t *testing.T) {
	own := func(b ir.Buf, i int32) ir.ChannelRef { return ir.ChannelRef{Buf: b, Index: i, Count: 1} }
	packets := func(rank, i int32) ir.ChannelRef {
		return ir.ChannelRef{Rank: rank, Buf: ir.Scratch, Packets: true, Index: i, Count: 1}
	}
	of := func(n int, f func(i int32) ir.ChannelRef) (list []ir.ChannelRef) {
		for i := range n {
			list = append(list, f(int32(i)))
		}
		return list
	}
	far := func(i int32) ir.ChannelRef { return ir.ChannelRef{Rank: i + 1, Buf: ir.Input, Index: 0, Count: 1} }
	farPackets := func(i int32) ir.ChannelRef { return packets(i+1, 0) }
	move := func(t ir.ChannelType, srcs, dsts []ir.ChannelRef) ir.ChannelOp {
		return ir.ChannelOp{Kind: ir.ChMove, Type: t, Srcs: srcs, Dsts: dsts, Pos: -1}
	}
	in, out := own(ir.Input, 0), own(ir.Output, 0)
	one := func(r ir.ChannelRef) []ir.ChannelRef { return []ir.ChannelRef{r} }
	arrived := func(i int32) ir.ChannelRef { return packets(0, i) }
	for _, tt := range []struct {
		name string
		op   ir.ChannelOp
		want string // kind and numbers of sources and destinations of each
	}{
		{"enough room", move(ir.NoChannel, append(one(in), of(9, arrived)...), one(out)), "mv 10 1"},
		{"many packets", move(ir.NoChannel, append(one(in), of(15, arrived)...), one(out)), "mv 10 1, meet, mv 7 1"},
		{"packets alone", move(ir.NoChannel, of(2, arrived), one(out)), "mv 1 1, meet, mv 2 1"},
		{"read of many, and sent to them",
			move(ir.MemoryChannel, append(one(in), of(15, far)...), append(one(in), of(15, far)...)),
			"mv 10 1, meet, mv 7 10, meet, each 6 6"},
		{"others and packets", move(ir.MemoryChannel, slices.Concat(one(in), of(2, far), of(2, arrived)), one(out)), "mv 3 1, meet, mv 3 1"},
		{"a sum kept and sent as packets", move(ir.MemoryChannel, append(one(in), of(12, arrived)...),
			slices.Concat(one(out), one(packets(0, 15)), of(12, farPackets))), "mv 10 1, meet, mv 4 10, meet, each 4 4"},
		{"two kept", move(ir.NoChannel, append(one(in), of(2, arrived)...), []ir.ChannelRef{out, own(ir.Output, 1)}), "mv 3 1, meet, mv 1 1"},
		{"a copy to two places", move(ir.NoChannel, one(in), []ir.ChannelRef{out, packets(0, 15)}), "mv 1 1, meet, mv 1 1"},
		{"a chunk kept and packed", move(ir.NoChannel, one(in), []ir.ChannelRef{in, packets(0, 15)}), "mv 1 1"},
		{"packets handed on", move(ir.MemoryChannel, one(arrived(0)), of(12, farPackets)), "mv 1 8, mv 1 4"},
		{"a sum in what is added later", move(ir.NoChannel, of(12, func(i int32) ir.ChannelRef { return own(ir.Input, i) }), one(own(ir.Input, 11))), "mv 12 1"},
		{"a sum in packets", move(ir.NoChannel, append(one(in), of(12, arrived)...), one(packets(0, 15))), "mv 13 1"},
	} {
		p := &ir.ChannelProgram{Header: ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 16, Chunks: 16}},
			Ranks: make([]ir.ChannelRank, 16)}
		for r := range p.Ranks {
			p.Ranks[r] = ir.ChannelRank{In: 16, Out: 16, Scratch: 16}
		}
		p.Ranks[0].Blocks = [][]ir.ChannelOp{{tt.op}}
		for _, loop := range []bool{false, true} {
			ops := p.Ranks[0].Blocks[0]
			if loop {
				p.Ranks[0].Blocks[0] = []ir.ChannelOp{{Kind: ir.ChLoop, Body: ops, Unit: 16, Chunks: 1}}
			}
			got := FitOperands(p).Ranks[0].Blocks[0]
			if loop {
				got = got[0].Body
			}
			var list []string
			for i := range got {
				if got[i].Kind == ir.ChMeet {
					list = append(list, "meet")
				} else {
					list = append(list, fmt.Sprint(got[i].Kind, len(got[i].Srcs), len(got[i].Dsts)))
				}
			}
			if text := strings.Join(list, ", "); text != tt.want {
				t.Errorf("%s: %s, not %s", tt.name, text, tt.want)
			}
		}
	}
}
