package onesided

import "mscclc/ir"

// Memory lays out the cells of p, one copy of what rotates.
func (p *Program) Memory() *ir.Memory { return ir.NewPacketMemory(p.Coll, p.Scratch, p.Packets) }

// Called returns p, which it shares all else with, as calls in place, or out of place, see it.
func (p *Program) Called(inplace bool) *Program {
	q := *p
	q.Coll = p.Coll.Called(inplace)
	return &q
}

// Loose reports whether block b of p.Blocks is of Loose steps.
func (p *Program) Loose(b int32) bool {
	t := &p.Blocks[b]
	return t.Steps.First < t.Steps.End && p.Steps[t.Steps.First].Flags&ir.Loose != 0
}

// Staged reports whether no Move reaches input or output of another rank: remote operands are scratch and packets. Then
// a call may give each rank any buffers, and no rank needs to know where those of another lie.
func (p *Program) Staged() bool {
	for b := range p.Blocks {
		t := &p.Blocks[b]
		for i := t.Steps.First; i < t.Steps.End; i++ {
			for _, x := range p.OperandsOf(&p.Steps[i]) {
				if x.Rank != int32(t.Rank) && x.Buf <= ir.Output && p.Steps[i].Op.Moves() {
					return false
				}
			}
		}
	}
	return true
}

// ModifiesInput reports whether some step writes a chunk of input that is not output too. What lang makes never does;
// files from elsewhere may.
func (p *Program) ModifiesInput() bool {
	for i := range p.Steps {
		if p.Steps[i].Op.Moves() && p.moveModifiesInput(&p.Steps[i]) {
			return true
		}
	}
	return false
}

func (p *Program) moveModifiesInput(s *ir.Step) bool {
	for _, d := range p.Dests(s) {
		if d.Buf != ir.Input {
			continue
		}
		first, end := int(d.Rank), int(d.Rank)+1
		if d.Rank == ir.AllRanks {
			first, end = 0, len(p.Rank)
		}
		for r := first; r < end; r++ {
			if p.Coll.InputOnly(r, d.Index, s.Count) {
				return true
			}
		}
	}
	return false
}
