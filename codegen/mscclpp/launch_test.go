package mscclpp

import (
	"math"
	"strings"
	"testing"

	"mscclc/ir"
)

// launched returns a program of n ranks with so much scratch each, which does ops in a block of rank 0.
func launched(kind ir.Kind, n int, scratch []int32, ops ...ir.ChannelOp) *ir.ChannelProgram {
	p := allToAll(n)
	p.Coll = &ir.Collective{Kind: kind, Ranks: n, Chunks: 1, Inplace: true}
	p.Sizes = ir.SizeRange{}
	for r := range p.Ranks {
		c := &p.Ranks[r]
		in, out := p.Coll.Pieces(r)
		c.In, c.Out, c.Scratch, c.Blocks = int32(in), int32(out), scratch[r%len(scratch)], nil
	}
	p.Ranks[0].Blocks = [][]ir.ChannelOp{ops}
	return p
}

// TestFitLaunch: scratch, threads and sizes become such as MSCCL++'s executor is right with, and Faults has
// nothing to say of them.
func TestFitLaunch(t *testing.T) {
	pack := ir.ChannelOp{Kind: ir.ChEach, Type: ir.MemoryChannel, Srcs: []ir.ChannelRef{{Buf: ir.Input, Count: 1}},
		Dsts: []ir.ChannelRef{{Rank: 1, Buf: ir.Scratch, Packets: true, Count: 1}}}
	store := ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel, Srcs: pack.Srcs,
		Dsts: []ir.ChannelRef{{Buf: ir.Scratch, Count: 1}}}
	signal := ir.ChannelOp{Kind: ir.ChSignal, Type: ir.MemoryChannel, Channels: []int32{0, 1, 2}}
	put := ir.ChannelOp{Kind: ir.ChEach, Type: ir.PortChannel, Channels: []int32{0, 0}}
	acquire := []ir.ChannelOp{{Kind: ir.ChAcquire, Semaphores: []int32{0, 1}}}
	loop := ir.ChannelOp{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: 1 << 20, Chunks: 2, Body: []ir.ChannelOp{store}}
	for _, c := range []struct {
		what     string
		p        *ir.ChannelProgram
		change   func(p *ir.ChannelProgram)
		scratch  int32
		threads  int
		maxBytes uint64
		wrong    string
	}{
		{"halves", launched(ir.AllReduce, 4, []int32{2, 1, 3, 0}, pack),
			func(p *ir.ChannelProgram) { p.Protocol, p.DoubleScratch = ir.LL, true }, 3, 1024,
			math.MaxUint32 / 12 / 16 * 16, ""},
		{"halves of three chunks", launched(ir.AllToAll, 3, []int32{2, 1, 5}, pack),
			func(p *ir.ChannelProgram) { p.Protocol, p.DoubleScratch = ir.LL, true }, 8, 1024,
			math.MaxUint32 / 32 * 3 / 48 * 48, ""},
		{"plain halves", launched(ir.AllToAll, 3, []int32{2, 1, 5}, store),
			func(p *ir.ChannelProgram) { p.DoubleScratch = true }, 16, 1024, math.MaxUint32 / 32 * 3 / 48 * 48, ""},
		{"sizes", launched(ir.AllReduce, 4, []int32{3}, pack),
			func(p *ir.ChannelProgram) { p.Protocol, p.DoubleScratch, p.Sizes.Max = ir.LL, true, 1<<20 }, 3, 1024,
			1<<20 - 16, ""},
		{"reuse", launched(ir.AllGather, 2, []int32{1}, store),
			func(p *ir.ChannelProgram) { p.Reuse, p.Sizes.Max = true, 1<<30 }, 1, 1024, 1 << 27, "only up to 134217728"},
		{"reused halves", launched(ir.AllGather, 2, []int32{3, 1}, store),
			func(p *ir.ChannelProgram) { p.Reuse, p.DoubleScratch = true, true }, 3, 1024, (1 << 25) / 3 / 16 * 16 * 2, ""},
		{"reuse in a loop", launched(ir.AllGather, 2, []int32{1}, loop),
			func(p *ir.ChannelProgram) { p.Reuse = true }, 1, 1024, 1 << 26, ""},
		{"reuse, too large", launched(ir.AllGather, 2, []int32{1}, store),
			func(p *ir.ChannelProgram) { p.Reuse, p.Sizes.Min = true, 1<<30 }, 1, 1024, 1 << 27, "64 MiB of scratch"},
		{"no input", launched(ir.Broadcast, 4, []int32{0}),
			func(p *ir.ChannelProgram) {}, 0, 1024, math.MaxUint32 / 16 * 16, ""},
		{"no size", launched(ir.AllReduce, 4, []int32{0}),
			func(p *ir.ChannelProgram) { p.Sizes.Max = 8 }, 0, 1024, 0, "multiples of 16 bytes"},
		{"threads", launched(ir.AllReduce, 4, []int32{0}, signal),
			func(p *ir.ChannelProgram) { p.Threads = 1 }, 0, 3, math.MaxUint32 / 16 * 16, ""},
		{"threads for ports", launched(ir.AllReduce, 4, []int32{0}, put),
			func(p *ir.ChannelProgram) { p.Threads = 1 }, 0, 2, math.MaxUint32 / 16 * 16, ""},
		{"threads in a loop",
			launched(ir.AllReduce, 4, []int32{0}, ir.ChannelOp{Kind: ir.ChLoop, Unit: 1 << 20, Chunks: 1, Body: acquire}),
			func(p *ir.ChannelProgram) { p.Threads = 1 }, 0, 2, math.MaxUint32 / 16 * 16, ""},
	} {
		c.change(c.p)
		d := FitLaunch(c.p)
		if (d != nil) != (c.wrong != "") || d != nil && !strings.Contains(d.Text, c.wrong) {
			t.Errorf("%s: %v, want %q", c.what, d, c.wrong)
		}
		for r := range c.p.Ranks {
			if got := c.p.Ranks[r].Scratch; got != c.scratch {
				t.Errorf("%s: rank %d has %d chunks of scratch, want %d", c.what, r, got, c.scratch)
			}
		}
		if c.p.Threads != c.threads || c.p.MaxBytes != c.maxBytes {
			t.Errorf("%s: %d threads, %d bytes, want %d, %d", c.what, c.p.Threads, c.p.MaxBytes, c.threads, c.maxBytes)
		}
		for _, d := range Faults(c.p) {
			if strings.HasPrefix(c.what, "threads") || d.Code != "mscclpp-graph" && d.Code != "mscclpp-align" &&
				d.Code != "mscclpp-loop" {
				t.Errorf("%s: %v", c.what, d)
			}
		}
	}
}

