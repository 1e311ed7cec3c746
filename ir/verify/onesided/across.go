package onesided

import (
	"maps"
	"sort"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
	"mscclc/ir/verify/checker"
)

// This file is what a proof over several nodes asks beside: that data of another node has arrived (see "Several nodes"
// in doc.go).

// unsentHint says it of data that no signal sends: the compiler has none for a copy that nobody reads.
const unsentHint = "if nobody reads that, compile the program with --nodes, which leaves the copy out; else " +
	checker.AcrossHint

// ProveNodes proves what depends on nodes of p, the program of c, which is proven without them.
func ProveNodes(c *checker.Checker, p *onesided.Program) {
	o := newProver(c, p)
	if order := o.schedule(); order != nil && o.cut(order) {
		r := o.newRacer()
		if r.passes(); r.stopped {
			o.tooMuch()
		}
		o.sends()
	}
}

// sends reports of each block what it moves to other nodes and never sends there, where nothing else was found.
func (c *prover) sends() {
	if c.Opt.Nodes == nil || len(c.List) > 0 {
		return
	}
	var found diag.List
	for b := 0; b < len(c.P.Blocks) && len(found) < diag.MaxUnfolded; b++ {
		if d := c.unsent(int32(b)); d != nil {
			found = append(found, *d)
		}
	}
	c.Folded(found)
}

// unsent returns a problem of the first Move of block b to another node that no Signal sends, or nil: none of a later
// group of its block to that rank carries.
func (c *prover) unsent(b int32) *diag.Diagnostic {
	t := &c.P.Blocks[b]
	later, now := map[int32]bool{}, map[int32]bool{} // ranks that groups after this one signal; and this one
	for i := t.Steps.End - 1; i >= t.Steps.First; i-- {
		s := &c.P.Steps[i]
		sends := s.Op == ir.Signal && carries(s, c.absent(ir.Enter|ir.Leave))
		for _, x := range c.P.Dests(s) {
			switch {
			case sends:
				now[x.Rank] = true
			case s.Op.Moves() && x.Rank != ir.AllRanks && c.Opt.Nodes[x.Rank] != c.Opt.Nodes[t.Rank] && !later[x.Rank]:
				d := c.Problem(c.Place(i), diag.AcrossNodes, s.Pos, "%s writes %s of rank %d, which is of another node, and "+
					"no signal of its block to that rank, after it in each tile iteration, sends that", c.Name(i),
					c.P.ChunkName(x.Buf, int(x.Index)), x.Rank).WithHint(unsentHint)
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

// crosses reports whether rank is of another node than block b.
func (o *prover) crosses(b, rank int32) bool {
	node := o.Opt.Nodes
	return node != nil && node[o.P.Blocks[b].Rank] != node[rank]
}

// carries reports whether Signal s sends the data that its block has written, and is in each pass, which is without
// steps of skip.
func carries(s *ir.Step, skip ir.StepFlags) bool { return s.Flags&(skip|ir.Relaxed) == 0 }

// arrive has Await i learn by its source n what Signal j, of the first pass or of a later one, releases of arrival.
func (c *clocks) arrive(k *blockState, i int32, n int, j int32, first bool) {
	s := &c.o.P.Steps[i]
	x, is := c.arrived(j, c.o.P.Sources(s)[n].Rank, first)
	if !is {
		return
	}
	by := released{done: x}
	k.acquires = append(k.acquires, acquisition{x, i})
	if c.shows(s) {
		by.visible = x
		k.sees = append(k.sees, acquisition{x, i})
	}
	c.acquireByThread(k, s, n, &by)
}

// arrived returns what an Await by rank learns of Signal i of the first pass, or of a later one: what had arrived
// before.
func (c *clocks) arrived(i, rank int32, first bool) (x clock, is bool) {
	if c.arrivals == nil || c.arrivals.counts == 0 || !carries(&c.o.P.Steps[i], c.skip) {
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
func (r *racer) sent(cell int, i, j int32) bool {
	return r.Opt.Nodes != nil && r.links.Block[i] != r.links.Block[j] && r.crosses(r.links.Block[j], r.rankOf(cell))
}

// rankOf returns the rank that has a cell.
func (r *racer) rankOf(cell int) int32 {
	return int32(sort.Search(len(r.P.Rank)-1, func(rank int) bool {
		_, end := r.cells.Rank(rank)
		return cell < end
	}))
}

// hasArrived reports whether the block of step i knows, when its group begins, that what step j of another block wrote
// to rank of another node has arrived.
func (r *racer) hasArrived(i, j, rank int32) bool {
	pair, knows := r.clocks.arrivals.pair[[2]int32{r.links.Block[j], rank}], &r.clocks.blocks[r.links.Block[i]].visible
	if pair.count >= 0 {
		return knows.knows(pair.count) > r.group[j]
	}
	return r.knowsArrived(knows, pair, r.group[j])
}
