package channels

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// echoes drops packets that a rank sends through the switch to where it reads them from: they are the packets that lie
// there. Only the rank itself may send to that place. Another rank's next packets could be overwritten by an echo that
// comes late.
func (u *unroller) echoes(room []int32) {
	others := make([][]bool, len(room)) // by rank and part: another rank sends packets there
	for r, n := range room {
		others[r] = make([]bool, n)
	}
	u.eachStep(func(k *unrolled, s *unrolledStep) {
		for i := range s.dsts {
			if x := &s.dsts[i]; x.Buf == ir.Packets && x.Rank != k.rank {
				for part := x.Index; part < x.Index+s.count; part++ {
					others[x.Rank][part] = true
				}
			}
		}
	})
	u.eachStep(func(k *unrolled, s *unrolledStep) {
		if len(s.srcs) != 1 || s.srcs[0].Buf != ir.Packets || s.lies || s.srcs[0].Rank != k.rank || len(s.dsts) < 2 {
			return
		}
		src := s.srcs[0]
		if slices.Contains(others[src.Rank][src.Index:src.Index+s.count], true) {
			return
		}
		kept := make([]onesided.Operand, 0, len(s.dsts))
		for _, x := range s.dsts {
			if x.Buf != ir.Packets || x.Rank != src.Rank || x.Index != src.Index {
				kept = append(kept, x)
			}
		}
		s.dsts = kept
	})
}
