package fifo

import (
	"cmp"
	"slices"

	"mscclc/ir"
)

// aggregate merges transfers of neighbouring chunks between the same two ranks
// into one. It does so only where no program takes longer for it: in a program
// whose transfers wait for nothing and have nothing wait for them, and only
// while a merged transfer is brief. Where transfers follow each other from rank
// to rank, a long message moves on when all of it is there, and short ones move
// on one by one; merging only some of them takes links from the others.
//
// It is sound since there is no path between the merged transfers.
func aggregate(s *state) (int, error) {
	most := s.briefChunks()
	if most < 2 {
		return 0, nil
	}
	list, all := s.apart()
	if !all {
		return 0, nil
	}
	slices.SortFunc(list, func(a, b transfer) int {
		return cmp.Or(slices.Compare(a.kind[:], b.kind[:]), cmp.Compare(a.at, b.at))
	})
	dead := make([]bool, len(s.Insts))
	merged, head := 0, 0
	for k := 1; k < len(list); k++ {
		if !s.goesOn(list[head], list[k]) || int64(s.Insts[list[head].send].Count+s.Insts[list[k].send].Count) > most {
			head = k
			continue
		}
		s.absorb(list[head], list[k])
		dead[list[k].send], dead[list[k].recv] = true, true
		merged++
	}
	if merged > 0 {
		remove(s.InstDAG, dead)
	}
	return merged, nil
}

// briefChunks returns the number of chunks that are brief together (ir.ProtocolRow) at every size that the program is
// for, and that the target allows a step. What is brief was found on the device of simulate/devices and the network
// where it is least.
//
// Let k messages of s bytes go from rank to rank. A step takes a to begin and
// s/b to copy, and the receiver's first step follows the sender's first, so
// that the messages take (k+1)(a + s/b) one after the other, and 2(a + k*s/b) as
// one. The second is not longer where s is at most a*b.
func (s *state) briefChunks() int64 {
	if s.Sizes.Max == 0 {
		return 0 // a chunk is long at some size
	}
	n := s.Protocol.Row().Brief / s.Coll.ChunkBytes(s.Sizes.Max-1)
	if most := s.opt.Limits.Count; most > 0 {
		n = min(n, int64(most))
	}
	return n
}

// A transfer is a send with its receive. Transfers that are neighbours have one
// kind: who sends to whom, between which buffers, and so on.
type transfer struct {
	send, recv int32
	kind       [10]int32
	at         int32 // where it begins
}

// apart lists the transfers that depend on nothing and that nothing depends on,
// and says whether all are.
func (s *state) apart() (list []transfer, all bool) {
	bound := make([]bool, len(s.Insts))
	for i := range s.Insts {
		for _, j := range s.Deps.Of(i) {
			bound[i], bound[j] = true, true
		}
	}
	all = true
	for i := range s.Insts {
		switch in := &s.Insts[i]; {
		case in.Op != ir.Send:
		case bound[i] || bound[in.SendMate]:
			all = false
		default:
			list = append(list, s.transfer(int32(i)))
		}
	}
	return list, all
}

func (s *state) transfer(send int32) transfer {
	t := &s.Insts[send]
	r := &s.Insts[t.SendMate]
	own := int32(0) // from the receive's own operand to the send's
	if r.SrcBuf != ir.NoBuf {
		own = r.Src - t.Src
	}
	return transfer{send: send, recv: t.SendMate, at: t.Src, kind: [...]int32{t.Rank, r.Rank, t.Part, t.Hint,
		int32(r.Op), int32(t.SrcBuf), int32(r.DstBuf), int32(r.SrcBuf), r.Dst - t.Src, own}}
}

// goesOn reports whether b begins where a ends, and is alike in all else. What
// depends on nothing comes from a caller's buffer, where classes follow each
// other.
func (s *state) goesOn(a, b transfer) bool {
	return a.kind == b.kind && a.at+s.Insts[a.send].Count == b.at
}

// absorb makes b, which goes on where a ends, part of a.
func (s *state) absorb(a, b transfer) {
	n := s.Insts[b.send].Count
	s.Insts[a.send].Count += n
	s.Insts[a.recv].Count += n
}
