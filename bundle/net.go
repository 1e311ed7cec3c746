package bundle

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/bundle/limits"
	"mscclc/executor/abi"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// This file is programs of ranks on several nodes. Their tables name inboxes, which are what ranks of other nodes
// write, and a section of their own says what they send there (executor/abi/net.go).

// A Net is what a program sends between nodes. Inbox is the chunks of scratch that the inbox of a rank has at most.
type Net struct {
	Inbox    int
	Messages []abi.NetMessage
	Segments []abi.NetSegment
}

// NodesOf returns the node of each of a given number of ranks, where text says how they lie on nodes: a number of nodes
// with equally many ranks, or the ranks of each. It is nil for one node, and for "". ok is false where text says none.
func NodesOf(text string, ranks int) (node []int32, ok bool) {
	if text == "" {
		return nil, true
	}
	sizes, ok := choose.NodeSizes(text)
	if !ok {
		return nil, false
	}
	node, ok = choose.NodesBySize(sizes, ranks)
	if !ok || node[ranks-1] == 0 {
		return nil, ok
	}
	return node, true
}

// spread reports whether r is for several nodes on which its ranks lie.
func (r *Rule) spread() bool {
	node, ok := NodesOf(r.Nodes, r.Ranks)
	return ok && node != nil
}

// layout returns how the ranks of r lie on nodes, in one way for each: the ranks of each node, or "" for one node.
func (r *Rule) layout() string {
	node, _ := NodesOf(r.Nodes, r.Ranks)
	return choose.NodesText(node)
}

// layouts returns how n ranks lie on nodes, one node first, and then as rules say.
func (b *builder) layouts(n int) []string {
	list := []string{""}
	for i := range b.Rules {
		if r := &b.Rules[i]; r.Ranks == n {
			list = append(list, r.layout())
		}
	}
	return sorted(list)
}

// node returns the node of each rank of a program, or nil for one node.
func (k *programKey) node() []int32 {
	node, _ := NodesOf(k.nodes, k.ranks)
	return node
}

// equalNodes returns how many nodes the ranks of a program are on, which asks for nodes with equally many GPUs.
func (k *programKey) equalNodes(from *choose.Own) (int, error) {
	node := k.node()
	if node == nil {
		return 1, nil
	}
	nodes := int(node[k.ranks-1]) + 1
	if k.ranks%nodes == 0 {
		if even, _ := choose.NodesBySize([]int{nodes}, k.ranks); slices.Equal(even, node) {
			return nodes, nil
		}
	}
	return 0, diag.List{diag.New(diag.AcrossNodes, diag.FileSpan(from.File),
		"%s asks for nodes with equally many GPUs, and its ranks lie on nodes of %s", k.Program, k.nodes).
		WithHint("take a program whose parameter is ranks, or equal nodes")}
}

// Nodes has the ranks of each node, as NodesOf reads it, or "" for one node.
func (s *Set) Nodes() string { return choose.NodesText(s.Node) }

// Title names a set as SetTitle does.
func (s *Set) Title() string { return SetTitle(s.Ranks, s.Nodes(), s.bits()) }

// bits is what SetInfo has.
func (s *Set) bits() string {
	if s.Invariant {
		return selection.Invariant
	}
	return ""
}

// SetTitle names a set: as RanksText does, and the bits of its sums, where these are invariant.
func SetTitle(ranks int, nodes, bits string) string {
	if bits != "" {
		return RanksText(ranks, nodes) + ", " + bits + " bits"
	}
	return RanksText(ranks, nodes)
}

// RanksText says how many ranks there are, and how they lie on nodes: 4 ranks, or 4 ranks on nodes of 2,2.
func RanksText(ranks int, nodes string) string {
	if nodes == "" {
		return fmt.Sprintf("%d ranks", ranks)
	}
	return fmt.Sprintf("%d ranks on nodes of %s", ranks, nodes)
}

// nodes returns what programs of a set have as ProgramRow.Nodes.
func (s *Set) nodes() uint32 {
	if s.Node == nil {
		return 0
	}
	return uint32(s.Node[s.Ranks-1]) + 1
}

// numberOf returns the number of a set's section: its ranks, and 1<<16 for each set before it for as many.
func (b *Bundle) numberOf(i int) int {
	number := b.Sets[i].Ranks
	for k := i; k > 0 && b.Sets[k-1].Ranks == number&0xffff; k-- {
		number += 1 << 16
	}
	return number
}

// inOrder reports whether a set follows the one before it: by ranks, one node first, and of these the one for invariant
// bits last.
func (b *Bundle) inOrder(i int) bool {
	s := &b.Sets[i]
	if i == 0 || b.Sets[i-1].Ranks != s.Ranks {
		return s.Node == nil && !s.Invariant && (i == 0 || b.Sets[i-1].Ranks < s.Ranks)
	}
	before := &b.Sets[i-1]
	if s.Invariant {
		return s.Node == nil && before.Node == nil && !before.Invariant
	}
	return before.Nodes() < s.Nodes()
}

