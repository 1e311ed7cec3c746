package verify

import (
	"fmt"
	"maps"
	"sort"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/form"
)

// This file is what a proof over several nodes asks beside: that data of another node has arrived (see "Several nodes"
// in doc.go).

// unsentHint says it of data that no signal sends: the compiler has none for a copy that nobody reads.
const unsentHint = "if nobody reads that, compile the program with --nodes, which leaves the copy out; else " +
	acrossHint

// acrossHint says which programs keep to the rule.
const acrossHint = "an algorithm in chunks keeps to the rule if it is compiled with --sided lowered, or with --sided " +
	"one and --nodes"

// AcrossNodes judges the part of a proof that depends on nodes, of a program that is proven without them: node has the
// node of each rank. An empty list means that p keeps to the rule, also where all ranks are of one node. Other problems
// of p may be listed too. p may be two-sided, and is then refused, unless there is one node.
func AcrossNodes(p *ir.Program, node []int32) diag.List {
	c := &checker{p: p, opt: Options{Nodes: node}}
	c.budgets()
	if c.List = form.Check(p, c.bounds()); len(c.List) > 0 || !c.across() || c.opt.Nodes == nil {
		return decided(c.Done())
	}
	o := c.newOneSided()
	if order := o.schedule(); order != nil && o.cut(order) {
		r := o.newRacer()
		if r.passes(); r.stopped {
			o.tooMuch()
		}
		c.sends()
	}
	return decided(c.Done())
}

// across checks what does not depend on order: that ranks of different nodes have nothing but scratch and flags in
// common. It forgets the nodes if there is one.
func (c *checker) across() bool {
	node := c.opt.Nodes
	if node == nil || c.p.Coll == nil {
		return true
	}
	if len(node) != c.p.Coll.Ranks {
		c.at(place{-1, -1, -1}, diag.AcrossNodes, -1, "nodes are given for %d ranks, and the program has %d", len(node),
			c.p.Coll.Ranks)
		return false
	}
	if oneNode(node) {
		c.opt.Nodes = nil
		return true
	}
	if c.p.OneSided == nil {
		d := c.at(place{-1, -1, -1}, diag.AcrossNodes, -1,
			"the program is two-sided, and its connections are memory of one node: it cannot run over several")
		*d = d.WithHint(acrossHint)
		return false
	}
	var found diag.List
	for i := int32(0); int(i) < len(c.p.Steps) && len(found) < diag.MaxUnfolded; i++ {
		if why := c.leaves(i); why != "" {
			d := c.problem(c.place(i), diag.AcrossNodes, c.p.Steps[i].Pos, "%s %s", c.name(i), why)
			found = append(found, d.WithHint(acrossHint))
		}
	}
	c.folded(found)
	return len(c.List) == 0
}

// sends reports of each block what it moves to other nodes and never sends there, where nothing else was found.
func (c *checker) sends() {
	if c.opt.Nodes == nil || len(c.List) > 0 {
		return
	}
	var found diag.List
	for b := 0; b < len(c.p.Blocks) && len(found) < diag.MaxUnfolded; b++ {
		if d := c.unsent(int32(b)); d != nil {
			found = append(found, *d)
		}
	}
	c.folded(found)
}

// unsent returns a problem of the first Move of block b to another node that no Signal sends, or nil: none of a later
// group of its block to that rank carries.
func (c *checker) unsent(b int32) *diag.Diagnostic {
	t := &c.p.Blocks[b]
	later, now := map[int32]bool{}, map[int32]bool{} // ranks that groups behind this one tell; and this one
	for i := t.Steps.End - 1; i >= t.Steps.First; i-- {
		s := &c.p.Steps[i]
		sends := s.Op == ir.Signal && carries(s, c.absent(ir.Enter|ir.Leave))
		for _, x := range c.p.OneSided.Dests(s) {
			switch {
			case sends:
				now[x.Rank] = true
			case s.Op == ir.Move && x.Rank != ir.AllRanks && c.opt.Nodes[x.Rank] != c.opt.Nodes[t.Rank] && !later[x.Rank]:
				d := c.problem(c.place(i), diag.AcrossNodes, s.Pos, "%s writes %s of rank %d, which is of another node, and "+
					"no signal of its block to that rank, behind it in each tile iteration, sends that", c.name(i),
					c.p.ChunkName(x.Buf, int(x.Index)), x.Rank).WithHint(unsentHint)
				return &d
			}
		}
		if s.Flags&ir.Joint == 0 {
			maps.Copy(later, now)
			clear(now)
		}
	}
	return nil
}

// Unported returns what of p, a one-sided program of channels, reaches memory of another node other than through a
// port: one error for each source position, with a note that counts the others there. node is as in Options.
func Unported(p *ir.Program, node []int32) diag.List {
	c := &checker{p: p, opt: Options{Nodes: node}}
	var found diag.List
	for i := int32(0); int(i) < len(p.Steps) && len(found) < diag.MaxUnfolded; i++ {
		if why := c.unported(i); why != "" {
			found = append(found, c.problem(c.place(i), diag.AcrossNodes, p.Steps[i].Pos, "%s %s", c.name(i), why))
		}
	}
	return found.FoldRanks()
}

