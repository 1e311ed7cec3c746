package mscclpp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file judges plans for ranks of several nodes. A node is here what MSCCL++ calls an IPC domain: a host, or a rack
// of NVL72. MSCCL++ gives each memory channel CUDA IPC, which ends at the node, and port channels between nodes
// InfiniBand.

// MostHostRanks is how many ranks of one host MSCCL++ has InfiniBand devices for.
const MostHostRanks = 8

// rackRanks are the sizes of nodes that are racks: NVL36 and NVL72, whose hosts have four ranks.
var rackRanks = []int{36, 72}

// FitNodes returns why MSCCL++'s executor cannot have ranks on such nodes, or nil: it divides a rank by the ranks of a
// node. node is the node of each rank, from 0, or nil for one node.
func FitNodes(node []int32) *diag.Diagnostic {
	if !over(node) {
		return nil
	}
	bad := func(hint, format string, args ...any) *diag.Diagnostic {
		d := diag.New(diag.AcrossNodes, diag.Span{}, format, args...).WithHint("%s", hint)
		return &d
	}
	size := slices.IndexFunc(node, func(n int32) bool { return n != node[0] })
	for r, n := range node {
		if n != int32(r/size) || r == len(node)-1 && len(node)%size != 0 {
			return bad("give --nodes N, for N nodes that have equally many ranks each",
				"MSCCL++ takes nodes of equally many consecutive ranks, and rank %d is not of such a node", r)
		}
	}
	if size > MostHostRanks && !slices.Contains(rackRanks, size) {
		return bad("compile for more nodes, or for fewer ranks a node",
			"nodes have %d ranks: MSCCL++ has InfiniBand for %d ranks of a host, and racks have 36 or 72", size, MostHostRanks)
	}
	return nil
}

// over reports whether ranks are of several nodes.
func over(node []int32) bool {
	return slices.ContainsFunc(node, func(n int32) bool { return n != node[0] })
}

// CheckNodes returns what of p cannot work where ranks are of several nodes: between nodes are ports, which only write.
// node is as in FitNodes. f is the plan that p was read of, or nil.
func CheckNodes(p *ir.ChannelProgram, f *Plan, node []int32) diag.List {
	if d := FitNodes(node); d != nil {
		return diag.List{*d}
	}
	if !over(node) {
		return nil
	}
	c := nodeChecker{p: p, f: f, node: node}
	for r := range p.Ranks {
		c.rank = r
		c.channels()
		for b, ops := range p.Ranks[r].Blocks {
			for i := range ops {
				for _, o := range append([]ir.ChannelOp{ops[i]}, ops[i].Body...) {
					c.operation(b, i, &o)
				}
			}
		}
	}
	return c.found.FoldRanks()
}

// A nodeChecker finds what leaves a node other than through ports.
type nodeChecker struct {
	p     *ir.ChannelProgram
	f     *Plan
	node  []int32
	rank  int
	found diag.List
}

// hintPorts says what to do about a memory channel between nodes.
const hintPorts = "between nodes use port channels, which put: compile with --nodes, or give the ranks that share memory one node"

func (c *nodeChecker) say(span diag.Span, block, step int, format string, args ...any) {
	if len(c.found) >= diag.MaxUnfolded {
		return
	}
	d := diag.New(diag.AcrossNodes, span, format, args...).WithHint(hintPorts)
	d.Rank, d.Block, d.Step = c.rank, block, step
	c.found = append(c.found, d)
}

func (c *nodeChecker) away(rank int32) bool { return c.node[rank] != c.node[c.rank] }

// channels looks at the channels of the rank and, of a plan, at the memory of others that it opens, used or not. It
// says one thing of all that are alike.
func (c *nodeChecker) channels() {
	k := &c.p.Ranks[c.rank]
	links := k.Channels[ir.MemoryChannel]
	if i, more := firstOf(len(links), func(i int) bool { return c.away(links[i].Peer) }); i >= 0 {
		c.say(c.madeAt(ir.MemoryChannel, i), -1, -1,
			"rank %d has memory channel %d to rank %d, which is of another node: CUDA IPC ends there%s", c.rank, i,
			links[i].Peer, more)
	}
	switches := k.Channels[ir.SwitchChannel]
	if i, more := firstOf(len(switches), func(i int) bool {
		return slices.ContainsFunc(switches[i].Group, c.away)
	}); i >= 0 {
		group := switches[i].Group
		c.say(c.madeAt(ir.SwitchChannel, i), -1, -1,
			"rank %d has switch channel %d with rank %d, which is of another node: the switch ends there%s", c.rank, i,
			group[slices.IndexFunc(group, c.away)], more)
	}
	if c.f == nil {
		return
	}
	opens := c.f.GPUs[c.rank].Remote
	if i, more := firstOf(len(opens), func(i int) bool {
		return slices.Contains(opens[i].Access, ir.MemoryChannel.String()) && c.away(opens[i].Rank)
	}); i >= 0 {
		c.say(c.f.span(opens[i].At), -1, -1,
			"rank %d opens remote buffer %d as memory, of rank %d, which is of another node: CUDA IPC ends there%s", c.rank,
			i, opens[i].Rank, more)
	}
}

