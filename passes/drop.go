package passes

import "mscclc/ir"

// drop removes copies of a chunk onto itself and every instruction whose
// result is neither part of the collective's result nor read by an instruction
// that stays; with a receive goes its send. What is needed in part stays whole.
func drop(s *state) (int, error) {
	f := newFlow(s.InstDAG)
	live := liveAtEnd(s.InstDAG, f.mem)
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
			dead[i] = !anyLive(live[dst : dst+n])
		}
		if dead[i] {
			continue
		}
		if dst >= 0 {
			fill(live[dst:dst+n], in.Op.Info().ReadsDst)
		}
		if src >= 0 {
			fill(live[src:src+n], true)
		}
	}
	return remove(s.InstDAG, dead), nil
}

func fill(cells []bool, live bool) {
	for i := range cells {
		cells[i] = live
	}
}

func anyLive(cells []bool) bool {
	for _, l := range cells {
		if l {
			return true
		}
	}
	return false
}

// liveAtEnd marks the cells whose contents the collective asks for.
func liveAtEnd(d *ir.InstDAG, mem *ir.Memory) []bool {
	live := make([]bool, mem.Len())
	for r := range d.Coll.Ranks {
		for i := range d.Coll.OutChunks(r) {
			// Of the other collectives every output is wanted.
			if d.Coll.Kind != ir.Custom || !d.Coll.Want(r, i).Any {
				live[mem.Cell(r, ir.Output, i)] = true
			}
		}
	}
	return live
}
