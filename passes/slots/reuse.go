package slots

import "mscclc/ir"

// A use says who has used a chunk of scratch in a tile iteration: the step that wrote it first, and of each block the
// last step, as far as is known.
type use struct {
	first int32   // -1 for none
	last  []int32 // by block, in no order
}

// reuse has the first step that writes a chunk of the program's scratch wait for the last step of each other block that
// used it, in the tile iteration that had the same copy.
func reuse(s *State) error {
	rank := make([]int32, len(s.p.Rank)+1) // the first chunk of each rank, among those of all
	for r := range s.p.Rank {
		rank[r+1] = rank[r] + int32(s.p.ScratchOf(r))
	}
	uses := make([]use, rank[len(s.p.Rank)])
	for k := range uses {
		uses[k].first = -1
	}
	for _, i := range s.order {
		step := &s.p.Steps[i]
		info, at := step.Op.Info(), rank[s.p.Blocks[s.w.Block[i]].Rank]
		if info.ReadsSrc && step.SrcBuf == ir.Scratch {
			s.used(uses[at+step.Src:][:step.Count], i, false)
		}
		if step.DstBuf == ir.Scratch && (info.Writes || info.ReadsDst) {
			s.used(uses[at+step.Dst:][:step.Count], i, info.Writes)
		}
	}
	for k := range uses {
		u := &uses[k]
		for _, i := range u.last {
			if u.first >= 0 && s.w.Block[i] != s.w.Block[u.first] {
				s.waits = append(s.waits, wait{step: s.head[u.first], on: s.last[s.head[i]], ago: s.depth})
			}
		}
	}
	return nil
}

// used notes that step i uses chunks.
func (s *State) used(chunks []use, i int32, writes bool) {
	for k := range chunks {
		u := &chunks[k]
		if u.first < 0 && writes {
			u.first = i
		}
		known := false
		for n, j := range u.last {
			if s.w.Block[j] == s.w.Block[i] {
				u.last[n], known = max(i, j), true
			}
		}
		if !known {
			u.last = append(u.last, i)
		}
	}
}
