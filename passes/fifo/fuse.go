package fifo

import "mscclc/ir"

// fuse makes a receive and the send of what it received one instruction:
//
//	r x;   s x   ->  rcs x
//	rrc x; s x   ->  rrcs x
//	rrc x; s x   ->  rrs x     where nothing else ever needs x
//
// The send must send the very chunks, whole and unchanged, that the receive
// wrote; then its only dependence is on that receive, and it may happen there.
// Of several such sends the one with the longest way still to go is fused.
// rrs asks that every chunk of x is dead: no other reader of any of them, none
// of them part of the result.
//
// Whether the peers of a fused instruction fit a thread block is decided by
// place, which cuts what does not.
func fuse(s *state) (int, error) {
	d := s.InstDAG
	if !s.opt.receivesFuse() {
		return 0, nil
	}
	bySeq := d.BySeq()
	var best, users []int32
	var lasts []bool
	ir.AtOnce(func() { best = s.forwarding(bySeq) }, func() { users, lasts = needed(d, bySeq) })
	dead := make([]bool, len(d.Insts))
	for r, t := range best {
		if t >= 0 {
			s.merge(int32(r), t, users[r] == 1 && !lasts[r])
			dead[t] = true
		}
	}
	return remove(d, dead), nil
}

// forwarding returns, for each receive, the send to fuse with it, or -1.
func (s *state) forwarding(bySeq []int32) []int32 {
	d := s.InstDAG
	var height []int32 // where it matters
	best := make([]int32, len(d.Insts))
	for i := range best {
		best[i] = -1
	}
	for i := range d.Insts {
		r := forwarded(d, int32(i))
		if r < 0 || !s.hintsAgree(r, int32(i)) {
			continue
		}
		if b := best[r]; b >= 0 {
			if height == nil {
				height = heights(d, bySeq)
			}
			if height[i] < height[b] || height[i] == height[b] && d.Insts[i].Seq > d.Insts[b].Seq {
				continue
			}
		}
		best[r] = int32(i)
	}
	return best
}

// forwarded returns the receive whose result, whole and unchanged, instruction
// i sends on, or -1.
func forwarded(d *ir.InstDAG, i int32) int32 {
	in := &d.Insts[i]
	deps := d.Deps.Of(int(i))
	if in.Op != ir.Send || len(deps) != 1 {
		return -1
	}
	r := &d.Insts[deps[0]]
	if !r.Op.Info().Receives || r.DstBuf != in.SrcBuf || r.Dst != in.Src || r.Count != in.Count || r.Class != in.Class ||
		r.Part != in.Part {
		return -1
	}
	return deps[0]
}

// merge fuses send t into receive r; forget says that nothing else needs what
// r wrote.
func (s *state) merge(r, t int32, forget bool) {
	in, send := &s.Insts[r], &s.Insts[t]
	switch {
	case in.Op == ir.Recv:
		in.Op = ir.RecvCopySend
	case forget:
		in.Op = ir.RecvReduceSend
		in.DstBuf, in.Dst = ir.NoBuf, 0
	default:
		in.Op = ir.RecvReduceCopySend
	}
	in.SendPeer, in.SendMate, in.SendSeq = send.SendPeer, send.SendMate, send.Seq
	s.Insts[send.SendMate].RecvMate = r
}

// needed says of each instruction how many others depend on it, and whether some of what it writes lasts to the end and
// is part of the result. Where one of those others reads all that a receive wrote before any of it is overwritten,
// as the send that forwards it does, they are exactly its readers.
func needed(d *ir.InstDAG, bySeq []int32) (users []int32, lasts []bool) {
	users, lasts = make([]int32, len(d.Insts)), make([]bool, len(d.Insts))
	for _, j := range d.Deps.To {
		users[j]++
	}
	mem := d.Memory()
	live := liveSet(d, mem)
	for k := len(bySeq) - 1; k >= 0; k-- {
		i := bySeq[k]
		if in := &d.Insts[i]; in.Op.Info().Writes {
			dst := mem.Cell(int(in.Rank), in.DstBuf, int(in.Dst))
			lasts[i] = live.any(dst, int(in.Count))
			live.fill(dst, int(in.Count), false)
		}
	}
	return users, lasts
}

// hintsAgree reports whether the hints of receive r and send t can both be kept
// by one instruction: one channel, one thread block.
func (s *state) hintsAgree(r, t int32) bool {
	a, b := &s.Hints[s.Insts[r].Hint], &s.Hints[s.Insts[t].Hint]
	agree := func(x, y int32) bool { return x < 0 || y < 0 || x == y }
	return agree(a.Channel, b.Channel) && agree(a.RecvTB, b.SendTB)
}
