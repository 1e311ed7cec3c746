package onesided

import (
	"fmt"
	"slices"

	"mscclc/ir"
	"mscclc/ir/onesided"
	"mscclc/ir/verify/checker"
)

// chunk says as which chunk event e reads or writes a cell. In place a cell may be of input and of output.
func (r *racer) chunk(e int32, cell int, writes bool) (rank int, b ir.Buf, index int) {
	for rank = range r.P.Rank {
		if _, end := r.cells.Rank(rank); cell < end {
			break
		}
	}
	ev := &r.events[e]
	for _, x := range r.accessed(e, writes) {
		k := int32(cell - r.cells.Cell(rank, x.Buf, int(x.Index)))
		if (x.Rank == ir.AllRanks || int(x.Rank) == rank) && k >= ev.k && k < ev.k+ev.n {
			return rank, x.Buf, int(x.Index + k)
		}
	}
	b, index = r.cells.Chunk(rank, cell)
	return rank, b, index
}

// accessed returns the operands that event e reads, or those that it writes.
func (r *racer) accessed(e int32, writes bool) []onesided.Operand {
	s := &r.P.Steps[r.events[e].step]
	if writes {
		return r.P.Dests(s)
	}
	return r.P.Sources(s)
}

// why says what is known of step j where step i is, and why that does not order them.
func (r *racer) why(i, j int32, k checker.Kind) string {
	a, b := r.links.Block[i], r.links.Block[j]
	if a == b {
		return "the two are of one group, whose steps run at once"
	}
	own := &r.clocks.blocks[a]
	who, whom := r.P.BlockName(a), r.P.BlockName(b)
	if k != checker.ReadWrite && own.done.knows(r.chain[b]) > r.group[j] {
		return fmt.Sprintf("%s knows by %s", who, r.byWhat("it has ended"))
	}
	known := own.visible
	if k == checker.ReadWrite {
		known = own.done
	}
	if n := known.knows(r.chain[b]); n > r.before[b] {
		return fmt.Sprintf("%s then knows only that %s of %s has ended", who, r.P.OpName(r.lastOf(b, n-1)), whom)
	}
	return fmt.Sprintf("no flag and no packet tells %s how far %s has come", who, whom)
}

// byRelaxed reports whether what is known of step j where step i is, it is known by relaxed signals alone.
func (r *racer) byRelaxed(i, j int32, k checker.Kind) bool {
	own, b := &r.clocks.blocks[r.links.Block[i]], r.links.Block[j]
	return k != checker.ReadWrite && own.done.knows(r.chain[b]) > r.group[j] && r.relaxes() && len(r.takes) == 0
}

// tellsRead says how the rank of step i, which writes again what step j of another rank has read, can be notified of
// that.
func (r *racer) tellsRead(i, j int32) string {
	writer, reader := r.P.Blocks[r.links.Block[i]].Rank, r.P.Blocks[r.links.Block[j]].Rank
	if writer == reader {
		return ""
	}
	return fmt.Sprintf("rank %d must learn that rank %d has read what it wrote before: have rank %d signal it, and wait for "+
		"that before the first write; in .mscl, c.signal(tb = 0, relaxed = true) and c.wait(tb = 0, relaxed = true) of the "+
		"channel between them, at both ranks", writer, reader, reader)
}

// relaxes reports whether some signal is relaxed.
func (o *prover) relaxes() bool {
	return slices.ContainsFunc(o.P.Steps, func(s ir.Step) bool { return s.Flags&ir.Relaxed != 0 })
}

// byWhat returns what signals an end without making writes visible.
func (o *prover) byWhat(what string) string {
	switch {
	case o.relaxes() && len(o.takes) == 0:
		return "relaxed signals that " + what + ", and these make nothing visible"
	case o.relaxes():
		return "packets or relaxed signals that " + what + ", and these make nothing visible but what they carry"
	}
	return "packets that " + what + ", and packets make nothing visible but what they carry"
}

// lastOf returns the last step of a group of a block, by its number in the program.
func (r *racer) lastOf(block, group int32) int32 {
	steps := r.P.Blocks[block].Steps
	last := steps.First
	for i := steps.First; i < steps.End && r.group[i] <= group; i++ {
		last = i
	}
	return last
}
