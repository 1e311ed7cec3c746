package fifo

import (
	"fmt"

	"mscclc/ir"
)

// match pairs each send with the receive that stands right after it in the
// source order, and derives the dependences. Lower always writes such pairs;
// anything else is a fault of mscclc.
func match(s *state) (int, error) {
	dense := s.BySeq()
	pairs := 0
	for k, i := range dense {
		in := &s.Insts[i]
		in.SendMate, in.RecvMate = -1, -1
		if !in.Op.Info().Receives {
			continue
		}
		if k == 0 {
			return 0, fmt.Errorf("the first instruction receives")
		}
		j := dense[k-1]
		from := &s.Insts[j]
		if from.Op != ir.Send || from.SendPeer != in.Rank || in.RecvPeer != from.Rank || from.Count != in.Count ||
			from.Class != in.Class {
			return 0, fmt.Errorf("instruction at %d: %v of rank %d has no matching send", in.Seq, in.Op, in.Rank)
		}
		from.SendMate, in.RecvMate = i, j
		pairs++
	}
	for i := range s.Insts {
		if in := &s.Insts[i]; in.Op == ir.Send && in.SendMate < 0 {
			return 0, fmt.Errorf("instruction at %d: the send of rank %d has no receive", in.Seq, in.Rank)
		}
	}
	dependBy(s.InstDAG, dense)
	return pairs, nil
}
