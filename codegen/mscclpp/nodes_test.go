package mscclpp

import (
	"path/filepath"
	"strings"
	"testing"

	"mscclc/ir"
)

// nodes returns n nodes of a given number of ranks.
func nodes(n, size int) []int32 {
	var node []int32
	for r := range n * size {
		node = append(node, int32(r/size))
	}
	return node
}

// TestFitNodes: nodes are equal blocks of consecutive ranks, of up to 8 ranks or a rack's.
func TestFitNodes(t *testing.T) {
	for _, c := range []struct {
		node []int32
		bad  string
	}{
		{nil, ""}, {nodes(1, 24), ""}, {nodes(2, 8), ""}, {nodes(16, 1), ""}, {nodes(2, 72), ""}, {nodes(3, 36), ""},
		{nodes(2, 9), "for 8 ranks of a host"}, {nodes(2, 16), "for 8 ranks of a host"}, {nodes(2, 144), "for 8 ranks"},
		{[]int32{0, 0, 0, 1}, "rank 3 is not of such a node"}, {[]int32{0, 1, 1}, "rank 2 is not"},
		{[]int32{0, 0, 1, 1, 2}, "is not of such a node"}, {[]int32{0, 1, 0, 1}, "rank 2 is not"},
		{[]int32{1, 1, 0, 0}, "rank 0 is not"}, {[]int32{0, 0, 2, 2}, "rank 2 is not"},
	} {
		d := FitNodes(c.node)
		if (d != nil) != (c.bad != "") || d != nil && !strings.Contains(d.Text, c.bad) {
			t.Errorf("%v: %v, want %q", c.node, d, c.bad)
		}
	}
}

// ported returns two nodes of two ranks. Ranks of a node share memory, and each puts to one of the other node.
func ported() *ir.ChannelProgram {
	p := &ir.ChannelProgram{Header: ir.Header{Name: "nodes", Coll: &ir.Collective{Kind: ir.AllToAll, Ranks: 4, Chunks: 1}},
		Ranks: make([]ir.ChannelRank, 4), Threads: 1024, Align: 16}
	for r := range int32(4) {
		k := &p.Ranks[r]
		k.In, k.Out = 4, 4
		k.Channels[ir.MemoryChannel] = []ir.Channel{{Peer: r ^ 1}}
		k.Channels[ir.PortChannel] = []ir.Channel{{Peer: r ^ 2}}
		put := func(t ir.ChannelType, peer int32) ir.ChannelOp {
			return ir.ChannelOp{Kind: ir.ChEach, Type: t, Channels: []int32{0},
				Srcs: []ir.ChannelRef{{Rank: r, Buf: ir.Input, Count: 1}},
				Dsts: []ir.ChannelRef{{Rank: peer, Buf: ir.Output, Count: 1}}}
		}
		k.Blocks = [][]ir.ChannelOp{{put(ir.MemoryChannel, r^1), put(ir.PortChannel, r^2)}}
	}
	return p
}

// TestCheckNodes: what leaves a node through ports is accepted, and nothing else, used or not.
func TestCheckNodes(t *testing.T) {
	two := nodes(2, 2)
	if found := CheckNodes(ported(), nil, two); len(found) > 0 {
		t.Errorf("%v", found)
	}
	for _, c := range []struct {
		name, text string
		change     func(p *ir.ChannelProgram)
	}{
		{"a memory channel that nobody uses", "rank 1 has memory channel 1 to rank 2, which is of another node: CUDA IPC ends there", func(p *ir.ChannelProgram) {
			c := &p.Ranks[1].Channels[ir.MemoryChannel]
			*c = append(*c, ir.Channel{Peer: 2})
		}},
		{"a switch", "rank 0 has switch channel 0 with rank 2", func(p *ir.ChannelProgram) {
			p.Ranks[0].Channels[ir.SwitchChannel] = []ir.Channel{{Group: []int32{0, 1, 2, 3}, Buf: ir.Output}}
		}},
		{"a write", "writes memory of rank 2", func(p *ir.ChannelProgram) {
			p.Ranks[0].Blocks[0][1].Type = ir.MemoryChannel
		}},
		{"a read", "reads memory of rank 3", func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[0][0].Srcs[0].Rank = 3 }},
		{"a read through a port", "reads memory of rank 2", func(p *ir.ChannelProgram) { p.Ranks[0].Blocks[0][1].Srcs[0].Rank = 2 }},
		{"a read in a loop", "reads memory of rank 3", func(p *ir.ChannelProgram) {
			o := p.Ranks[0].Blocks[0][0]
			o.Srcs[0].Rank = 3
			p.Ranks[0].Blocks[0][0] = ir.ChannelOp{Kind: ir.ChLoop, Type: ir.NoChannel, Unit: 64, Chunks: 1,
				Body: []ir.ChannelOp{o}}
		}},
	} {
		p := ported()
		c.change(p)
		found := CheckNodes(p, nil, two)
		if len(found) == 0 || !strings.Contains(found[0].Text, c.text) {
			t.Errorf("%s: %v", c.name, found)
		}
		if found := CheckNodes(p, nil, nodes(1, 4)); len(found) > 0 {
			t.Errorf("%s, on one node: %v", c.name, found)
		}
	}
}

// TestCheckNodesOfPlans: a plan that opens memory of another node is refused, though no operation uses it.
func TestCheckNodesOfPlans(t *testing.T) {
	_, f, p := readPlanFile(t, filepath.Join("..", "..", "testdata", "own", "mscclpp-plans", "packed_by_others.json"))
	node := []int32{0, 1}
	if found := CheckNodes(p, f, node); len(found) > 0 {
		t.Errorf("%v", found)
	}
	if text := GroupsText(p); text != "" {
		t.Error(text)
	}
	f.GPUs[0].Remote[0].Access = []string{"memory", "port"}
	if found := CheckNodes(p, f, node); len(found) != 1 || !strings.Contains(found[0].Text, "opens remote buffer 0 as memory, of rank 1") {
		t.Errorf("%v", found)
	}
}

// TestGroupsText: the groups of ranks that memory channels join.
func TestGroupsText(t *testing.T) {
	p := ported()
	if text, want := GroupsText(p), "memory channels join ranks 0 to 1, and 2 to 3: each group must share memory"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	p.Ranks[1].Channels[ir.SwitchChannel] = []ir.Channel{{Group: []int32{1, 3}}}
	if text, want := GroupsText(p), "memory channels join ranks 0 to 3: they must share memory"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if text := runsText([]int{0, 1, 2, 5, 7, 8}); text != "0 to 2, 5, 7 to 8" {
		t.Error(text)
	}
}