// unported says how step i reaches memory of another node without a port, or "".
func (c *checker) unported(i int32) string {
	s := &c.p.Steps[i]
	if s.Op != ir.Move {
		return ""
	}
	own, _, _ := c.p.Place(i)
	for k, x := range c.p.OneSided.OperandsOf(s) {
		does := "writes"
		switch {
		case x.Rank == ir.AllRanks:
			return switchEnds
		case c.opt.Nodes[x.Rank] == c.opt.Nodes[own] || x.Via == ir.ViaPort:
			continue
		case k < int(s.NSrc):
			does = "reads"
		}
		return fmt.Sprintf("%s %s of rank %d, which is of another node, as memory", does,
			c.p.ChunkName(x.Buf, int(x.Index)), x.Rank)
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
func (c *checker) leaves(i int32) string {
	s := &c.p.Steps[i]
	own, _, _ := c.p.Place(i)
	for k, x := range c.p.OneSided.OperandsOf(s) {
		if x.Rank != ir.AllRanks && c.opt.Nodes[x.Rank] == c.opt.Nodes[own] {
			continue
		}
		where := func() string { return fmt.Sprintf("rank %d, which is of another node", x.Rank) }
		switch {
		case x.Rank == ir.AllRanks:
			return switchEnds
		case s.Flags&ir.Loose != 0: // who else copies by a port waits for it before it signals
			return "is of a block that no launch waits for, and uses " + where()
		case s.Op != ir.Move:
		case k < int(s.NSrc):
			return fmt.Sprintf("reads %s of %s: data comes from there by writes to scratch only",
				c.p.ChunkName(x.Buf, int(x.Index)), where())
		case x.Buf != ir.Scratch:
			return fmt.Sprintf("writes %s of %s: data goes there through scratch only",
				c.p.ChunkName(x.Buf, int(x.Index)), where())
		}
	}
	return ""
}

// crosses reports whether rank is of another node than block b.
func (o *oneSided) crosses(b, rank int32) bool {
	node := o.opt.Nodes
	return node != nil && node[o.p.Blocks[b].Rank] != node[rank]
}

// carries reports whether Signal s sends the data that its block has written, and is in each pass, which is without
// steps of skip.
func carries(s *ir.Step, skip ir.StepFlags) bool { return s.Flags&(skip|ir.Relaxed) == 0 }

// arrive has Await i learn by its source n what Signal j, of the first pass or of a later one, tells of arrival.
func (c *clocks) arrive(k *knower, i int32, n int, j int32, first bool) {
	s := &c.o.p.Steps[i]
	x, tells := c.arrived(j, c.o.p.OneSided.Sources(s)[n].Rank, first)
	if !tells {
		return
	}
	by := told{done: x}
	k.learns = append(k.learns, lesson{x, i})
	if c.shows(s) {
		by.visible = x
		k.sees = append(k.sees, lesson{x, i})
	}
	c.hear(k, s, n, &by)
}

// arrived returns what an Await by rank learns of Signal i of the first pass, or of a later one: what had arrived
// before.
func (c *clocks) arrived(i, rank int32, first bool) (x clock, tells bool) {
	if c.arrivals == nil || c.arrivals.counts == 0 || !carries(&c.o.p.Steps[i], c.skip) {
		return clock{}, false
	}
	pair := c.arrivals.pair[[2]int32{c.o.links.Block[i], rank}]
	if pair == nil || pair.count < 0 {
		return clock{}, false
	}
	x = clock{chain: pair.count, own: c.o.group[i]}
	if !first {
		x.own = pair.last
	}
	return x, true
}

// sent reports whether step j writes a cell of another node, and step i is of another block.
func (r *oneRacer) sent(cell int, i, j int32) bool {
	return r.opt.Nodes != nil && r.links.Block[i] != r.links.Block[j] && r.crosses(r.links.Block[j], r.rankOf(cell))
}

// rankOf returns the rank that has a cell.
func (r *oneRacer) rankOf(cell int) int32 {
	return int32(sort.Search(len(r.p.Rank)-1, func(rank int) bool {
		_, end := r.cells.Rank(rank)
		return cell < end
	}))
}

// hasArrived reports whether the block of step i knows, when its group begins, that what step j of another block wrote
// to rank of another node has arrived.
func (r *oneRacer) hasArrived(i, j, rank int32) bool {
	pair, knows := r.clocks.arrivals.pair[[2]int32{r.links.Block[j], rank}], &r.clocks.blocks[r.links.Block[i]].visible
	if pair.count >= 0 {
		return knows.knows(pair.count) > r.group[j]
	}
	return r.knowsArrived(knows, pair, r.group[j])
}
