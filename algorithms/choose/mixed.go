package choose

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
)

// This file extends two proofs, that all ranks may be in place and that none need be, to calls in which each rank
// decides for itself.
//
// Lemma. Let p be staged, and proven for calls in which all ranks are in place, and for calls in which none is. Let no
// step write input, and let each step that reads a chunk of input find there what the call began with, where all ranks
// are in place too. Then p is right in every mix.
//
//   - What waits for what depends on no placement, so that p ends, and scratch and packets have no races, as before.
//   - Only steps of its own rank access a rank's input and output. A race in them is one in the proof of that rank's
//     placement.
//   - Every step reads the same values in every mix. Take them in an order in which they may end. A chunk of input
//     holds what the call began with. A chunk of output that is read was written before, or the proof out of place
//     rejects the read, and the last write is the same in every mix, as no step writes input. So it is with scratch and
//     packets.
//
// So outputs are the same in every mix, and so is the order of sums.

// mixes says why the lemma is not for p, or returns nil. p is proven for calls in place, and its order of steps may be
// any in which they may end: reads and writes of one chunk are ordered.
func mixes(p *ir.Program) error {
	bad := func(i int32, what string) error {
		d := diag.New(diag.Unsupported, p.Span(p.Steps[i].Pos), "%s %s", p.StepName(i), what)
		return diag.List{d.WithHint("in a bundle each rank may be in place or not: read input before output is written")}
	}
	q := p.Called(true)
	mem, links := q.Memory(), eval.Link(q)
	order, _ := links.Schedule(q).Run()
	changed := make([]bool, mem.Len()) // cells of input that hold something else
	for _, i := range order {
		s := &q.Steps[i]
		if s.Op != ir.Move {
			continue
		}
		sources, dests := q.OneSided.Sources(s), q.OneSided.Dests(s)
		for k := range int(s.Count) {
			at := func(x *ir.Operand) int { return mem.Cell(int(x.Rank), x.Buf, int(x.Index)+k) }
			for n := range sources {
				if x := &sources[n]; x.Buf == ir.Input && changed[at(x)] {
					return bad(i, "reads input that is written before, where a call is in place")
				}
			}
			for n := range dests {
				x := &dests[n]
				switch {
				case x.Buf == ir.Input:
					return bad(i, "writes input")
				case x.Buf == ir.Output && (len(sources) != 1 || at(&sources[0]) != at(x)):
					changed[at(x)] = true
				}
			}
		}
	}
	return nil
}