// setNode reads the nodes of a set from its row.
func (s *Set) setNode(of [limits.Ranks]uint8) error {
	var node []int32
	last := uint8(0)
	for r, n := range of {
		if r >= s.Ranks && n != 0 || r < s.Ranks && n != last && (r == 0 || n != last+1) {
			return fmt.Errorf("no ranks lie on nodes as %v", of)
		}
		if r < s.Ranks {
			node, last = append(node, int32(n)), n
		}
	}
	if last > 0 {
		s.Node = node
	}
	return nil
}

func (n *Net) encode() []byte {
	row := netRow{Inbox: uint32(n.Inbox), Messages: uint32(len(n.Messages)), Segments: uint32(len(n.Segments))}
	return put(put(put(nil, row), n.Messages), n.Segments)
}

// decodeNet reads what a program sends between nodes, and checks its numbers.
func (b *Bundle) decodeNet(p part) error {
	if int64(p.number) >= int64(len(b.Programs)) || b.Programs[p.number].Nodes == 0 || b.Programs[p.number].Net != nil {
		return fmt.Errorf("program %d sends nothing between nodes, or has said what", p.number)
	}
	to := b.Programs[p.number]
	r, err := row[netRow](p.bytes)
	if err != nil {
		return err
	}
	if err := r.check(to.Scratch); err != nil {
		return err
	}
	n, at := &Net{Inbox: int(r.Inbox)}, uint64(binary.Size(r))
	if n.Messages, err = rows[abi.NetMessage](p.bytes, at, r.Messages); err != nil {
		return err
	}
	at += uint64(r.Messages) * uint64(binary.Size(abi.NetMessage{}))
	if n.Segments, err = rows[abi.NetSegment](p.bytes, at, r.Segments); err != nil {
		return err
	}
	to.Net = n
	return nil
}

// checkNet refuses messages of what does not exist, or within a node. node has the node of each rank.
func (p *Program) checkNet(node []int32) error {
	n, blocks, next := p.Net, p.blocks(), uint32(0)
	for i, m := range n.Messages {
		if m.Block >= p.Blocks || m.Rank >= p.Ranks || node[blocks[m.Block].Rank] == node[m.Rank] ||
			m.Operand >= blocks[m.Block].Operands || m.First != next ||
			uint64(m.First)+uint64(m.Segments) > uint64(len(n.Segments)) {
			return fmt.Errorf("message %d is of a block, an operand or segments that there are not", i)
		}
		if next = m.First + m.Segments; i > 0 && compareMessages(n.Messages[i-1], m) >= 0 {
			return fmt.Errorf("message %d is not in order", i)
		}
	}
	for i, s := range n.Segments {
		if s.Count == 0 || uint64(s.Index)+uint64(s.Count) > uint64(n.Inbox) || s.FirstClass >= p.Chunks {
			return fmt.Errorf("segment %d is of chunks that there are not", i)
		}
	}
	if next != uint32(len(n.Segments)) {
		return fmt.Errorf("%d segments are of no message", uint32(len(n.Segments))-next)
	}
	return nil
}

func compareMessages(a, b abi.NetMessage) int {
	return cmp.Or(cmp.Compare(a.Block, b.Block), cmp.Compare(a.Operand, b.Operand))
}

// blocks returns the blocks of all ranks, by their numbers.
func (p *Program) blocks() []abi.OneBlock {
	list := make([]abi.OneBlock, p.Blocks)
	for i := range p.Parts {
		for _, b := range p.Parts[i].Blocks {
			list[b.Number] = b
		}
	}
	return list
}

// pinned returns the bytes of memory of the host that a program takes for the rank that needs most: its inbox, a mirror
// of each inbox of another node that it writes, and a lane for each replica of a block.
func (p *Program) pinned() (most uint64) {
	if p.Net == nil {
		return 0
	}
	tables := p.tables()
	l, err := tables.Layout()
	if err != nil {
		return limits.Pinned + 1
	}
	blocks, writes, signalled := p.blocks(), make([][]uint32, p.Ranks), make([]bool, p.Ranks)
	for _, m := range p.Net.Messages {
		signalled[m.Rank] = true
		if from := blocks[m.Block].Rank; m.Segments > 0 && !slices.Contains(writes[from], m.Rank) {
			writes[from] = append(writes[from], m.Rank)
		}
	}
	scratch := uint64(p.Net.Inbox) * l.ScratchStride * uint64(p.Replicas) * uint64(p.Depth)
	for r := range p.Parts {
		need := uint64(len(p.Parts[r].Blocks)) * uint64(p.Replicas) * uint64(binary.Size(abi.NetLane{}))
		need += uint64(len(writes[r])) * scratch
		if signalled[r] {
			need += scratch + l.FlagMem
		}
		most = max(most, need)
	}
	return most
}

// deliver has the tables of p name inboxes, and returns what its ranks send to other nodes.
func deliver(img *abi.Image, node []int32, parts []abi.OnePart) (*Net, error) {
	of := make([]int, len(node))
	for r, n := range node {
		of[r] = int(n)
	}
	table, err := img.Net(of)
	if err != nil {
		return nil, err
	}
	for i := range parts {
		parts[i].Deliver(&table.Inboxes)
	}
	return &Net{Inbox: table.Inboxes.Chunks, Messages: table.Messages, Segments: table.Segments}, nil
}
