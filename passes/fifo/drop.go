package fifo

import "mscclc/ir"

// drop removes copies of a chunk onto itself and every instruction whose
// result is neither part of the collective's result nor read by an instruction
// that stays; with a receive goes its send. What is needed in part stays whole.
func drop(s *state) (int, error) {
	f := newFlow(s.InstDAG)
	live := liveSet(s.InstDAG, f.mem)
	dead := make([]bool, len(s.Insts))
	bySeq := s.BySeq()
	for k := len(bySeq) - 1; k >= 0; k-- {
		i := bySeq[k]
		in := &s.Insts[i]
		src, dst, n := f.reads(in), f.writes(in), int(in.Count)
		switch {
		case in.Op == ir.Send:
			dead[i] = dead[in.SendMate]
		case in.Op == ir.Copy && src == dst:
			dead[i] = true
		case dst >= 0:
			dead[i] = !live.any(dst, n)
		}
		if dead[i] {
			continue
		}
		if dst >= 0 {
			live.fill(dst, n, in.Op.Info().ReadsDst)
		}
		if src >= 0 {
			live.fill(src, n, true)
		}
	}
	return remove(s.InstDAG, dead), nil
}

// liveSet returns the set of cells whose contents the collective asks for.
func liveSet(d *ir.InstDAG, mem *ir.Memory) bitSet {
	live := make(bitSet, mem.Len()/64+1)
	liveAtEnd(d, mem, func(cell, n int) { live.fill(cell, n, true) })
	return live
}

// liveAtEnd calls mark with the cells whose contents the collective asks for.
func liveAtEnd(d *ir.InstDAG, mem *ir.Memory, mark func(cell, n int)) {
	for r := range d.Coll.Ranks {
		if d.Coll.Kind != ir.Custom { // of these every output is wanted
			mark(mem.Cell(r, ir.Output, 0), d.Coll.OutChunks(r))
			continue
		}
		for i := range d.Coll.OutChunks(r) {
			if !d.Coll.Want(r, i).Any {
				mark(mem.Cell(r, ir.Output, i), 1)
			}
		}
	}
}
