package lang

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
)

// This file finds the reduction by which a sum became wrong.

// A history is what a cell's value went through: how often it holds a chunk of input (2 stands for more), the reduction
// in which the chunk came in a second time, and the last reduction. Operations count from 1; 0 is none.
type history struct {
	times       uint8
	twice, last int32
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
				h.last = int32(i) + 1
			}
			if h.times > 1 && h.twice == 0 {
				h.twice = h.last
			}
			cells[to+k] = h
		}
	}
	return cells[cell]
}

// plus is the history of the sum of what h and x are of.
func (h history) plus(x history) history {
	return history{min(h.times+x.times, 2), max(h.twice, x.twice), max(h.last, x.last)}
}

// noteSum notes at which reduction a sum went wrong: x is what a cell holds, w what it must hold.
func (m *machine) noteSum(d *diag.Diagnostic, x eval.Value, w ir.Want, cell int32) {
	p := &m.prog
	lacks, twice, sum := p.values.Unequal(x, w)
	switch {
	case twice != nil:
		if h := p.historyOf(*twice, cell); h.twice > 0 {
			m.noteOp(d, h.twice, "%v, chunk %d of rank %d's input, came into this sum for the second time here",
				*twice, twice.Index, twice.Rank)
			d.Hint = "each chunk may enter a sum once: leave out this reduction, or reduce another chunk here"
		}
	case lacks != nil && sum:
		h := p.historyOf(*lacks, cell)
		if h.last > 0 {
			m.noteOp(d, h.last, "this is the last reduction of the sum, which lacks %v, chunk %d of rank %d's input",
				*lacks, lacks.Index, lacks.Rank)
		}
		d.Hint = m.remedy(*lacks, h)
	}
}

// remedy says what completes a sum that lacks a chunk.
func (m *machine) remedy(chunk ir.Part, h history) string {
	if h.last == 0 {
		return "reduce the other ranks' chunks into it: nothing was"
	}
	return "reduce " + chunk.String() + " into the sum as well, for example by one more iteration of the loop over its reductions"
}
