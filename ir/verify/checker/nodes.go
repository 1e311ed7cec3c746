package checker

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file is what a program over several nodes may have, in whatever order it runs.

// AcrossHint says which programs keep to the rule.
const AcrossHint = "an algorithm in chunks keeps to the rule if it is compiled with --sided lowered, or with --sided " +
	"one and --nodes"

// Across checks what does not depend on order: that ranks of different nodes have nothing but scratch and flags in
// common. It forgets the nodes if there is one.
func (c *Checker) Across() bool {
	node := c.Opt.Nodes
	if node == nil || c.P.Coll == nil {
		return true
	}
	if len(node) != c.P.Coll.Ranks {
		c.at(place{-1, -1, -1}, diag.AcrossNodes, -1, "nodes are given for %d ranks, and the program has %d", len(node),
			c.P.Coll.Ranks)
		return false
	}
	if oneNode(node) {
		c.Opt.Nodes = nil
		return true
	}
	if c.P.OneSided == nil {
		d := c.at(place{-1, -1, -1}, diag.AcrossNodes, -1,
			"the program is two-sided, and its connections are memory of one node: it cannot run over several")
		*d = d.WithHint(AcrossHint)
		return false
	}
	var found diag.List
	for i := int32(0); int(i) < len(c.P.Steps) && len(found) < diag.MaxUnfolded; i++ {
		if why := c.leaves(i); why != "" {
			d := c.Problem(c.Place(i), diag.AcrossNodes, c.P.Steps[i].Pos, "%s %s", c.Name(i), why)
			found = append(found, d.WithHint(AcrossHint))
		}
	}
	c.Folded(found)
	return len(c.List) == 0
}

// Unported says how step i reaches memory of another node without a port, or "".
func (c *Checker) Unported(i int32) string {
	s := &c.P.Steps[i]
	if !s.Op.Moves() {
		return ""
	}
	own, _, _ := c.P.Place(i)
	for k, x := range c.P.OneSided.OperandsOf(s) {
		does := "writes"
		switch {
		case x.Rank == ir.AllRanks:
			return switchEnds
		case c.Opt.Nodes[x.Rank] == c.Opt.Nodes[own] || x.Via == ir.ViaPort:
			continue
		case k < int(s.NSrc):
			does = "reads"
		}
		return fmt.Sprintf("%s %s of rank %d, which is of another node, as memory", does,
			c.P.ChunkName(x.Buf, int(x.Index)), x.Rank)
	}
	return ""
}

// switchEnds says why a step with the switch is none across nodes.
const switchEnds = "uses the switch, which joins the ranks of one node only"

// oneNode reports whether all ranks are of one node.
func oneNode(node []int32) bool {
	for _, n := range node {
		if n != node[0] {
			return false
		}
	}
	return true
}

// leaves says how step i reaches memory of another node in a way that no message can, or "".
func (c *Checker) leaves(i int32) string {
	s := &c.P.Steps[i]
	own, _, _ := c.P.Place(i)
	for k, x := range c.P.OneSided.OperandsOf(s) {
		if x.Rank != ir.AllRanks && c.Opt.Nodes[x.Rank] == c.Opt.Nodes[own] {
			continue
		}
		where := func() string { return fmt.Sprintf("rank %d, which is of another node", x.Rank) }
		switch {
		case x.Rank == ir.AllRanks:
			return switchEnds
		case s.Flags&ir.Loose != 0: // who else copies by a port waits for it before it signals
			return "is of a block that no launch waits for, and uses " + where()
		case !s.Op.Moves():
		case k < int(s.NSrc):
			return fmt.Sprintf("reads %s of %s: data comes from there by writes to scratch only",
				c.P.ChunkName(x.Buf, int(x.Index)), where())
		case x.Buf != ir.Scratch:
			return fmt.Sprintf("writes %s of %s: data goes there through scratch only",
				c.P.ChunkName(x.Buf, int(x.Index)), where())
		}
	}
	return ""
}
