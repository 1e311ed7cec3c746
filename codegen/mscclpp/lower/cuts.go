package lower

import (
	"mscclc/ir"
	"mscclc/ir/onesided"
)

// cut finds where operations must be cut so that any two have the same chunks, or none in common: then what block w of
// several does at some bytes comes after what the same block did there.
func (x *maker) cut() {
	x.cuts = make([]bool, x.cells.Len()+1)
	x.eachRun(func(first, n int32) { x.cuts[first], x.cuts[first+n] = true, true })
	for changed := true; changed; {
		changed = false
		for i := range x.p.Steps {
			s := &x.p.Steps[i]
			for k := int32(1); k < s.Count && s.Op.Moves(); k++ {
				if !x.isCut(s, k, false) {
					continue
				}
				changed = x.isCut(s, k, true) || changed
			}
		}
	}
}

// isCut reports whether an operand of s is cut before its chunk k. With all, it cuts all of them, and says whether one
// was not.
func (x *maker) isCut(s *ir.Step, k int32, all bool) (found bool) {
	x.eachOperand(s, func(first int32) {
		if at := &x.cuts[first+k]; all {
			found = found || !*at
			*at = true
		} else {
			found = found || *at
		}
	})
	return found
}

// eachRun calls f with the cells of all operands of all Moves.
func (x *maker) eachRun(f func(first, n int32)) {
	for i := range x.p.Steps {
		if s := &x.p.Steps[i]; s.Op.Moves() {
			x.eachOperand(s, func(first int32) { f(first, s.Count) })
		}
	}
}

func (x *maker) eachOperand(s *ir.Step, f func(first int32)) {
	for _, list := range [2][]onesided.Operand{x.p.Sources(s), x.p.Dests(s)} {
		for _, d := range list {
			x.eachRank(d, f)
		}
	}
}

// eachRank calls f with the first cell of an operand, on each of its ranks.
func (x *maker) eachRank(d onesided.Operand, f func(first int32)) {
	first, end := int(d.Rank), int(d.Rank)+1
	if d.Rank == ir.AllRanks {
		first, end = 0, len(x.p.Rank)
	}
	for r := first; r < end; r++ {
		f(int32(x.cells.Cell(r, d.Buf, int(d.Index))))
	}
}

// pieces makes the operations of a Move, for each run of its chunks that is not cut.
func (x *maker) pieces(s *ir.Step) {
	for at := int32(0); at < s.Count; {
		end := at + 1
		for end < s.Count && (x.chunks == 0 || end < at+x.chunks) && (x.cuts == nil || !x.isCut(s, end, false)) {
			end++
		}
		x.piece(s, at, end-at)
		at = end
	}
}
