package lang

import (
	"fmt"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/lang/syntax"
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
		m.exhausted("steps", m.lim.Steps, syntax.MoreHint("steps", m.steps), &p.declaration,
			"judging the result takes more than %d evaluation steps")
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
	m.hintCopy(e, rank, index, w)
	wrong.Note(e)
}

// hintCopy adds a hint to d that writes what output[index] of rank must hold, where that is a chunk of input and still
// there.
func (m *machine) hintCopy(d *diag.Diagnostic, rank, index int, w ir.Want) {
	p := &m.prog
	if w.Any || w.Sum || len(w.List) > 0 || d.Hint != "" {
		return
	}
	from := ref{spot: spot{rank: w.Part.Rank, index: w.Part.Index}, holds: holds{buf: ir.Input}, count: 1}
	if x, _ := p.cells.At(p.cellOf(ir.Ref{Rank: from.rank, Index: from.index, Buf: ir.Input})); p.values.Matches(x, w) {
		d.Hint = fmt.Sprintf("%s.copy(%d, output, %d) writes what belongs there", p.chunkCall(&from), rank, index)
	}
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

// A history is what a cell's value went through: how often it holds a chunk of input (2 stands for more), the reduction
// in which the chunk came in a second time, and the last reduction.
type history struct {
	times       uint8
	twice, last made
}

// A made is a chunk that an operation wrote: chunk k of operation op. Operations count from 1; 0 is none.
type made struct{ op, k int32 }

// later returns the one of a and b whose operation is later.
func (a made) later(b made) made {
	if b.op > a.op {
		return b
	}
	return a
}

// historyOf follows a chunk of input through all operations, and returns the history of a cell.
func (p *expansion) historyOf(chunk ir.Part, cell int32) history {
	cells := make([]history, p.cells.Len())
	cells[p.at(chunk.Rank, ir.Input).cell+chunk.Index].times = 1
	for i := range p.ops {
		op := &p.ops[i]
		to := p.at(op.Dst.Rank, op.Dst.Buf).cell + op.Dst.Index
		for k := range op.Count {
			var h history
			for _, s := range p.srcs[op.Src : op.Src+op.NSrc] {
				h = h.plus(cells[p.at(s.Rank, s.Buf).cell+s.Index+k])
			}
			if op.NSrc > 1 {
				h.last = made{int32(i) + 1, k}
			}
			if h.times > 1 && h.twice.op == 0 {
				h.twice = h.last
			}
			cells[to+k] = h
		}
	}
	return cells[cell]
}

// plus returns the history of the sum of what h and x are of.
func (h history) plus(x history) history {
	return history{min(h.times+x.times, 2), h.twice.later(x.twice), h.last.later(x.last)}
}

// before runs the operations before op anew and returns what the cells then hold.
func (p *expansion) before(op int32) *eval.Cells {
	cells := eval.NewCells(p.cells.Len())
	cells.Fill(p.values, func(rank int) int { return int(p.at(int32(rank), ir.Input).cell) })
	for i := range p.ops[:op-1] {
		op := &p.ops[i]
		p.made.Reset()
		for _, s := range p.srcs[op.Src : op.Src+op.NSrc] {
			p.read = cells.Read(p.read[:0], p.cellOf(s), int(op.Count))
			p.made.Add(p.values, p.read)
		}
		cells.Write(p.cellOf(op.Dst), int(op.Count), int32(i)+1, p.made.Runs())
	}
	return cells
}

// cellOf returns the first cell of r.
func (p *expansion) cellOf(r ir.Ref) int { return int(p.at(r.Rank, r.Buf).cell + r.Index) }

// chunkName names chunk k from r on: input[3] of rank 2.
func (p *expansion) chunkName(r ir.Ref, k int32) string {
	return p.refName(&ref{spot: spot{rank: r.Rank, index: r.Index + k}, holds: holds{buf: r.Buf}, count: 1})
}

// noteSum notes at which reduction a sum went wrong: x is what a cell holds, w what it must hold.
func (m *machine) noteSum(d *diag.Diagnostic, x eval.Value, w ir.Want, cell int32) {
	p := &m.prog
	lacks, twice, sum := p.values.Unequal(x, w)
	switch {
	case twice != nil:
		if h := p.historyOf(*twice, cell); h.twice.op > 0 {
			m.noteTwice(d, *twice, w, h.twice)
		}
	case lacks != nil && sum:
		m.noteLack(d, *lacks, p.historyOf(*lacks, cell).last)
	}
}

// noteTwice notes that a chunk of input came into a sum for the second time in at, and what the operands held.
func (m *machine) noteTwice(d *diag.Diagnostic, chunk ir.Part, w ir.Want, at made) {
	p := &m.prog
	op, cells := &p.ops[at.op-1], p.before(at.op)
	remedy := "reduce operands that have no chunk of input in common"
	var held []string
	for _, s := range p.srcs[op.Src : op.Src+op.NSrc] {
		name := p.chunkName(s, at.k)
		x, _ := cells.At(p.cellOf(s) + int(at.k))
		held = append(held, name+" holds "+p.values.Describe(x))
		if p.values.Matches(x, w) && s == op.Dst {
			remedy = name + " holds the whole sum before this reduction, so leave the reduction out"
		} else if p.values.Matches(x, w) {
			remedy = name + " holds the whole sum before this reduction, so copy it instead of reducing"
		}
	}
	if len(held) > wantsShown {
		held = append(held[:wantsShown], "and so on")
	}
	m.noteOp(d, at.op, "%v, chunk %d of rank %d's input, came into this sum for the second time here: before, %s",
		chunk, chunk.Index, chunk.Rank, strings.Join(held, ", "))
	d.Hint = "each chunk may enter a sum once: " + remedy
}

// noteLack notes at which reduction a sum that lacks a chunk of input ended.
func (m *machine) noteLack(d *diag.Diagnostic, chunk ir.Part, last made) {
	p := &m.prog
	if last.op == 0 {
		d.Hint = "no reduction made it: reduce the other ranks' chunks into it"
		return
	}
	dst := p.ops[last.op-1].Dst
	end := p.chunkName(dst, last.k)
	m.noteOp(d, last.op, "the sum ends with this reduction, in %s: it lacks %v, chunk %d of rank %d's input",
		end, chunk, chunk.Index, chunk.Rank)
	from := ref{spot: spot{rank: chunk.Rank, index: chunk.Index}, holds: holds{buf: ir.Input}, count: 1}
	if x, _ := p.before(last.op + 1).At(p.cellOf(ir.Ref{Rank: chunk.Rank, Index: chunk.Index, Buf: ir.Input})); x !=
		p.values.Leaf(int(chunk.Rank), int(chunk.Index)) {
		d.Hint = fmt.Sprintf("reduce %v into the sum before %s is overwritten", chunk, p.refName(&from))
		return
	}
	d.Hint = fmt.Sprintf(
		"add one more reduction: .reduce(%s) leaves the sum in %s; with one more loop iteration the sum may end on "+
			"another rank: begin the copies there, and copy to rank %d too", p.chunkCall(&from), end, dst.Rank)
}