// firstOf returns the first of n that is so, or -1, and a text that counts the others.
func firstOf(n int, is func(i int) bool) (first int, more string) {
	first, others := -1, 0
	for i := range n {
		switch {
		case !is(i):
		case first < 0:
			first = i
		default:
			others++
		}
	}
	if others > 0 {
		more = fmt.Sprintf(" (and %d more like it)", others)
	}
	return first, more
}

// madeAt returns where a plan lists channel i of a type of the rank. Of an algorithm it returns where the rank first
// uses the channel, or the file.
func (c *nodeChecker) madeAt(t ir.ChannelType, i int) diag.Span {
	if c.f != nil {
		for k := range c.f.GPUs[c.rank].Channels {
			list := &c.f.GPUs[c.rank].Channels[k]
			if n := len(list.Peers) + len(list.Groups); list.Type != channelTypeNames[t] {
				continue
			} else if i < n {
				return c.f.span(list.At)
			} else {
				i -= n
			}
		}
	}
	uses := func(o *ir.ChannelOp) bool { return o.Type == t && slices.Contains(o.Channels, int32(i)) }
	for _, ops := range c.p.Ranks[c.rank].Blocks {
		for k := range ops {
			if at := slices.IndexFunc(ops[k].Body, func(o ir.ChannelOp) bool { return uses(&o) }); at >= 0 {
				return c.p.Place(ops[k].Body[at].Pos)
			} else if uses(&ops[k]) {
				return c.p.Place(ops[k].Pos)
			}
		}
	}
	return c.p.Place(-1)
}

// operation looks at an operation's operands.
func (c *nodeChecker) operation(block, step int, o *ir.ChannelOp) {
	for k, list := range [][]ir.ChannelRef{o.Srcs, o.Dsts} {
		for i := range list {
			x := &list[i]
			if x.Rank < 0 || !c.away(x.Rank) || k == 1 && o.Type == ir.PortChannel {
				continue
			}
			does := "reads"
			if k == 1 {
				does = "writes"
			}
			c.say(c.p.Span(o.Pos), block, step, "%s %s memory of rank %d, which is of another node", opText{c.p, o, c.rank}, does, x.Rank)
		}
	}
}

// MemoryGroups returns the groups of ranks that memory channels and switch channels of p join, in the order of their
// first ranks. Ranks of one group must share memory.
func MemoryGroups(p *ir.ChannelProgram) (groups [][]int) {
	of := make([]int, len(p.Ranks))
	for r := range of {
		of[r] = r
	}
	first := func(r int) int {
		for of[r] != r {
			of[r] = of[of[r]]
			r = of[r]
		}
		return r
	}
	join := func(a, b int) {
		a, b = first(a), first(b)
		of[max(a, b)] = min(a, b)
	}
	for r := range p.Ranks {
		for _, ch := range p.Ranks[r].Channels[ir.MemoryChannel] {
			join(r, int(ch.Peer))
		}
		for _, ch := range p.Ranks[r].Channels[ir.SwitchChannel] {
			for _, peer := range ch.Group {
				join(r, int(peer))
			}
		}
	}
	at := make([]int, len(of)) // by first rank: 1 + its group
	for r := range of {
		k := first(r)
		if at[k] == 0 {
			groups = append(groups, nil)
			at[k] = len(groups)
		}
		groups[at[k]-1] = append(groups[at[k]-1], r)
	}
	return groups
}

// GroupsText says which ranks memory channels join: "memory channels join ranks 0 to 7, and 8 to 15". It is "" where
// they join none.
func GroupsText(p *ir.ChannelProgram) string {
	var texts []string
	for _, g := range MemoryGroups(p) {
		switch text := runsText(g); {
		case len(g) == 1:
		case len(texts) == mostGroups:
			texts = append(texts, "others")
		case len(texts) < mostGroups:
			texts = append(texts, text)
		}
	}
	switch n := len(texts); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("memory channels join ranks %s: they must share memory", texts[0])
	default:
		return fmt.Sprintf("memory channels join ranks %s, and %s: each group must share memory",
			strings.Join(texts[:n-1], "; "), texts[n-1])
	}
}

// mostGroups is how many groups GroupsText names.
const mostGroups = 8

// runsText writes numbers that rise as runs: "0 to 3, 8".
func runsText(list []int) string {
	var runs []string
	for i := 0; i < len(list); {
		end := i + 1
		for end < len(list) && list[end] == list[end-1]+1 {
			end++
		}
		text := strconv.Itoa(list[i])
		if end-i > 1 {
			text += " to " + strconv.Itoa(list[end-1])
		}
		runs = append(runs, text)
		i = end
	}
	if len(runs) > mostGroups {
		runs = append(runs[:mostGroups], "others")
	}
	return strings.Join(runs, ", ")
}
