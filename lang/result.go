package lang

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
)

// This file judges whether the outputs hold what the collective says.

// checkResult reports an output that does not hold what it must.
func (m *machine) checkResult() {
	p := &m.prog
	p.values.Limit = min(m.lim.Steps, 1<<58) << 4 // leaves of sums are looked at faster than steps are evaluated
	var wrong eval.WrongList
	first, firstIndex := 0, 0
	output := func(rank int) int { return int(p.at(int32(rank), ir.Output).cell) }
	p.cells.Wrong(p.values, output, func(rank, index int, _ eval.Value, _ ir.Want, _ int32) {
		if p.values.Over {
			return // neither this one is decided nor what follows
		}
		if wrong.N == 0 {
			first, firstIndex = rank, index
		}
		wrong.Add(rank, index)
	})
	if wrong.N == 0 && p.values.Over {
		m.exhausted("steps", m.lim.Steps, moreHint("steps", m.steps), &p.declaration, "judging the result takes more than %d evaluation steps")
	}
	if wrong.N > 0 {
		m.wrong(first, firstIndex, &wrong)
	}
}

// wrong reports the first wrong chunk, and all that there are.
func (m *machine) wrong(rank, index int, wrong *eval.WrongList) {
	p := &m.prog
	x, writer := p.cells.At(int(p.at(int32(rank), ir.Output).cell) + index)
	w := p.coll.Want(rank, index)
	m.errs = append(m.errs, wrong.Problem(p.declaration, p.values, rank, index, w, p.values.Differs(x, w)))
	e := &m.errs[len(m.errs)-1]
	if writer > 0 {
		m.noteOp(e, writer, "%s was last written here", m.inPlaceName(rank, index))
		m.noteSum(e, x, w, int32(p.at(int32(rank), ir.Output).cell)+int32(index))
	} else {
		*e = e.WithNote(diag.Span{}, "nothing writes %s", m.inPlaceName(rank, index))
	}
	wrong.Note(e)
}

// inPlaceName names a chunk of output, and the chunk of input that is the same memory.
func (m *machine) inPlaceName(rank, index int) string {
	p := &m.prog
	out, in := p.at(int32(rank), ir.Output), p.at(int32(rank), ir.Input)
	name := fmt.Sprintf("output[%d] of rank %d", index, rank)
	if i := out.cell + int32(index) - in.cell; p.coll.Inplace && i >= 0 && i < in.chunks {
		return fmt.Sprintf("%s (in place, that is input[%d])", name, i)
	}
	return name
}
