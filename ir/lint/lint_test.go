package lint

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// local, remote and packets are one chunk of the test's program of two ranks, as rank 0 sees it.
func local(buf ir.Buf, index int32) ir.ChannelRef {
	return ir.ChannelRef{Buf: buf, Index: index, Count: 1}
}
func remote(buf ir.Buf, index int32) ir.ChannelRef {
	return ir.ChannelRef{Rank: 1, Buf: buf, Index: index, Count: 1}
}

func copies(from, to int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel, Srcs: []ir.ChannelRef{local(ir.Input, from)},
		Dsts: []ir.ChannelRef{local(ir.Output, to)}}
}

func puts(from ir.Buf, index int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChEach, Type: ir.MemoryChannel, Srcs: []ir.ChannelRef{local(from, index)},
		Dsts: []ir.ChannelRef{remote(ir.Output, index)}}
}

func gets(index int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChEach, Type: ir.MemoryChannel, Srcs: []ir.ChannelRef{remote(ir.Output, index)},
		Dsts: []ir.ChannelRef{local(ir.Output, index)}}
}

func sums() ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel, Srcs: []ir.ChannelRef{local(ir.Input, 0), local(ir.Input, 1)},
		Dsts: []ir.ChannelRef{local(ir.Output, 0)}}
}

// adds adds a chunk of input to output 3.
func adds(from int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: ir.ChMove, Type: ir.NoChannel,
		Srcs: []ir.ChannelRef{local(ir.Output, 3), local(ir.Input, from)}, Dsts: []ir.ChannelRef{local(ir.Output, 3)}}
}

func on(kind ir.ChannelOpKind, channels ...int32) ir.ChannelOp {
	return ir.ChannelOp{Kind: kind, Type: ir.MemoryChannel, Channels: channels}
}

func group(o ir.ChannelOp, part int32) ir.ChannelOp {
	o.Part, o.Parts = part, 2
	return o
}

var everyRank = ir.ChannelRef{Rank: ir.AllRanks, Buf: ir.Output, Count: 1}

var meet = ir.ChannelOp{Kind: ir.ChMeet, Type: ir.NoChannel}

// program has blocks on rank 0 of two, and two channels each way, all of which the first block uses at its end.
func program(blocks ...[]ir.ChannelOp) *ir.ChannelProgram {
	both := []ir.Channel{{Peer: 1}, {Peer: 1}}
	blocks[0] = append(blocks[0], on(ir.ChAwait, 0, 1))
	for b := range blocks {
		for i := range blocks[b] {
			blocks[b][i].Pos = -1
		}
	}
	p := &ir.ChannelProgram{Header: ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 4}},
		Threads: 256, Align: 16, Ranks: []ir.ChannelRank{{In: 4, Out: 4, Blocks: blocks}, {In: 4, Out: 4}}}
	p.Ranks[0].Channels[ir.MemoryChannel] = both
	return p
}

func TestChannels(t *testing.T) {
	type ops = []ir.ChannelOp
	loop := func(body ...ir.ChannelOp) ir.ChannelOp {
		return ir.ChannelOp{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: 1024, Chunks: 1, Body: body}
	}
	many := func(o ...ir.ChannelOp) (all []ops) {
		for range 109 {
			all = append(all, slices.Clone(o))
		}
		return all
	}
	barrier := ir.ChannelOp{Kind: ir.ChBarrier, Type: ir.NoChannel, Blocks: 109}
	for name, test := range map[string]struct {
		p    *ir.ChannelProgram
		want string // of codes, in order
	}{
		"nothing":                  {program(ops{puts(ir.Input, 0), meet, on(ir.ChSignal, 0, 1), meet}), ""},
		"two meets":                {program(ops{puts(ir.Input, 0), meet, meet, on(ir.ChSignal, 0)}), "lint-meet"},
		"a meet for nothing":       {program(ops{copies(0, 0), meet, copies(1, 1), meet}), "lint-meet"},
		"a meet that is needed":    {program(ops{copies(0, 0), meet, puts(ir.Output, 0)}), ""},
		"a meet of turns":          {program(ops{loop(copies(0, 0), puts(ir.Input, 1), meet)}), ""},
		"two signals":              {program(ops{puts(ir.Input, 0), meet, on(ir.ChSignal, 0), on(ir.ChSignal, 1)}), "lint-fuse"},
		"a channel twice":          {program(ops{puts(ir.Input, 0), meet, on(ir.ChSignal, 0), on(ir.ChSignal, 0)}), ""},
		"two puts":                 {program(ops{puts(ir.Input, 0), puts(ir.Input, 1)}), "lint-fuse"},
		"two puts of two buffers":  {program(ops{puts(ir.Input, 0), puts(ir.Output, 1)}), ""},
		"two gets":                 {program(ops{gets(0), gets(1)}), "lint-fuse"},
		"gets of a chunk":          {program(ops{gets(0), gets(0)}), ""},
		"a copy to itself":         {program(ops{{Kind: ir.ChMove, Type: ir.NoChannel, Srcs: []ir.ChannelRef{local(ir.Output, 0)}, Dsts: []ir.ChannelRef{local(ir.Output, 0)}}}), "lint-copy"},
		"a sum in two":             {program(ops{adds(0), meet, adds(1)}), "lint-fuse"},
		"two sums":                 {program(ops{adds(0), meet, sums()}), ""},
		"a sum, put":               {program(ops{sums(), puts(ir.Output, 0)}), "lint-fuse"},
		"a sum, and another put":   {program(ops{sums(), puts(ir.Output, 1)}), ""},
		"a signal of nothing":      {program(ops{on(ir.ChSignal, 0)}), "lint-fence"},
		"a relaxed one":            {program(ops{on(ir.ChRelaxedSignal, 0)}), ""},
		"a signal after an await":  {program(ops{on(ir.ChAwait, 0), meet, on(ir.ChSignal, 0)}), ""},
		"a block of nothing":       {program(ops{copies(0, 0)}, nil), "lint-idle"},
		"blocks of unequal work":   {program(ops{copies(0, 0)}, ops{copies(1, 1), copies(2, 2), copies(3, 3), puts(ir.Input, 0), loop(copies(0, 0))}, ops{copies(0, 0)}), "lint-idle"},
		"a group":                  {program(ops{group(copies(0, 0), 0)}, ops{group(copies(0, 0), 1)}), ""},
		"blocks that are too many": {program(many(copies(0, 0), barrier)...), "lint-resident"},
		"as many, by themselves":   {program(many(copies(0, 0))...), ""},
	} {
		var codes []string
		for _, d := range Channels(test.p) {
			if !d.Code.Warning() {
				t.Errorf("%s: %v is no warning", name, d)
			}
			codes = append(codes, string(d.Code))
		}
		if got := strings.Join(codes, " "); got != test.want {
			t.Errorf("%s: %q, and not %q", name, got, test.want)
		}
	}
}

