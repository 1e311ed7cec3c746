package choose

import (
	"slices"
	"strconv"
	"strings"

	"mscclc/simulate/devices"
	"mscclc/topology"
)

// This file is calls on several nodes, which mscclc's executor runs. Their programs are compiled for the nodes that the
// ranks are on: packets stay within a node.

// OnNodes returns Call.On and Call.Nodes for ranks on these nodes: a number from 0 for each rank. On is empty for one
// node.
func OnNodes[N int | int32](node []N) (on string, nodes int) {
	for _, n := range node {
		nodes = max(nodes, int(n)+1)
	}
	if nodes < 2 {
		return "", nodes
	}
	words := make([]string, len(node))
	for r, n := range node {
		words[r] = strconv.Itoa(int(n))
	}
	return strings.Join(words, ","), nodes
}

// mostNodes bounds what NodeSizes takes.
const mostNodes = 1 << 16

// NodeSizes reads how ranks lie on nodes, as --nodes and rules of bundles have it: a number of nodes with equally many
// ranks, or the ranks of each node, with commas. ok is false where text is neither.
func NodeSizes(text string) (sizes []int, ok bool) {
	for part := range strings.SplitSeq(text, ",") {
		k, err := strconv.Atoi(part)
		if err != nil || k < 1 || k > mostNodes || len(sizes) == mostNodes {
			return nil, false
		}
		sizes = append(sizes, k)
	}
	return sizes, true
}

// NodesBySize returns the node of each of a given number of ranks, from 0, where sizes are of NodeSizes: the first
// ranks are of the first node. ok is false where sizes do not have these ranks.
func NodesBySize(sizes []int, ranks int) (node []int32, ok bool) {
	if len(sizes) == 1 && ranks%sizes[0] == 0 {
		sizes = slices.Repeat([]int{ranks / sizes[0]}, sizes[0])
	}
	node = make([]int32, 0, ranks)
	for k, size := range sizes {
		for range min(size, ranks+1-len(node)) {
			node = append(node, int32(k))
		}
	}
	return node, len(node) == ranks
}

// NodesText returns the ranks of each node, as NodeSizes reads them, or "" for one node. node is the node of each rank,
// from 0.
func NodesText[N int | int32](node []N) string {
	var sizes []int
	for _, n := range node {
		for int(n) >= len(sizes) {
			sizes = append(sizes, 0)
		}
		sizes[n]++
	}
	if len(sizes) < 2 {
		return ""
	}
	words := make([]string, len(sizes))
	for i, n := range sizes {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// ReadOn reads what OnNodes writes. ok is false for another text.
func ReadOn(text string) (node []int32, ok bool) {
	seen := int32(0)
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 0 || n > int(seen) || len(node) == MostRanks || strconv.Itoa(n) != word {
			return nil, false
		}
		seen = max(seen, int32(n)+1)
		node = append(node, int32(n))
	}
	return node, seen > 1
}

// InBlocks is Call.On of a given number of ranks that lie in blocks on a given number of nodes, as equal as can be.
func InBlocks(ranks, nodes int) string {
	each, node := (ranks+max(nodes, 1)-1)/max(nodes, 1), make([]int, ranks)
	for r := range node {
		node[r] = r / each
	}
	on, _ := OnNodes(node)
	return on
}

// on reads On.
func (c Call) on() []int32 {
	if c.On == "" {
		return nil
	}
	var node []int32
	for word := range strings.SplitSeq(c.On, ",") {
		n, _ := strconv.Atoi(word) // OnNodes has written it
		node = append(node, int32(n))
	}
	return node
}

// nodeOf is mscclc.Options.Nodes for programs of a call.
func (c Call) nodeOf() func(ranks int) ([]int32, error) {
	node := c.on()
	if node == nil {
		return nil
	}
	return func(int) ([]int32, error) { return node, nil }
}

// blocks reports whether all nodes have equally many ranks, those of the first node first. Programs that take numbers
// of nodes and GPUs are for such calls.
func (c Call) blocks() bool {
	node := c.on()
	if node == nil {
		return true
	}
	return len(node)%c.Nodes == 0 && slices.IsSorted(node) && !slices.ContainsFunc(node, func(n int32) bool {
		first := int(n) * (len(node) / c.Nodes)
		return first >= len(node) || node[first] != n || first > 0 && node[first-1] == n
	})
}

// unlike is On where the ranks lie otherwise than in equal blocks, as entries of tables have it.
func (c Call) unlike() string {
	if c.blocks() {
		return ""
	}
	return c.On
}

// inBlocks returns the call as it is simulated: with ranks that lie in blocks, as equal as can be, as topologies have
// them.
func (c Call) inBlocks() Call {
	if !c.blocks() {
		c.On = InBlocks(c.Ranks, c.Nodes)
		c.Nodes = int(slices.Max(c.on())) + 1
	}
	return c
}

// perNode returns how many ranks a node has at most, in blocks.
func (c Call) perNode() int { return (c.Ranks + c.Nodes - 1) / c.Nodes }

// machine returns what the call is simulated on.
func (c Call) machine(device string) (*topology.Topology, *devices.Costs, error) {
	if c.On == "" {
		return Machine(device, c.Ranks)
	}
	return machine(device, c.inBlocks().Nodes, c.perNode())
}