// TestNameLarger: in place other ranks' memory is named through the larger buffer, also in loops; what is the rank's
// own, scratch and the larger buffer keep their names.
func TestNameLarger(t *testing.T) {
	for _, c := range []struct {
		kind      ir.Kind
		buf, want ir.Buf
		index     int32
	}{
		{ir.AllGather, ir.Input, ir.Output, 1}, {ir.AllGather, ir.Output, ir.Output, 0},
		{ir.ReduceScatter, ir.Output, ir.Input, 1},
		{ir.Gather, ir.Input, ir.Output, 1}, {ir.Scatter, ir.Output, ir.Input, 1}, {ir.AllReduce, ir.Input, ir.Input, 0},
		{ir.AllGather, ir.Scratch, ir.Scratch, 0},
	} {
		far, near := ir.ChannelRef{Rank: 1, Buf: c.buf, Count: 1}, ir.ChannelRef{Buf: c.buf, Count: 1}
		put := ir.ChannelOp{Kind: ir.ChEach, Type: ir.MemoryChannel, Srcs: []ir.ChannelRef{near}, Dsts: []ir.ChannelRef{far}}
		p := launched(c.kind, 2, []int32{1}, put, ir.ChannelOp{Kind: ir.ChLoop, Unit: 1 << 20, Chunks: 1,
			Body: []ir.ChannelOp{put}})
		named := NameLarger(p).Ranks[0].Blocks[0]
		for _, o := range []ir.ChannelOp{named[0], named[1].Body[0]} {
			if o.Srcs[0] != near || o.Dsts[0] != (ir.ChannelRef{Rank: 1, Buf: c.want, Index: c.index, Count: 1}) {
				t.Errorf("%v %v: %+v", c.kind, c.buf, o)
			}
		}
		put.Type = ir.PortChannel // which reads memory of the rank's own from its beginning on
		p.Ranks[0].Blocks[0][0] = put
		want := near
		if c.want != c.buf {
			want.Buf = c.want
		}
		if got := NameLarger(p).Ranks[0].Blocks[0][0].Srcs[0]; got != want {
			t.Errorf("%v %v through a port: %+v", c.kind, c.buf, got)
		}
		if p.Ranks[0].Blocks[0][0].Dsts[0] != far {
			t.Errorf("%v: the program is changed", c.kind)
		}
		p.Coll.Inplace = false
		if NameLarger(p).Ranks[0].Blocks[0][0].Dsts[0] != far {
			t.Errorf("%v: out of place too", c.kind)
		}
	}
}
