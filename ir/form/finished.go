package form

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// finished checks a program with an epilogue. Its output holds finished rows, and all other memory holds raw sums. So a
// step that reads output only copies it to output, and one step writes each chunk of output, which the collective
// wants. A step that writes output from other memory runs the epilogue; that it has a complete sum then, the proof of
// the result shows: what the step writes is what the output holds at the end.
func (f *checker) finished() {
	p := f.p
	if len(p.Then) == 0 {
		return
	}
	written := make([][]int32, p.Coll.Ranks) // by rank and chunk of output: 1 + the step that writes it
	for r := range written {
		written[r] = make([]int32, p.Coll.OutChunks(r))
	}
	for r := range p.Rank {
		for b, t := range p.TBsOf(r) {
			for k := range p.StepsOf(&t) {
				at := &place{r, b, k, &p.StepsOf(&t)[k]}
				if at.Op.Moves() && f.rawOrFinished(at) {
					f.finishes(at, t.Steps.First+int32(k), written)
				}
			}
		}
	}
}

// rawOrFinished checks that a step has sums or finished rows, but not both, and no switch.
func (f *checker) rawOrFinished(at *place) bool {
	reads, elsewhere := 0, 0 // sources in output, and destinations that are not
	for k, x := range f.p.OneSided.OperandsOf(at.Step) {
		source := k < int(at.NSrc)
		switch {
		case x.Rank == ir.AllRanks:
			return f.step(at, diag.Finished, "reads or writes all ranks at once, and each row is finished by one thread block")
		case source && x.Buf == ir.Output:
			reads++
		case !source && x.Buf != ir.Output:
			elsewhere++
		}
	}
	switch {
	case reads > 0 && at.NSrc > 1:
		return f.step(at, diag.Finished, "adds up finished rows of the output")
	case reads > 0 && elsewhere > 0:
		return f.step(at, diag.Finished, "takes finished rows from the output to memory of raw sums")
	}
	return true
}

// finishes notes the chunks of output that step number i writes.
func (f *checker) finishes(at *place, i int32, written [][]int32) {
	for _, x := range f.p.OneSided.Dests(at.Step) {
		if x.Buf != ir.Output {
			continue
		}
		for k := x.Index; k < x.Index+at.Count; k++ {
			w := &written[x.Rank][k]
			switch {
			case *w > 0:
				f.step(at, diag.Finished, "writes output[%d] of rank %d, whose rows %s finished", k, x.Rank, f.p.StepName(*w-1))
				return
			case f.p.Coll.Want(int(x.Rank), int(k)).Any:
				f.step(at, diag.Finished, "finishes output[%d] of rank %d, of which nothing is wanted", k, x.Rank)
				return
			}
			*w = i + 1
		}
	}
}