// TestUnused lints what nothing uses, and counts what is found more than once.
func TestUnused(t *testing.T) {
	p := program([]ir.ChannelOp{copies(0, 0)})
	p.Threads = 100
	p.Ranks[1].Channels[ir.PortChannel] = []ir.Channel{{Peer: 0}, {Peer: 0}}
	p.Ranks[1].Semaphores = []int32{0}
	p.Ranks[1].Scratch = 3
	found := Channels(p)
	var texts []string
	for _, d := range found {
		texts = append(texts, d.Text)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"has channel 0 of a type, which no operation uses: it is connected all the same (and 1 more like it)", "semaphore 0", "3 chunks of scratch", "threads of a block is 100"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if len(found) != 4 || slices.ContainsFunc(found, func(d diag.Diagnostic) bool {
		return d.Code != diag.LintUnused &&
			d.Code != diag.LintThreads
	}) {
		t.Errorf("found\n%s", all)
	}
}

// TestUnusedChannels lints channels to a rank that is reached: one of them is needed, and the other end of one that is
// used.
func TestUnusedChannels(t *testing.T) {
	p := program([]ir.ChannelOp{puts(ir.Input, 0), meet, on(ir.ChSignal, 0)})
	p.Ranks[0].Blocks[0] = p.Ranks[0].Blocks[0][:3] // without the await on both
	p.Ranks[1].Channels[ir.MemoryChannel] = []ir.Channel{{Peer: 0}, {Peer: 0}}
	found := Channels(p)
	if len(found) != 1 || !strings.Contains(found[0].Text,
		"rank 0 has channel 1 of a type, which no operation uses: it is connected all the same (and 1 more like it)") {
		t.Errorf("found %v", found)
	}
}

// TestNeeded lints what no operation of a rank uses, and what the other rank needs all the same: a switch, of which all
// are members, and scratch as long as that in which the executor finds halves. A sum that the switch makes is no copy.
func TestNeeded(t *testing.T) {
	toPackets := puts(ir.Input, 0)
	toPackets.Dsts = []ir.ChannelRef{{Rank: 1, Buf: ir.Scratch, Count: 1, Packets: true}}
	store := ir.ChannelOp{Kind: ir.ChMove, Type: ir.SwitchChannel, Srcs: []ir.ChannelRef{local(ir.Input, 0)},
		Dsts: []ir.ChannelRef{everyRank}}
	sum := ir.ChannelOp{Kind: ir.ChMove, Type: ir.SwitchChannel, Srcs: []ir.ChannelRef{everyRank},
		Dsts: []ir.ChannelRef{everyRank}}
	p := program([]ir.ChannelOp{toPackets, store, sum})
	p.Ranks[1].Channels[ir.MemoryChannel] = []ir.Channel{{Peer: 0}, {Peer: 0}}
	for r := range p.Ranks {
		p.Ranks[r].Channels[ir.SwitchChannel] = []ir.Channel{{Group: []int32{0, 1}, Buf: ir.Output}}
	}
	p.Ranks[0].Scratch, p.DoubleScratch = 1, true
	if found := Channels(p); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	p.DoubleScratch = false
	if found := Channels(p); len(found) != 1 || !strings.Contains(found[0].Text, "1 chunks of scratch") {
		t.Errorf("found %v", found)
	}
}
