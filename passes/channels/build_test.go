package channels

import (
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A channelBuilder makes a program of channels, of which each operation has a line of its own.
type channelBuilder struct{ *ir.ChannelProgram }

// A loop's turn covers these chunks.
const oneChunk = 1

func channelProgram(kind ir.Kind, ranks, chunks int, inplace bool) *channelBuilder {
	p := &ir.ChannelProgram{Ranks: make([]ir.ChannelRank, ranks), Threads: 1024, Align: 16, MaxBytes: math.MaxUint64}
	p.Coll = &ir.Collective{Kind: kind, Ranks: ranks, Chunks: chunks, Inplace: inplace}
	p.Name, p.RanksPerNode = "test", ranks
	for r := range p.Ranks {
		p.Ranks[r].In, p.Ranks[r].Out = int32(p.Coll.InChunks(r)), int32(p.Coll.OutChunks(r))
	}
	return &channelBuilder{p}
}

// connect gives each rank n channels of a type to each other: the k-th to rank p is k*(ranks-1) + p, less one after
// the rank.
func (b *channelBuilder) connect(t ir.ChannelType, n int) *channelBuilder {
	for range n {
		for r := range b.Ranks {
			for p := range b.Ranks {
				if p != r {
					b.Ranks[r].Channels[t] = append(b.Ranks[r].Channels[t], ir.Channel{Peer: int32(p)})
				}
			}
		}
	}
	return b
}

// scratch gives all ranks scratch.
func (b *channelBuilder) scratch(n int32) *channelBuilder {
	for r := range b.Ranks {
		b.Ranks[r].Scratch = n
	}
	return b
}

// packets has scratch be of packets.
func (b *channelBuilder) packets(n int32, double bool) *channelBuilder {
	b.Protocol, b.DoubleScratch = ir.LL, double
	return b.scratch(n)
}

// block adds a block to a rank.
func (b *channelBuilder) block(rank int, ops ...ir.ChannelOp) *channelBuilder {
	b.place(ops)
	b.Ranks[rank].Blocks = append(b.Ranks[rank].Blocks, ops)
	return b
}

func (b *channelBuilder) place(ops []ir.ChannelOp) {
	for i := range ops {
		ops[i].Pos = int32(len(b.Spans))
		b.Spans = append(b.Spans, diag.Span{Pos: diag.Pos{Filename: "test", Line: len(b.Spans) + 1, Column: 1}, Len: 1})
		b.place(ops[i].Body)
	}
}

var meet = ir.ChannelOp{Kind: ir.ChMeet, Type: ir.NoChannel}

func on(kind ir.ChannelOpKind, channels ...int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: kind, Type: ir.MemoryChannel, Channels: channels}
}

func signalOn(channels ...int32) ir.ChannelOp { return on(ir.ChSignal, channels...) }
func awaitOn(channels ...int32) ir.ChannelOp  { return on(ir.ChAwait, channels...) }

func sema(kind ir.ChannelOpKind, ids ...int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: kind, Type: ir.NoChannel, Semaphores: ids}
}

func barrier(id, blocks int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChBarrier, Type: ir.NoChannel, ID: id, Blocks: blocks}
}

func ref(rank int32, b ir.Buf, index, count int32) ir.ChannelRef {
	return ir.ChannelRef{Rank: rank, Buf: b, Index: index, Count: count}
}

func packet(rank, index, count int32) ir.ChannelRef {
	return ir.ChannelRef{Rank: rank, Buf: ir.Scratch, Index: index, Count: count, Packets: true}
}

func through(b ir.Buf, index, count int32) ir.ChannelRef {
	return ir.ChannelRef{Rank: ir.AllRanks, Buf: b, Index: index, Count: count}
}

func to(dsts ...ir.ChannelRef) []ir.ChannelRef { return dsts }

// move is dsts = the sum of srcs.
func move(dsts []ir.ChannelRef, srcs ...ir.ChannelRef) ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChMove, Type: ir.MemoryChannel, Srcs: srcs, Dsts: dsts}
}

// putPort puts a chunk through a port.
func putPort(kind ir.ChannelOpKind, channel int32, dst, src ir.ChannelRef) ir.ChannelOp {
	return ir.ChannelOp{Kind: kind, Type: ir.PortChannel, Channels: []int32{channel}, Srcs: []ir.ChannelRef{src},
		Dsts: []ir.ChannelRef{dst}}
}

// looped returns a loop over one chunk.
func looped(body ...ir.ChannelOp) ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: 4096, Chunks: oneChunk, Body: body}
}

// gather is an allgather of two ranks, by what each puts to the other between what stands before and after it.
func gatherBy(inplace bool, before, after func(rank int32) []ir.ChannelOp) *channelBuilder {
	b := channelProgram(ir.AllGather, 2, 1, inplace).connect(ir.MemoryChannel, 2)
	for r := range int32(2) {
		ops := before(r)
		ops = append(ops, move(to(ref(r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1)),
			move(to(ref(1-r, ir.Output, r, 1)), ref(r, ir.Input, 0, 1)))
		b.block(int(r), append(ops, after(r)...)...)
	}
	return b
}

// met has ops with the threads meeting between them.
func met(ops ...ir.ChannelOp) (list []ir.ChannelOp) {
	for _, o := range ops {
		list = append(list, meet, o)
	}
	return append(list, meet)
}

func always(ops ...ir.ChannelOp) func(int32) []ir.ChannelOp {
	return func(int32) []ir.ChannelOp {
		list := make([]ir.ChannelOp, len(ops))
		for i := range list {
			list[i] = ops[i]
			list[i].Channels = slices.Clone(ops[i].Channels)
		}
		return list
	}
}

// begun has both ranks know that the other has begun.
var begun = always(met(on(ir.ChRelaxedSignal, 0), on(ir.ChRelaxedAwait, 0))...)
