package passes

import "mscclc/ir"

// exchanges finds the connections on which two ranks send each other more at
// once than the connections hold, by their ends. A thread block that had both
// ends could not send all before it receives, so that one of the two blocks
// would receive all first, and the transfers would follow each other. In blocks
// of their own the ends run side by side. Two transfers of one depth do not
// depend on each other.
func (s *state) exchanges() map[end]bool {
	d := s.InstDAG
	long := func(i int) bool {
		in := &d.Insts[i]
		return in.Op == ir.Send && s.messages(in.Count) > int32(s.slots) && d.Insts[in.SendMate].SendMate < 0
	}
	first := 0
	for first < len(d.Insts) && !long(first) {
		first++
	}
	if first == len(d.Insts) {
		return nil
	}
	depth, _ := levels(d)
	type transfer struct {
		end
		depth int32
	}
	of := func(i int) transfer {
		in := &d.Insts[i]
		return transfer{end{in.Rank, in.Part, in.Channel, in.SendPeer, true}, depth[i]}
	}
	sent := make(map[transfer]bool)
	for i := first; i < len(d.Insts); i++ {
		if long(i) {
			sent[of(i)] = true
		}
	}
	apart := make(map[end]bool)
	for t := range sent {
		back := t
		back.rank, back.peer = t.peer, t.rank
		if sent[back] {
			apart[t.end], apart[t.other()] = true, true
		}
	}
	return apart
}

// other is the rank's other end with the same peer.
func (e end) other() end {
	e.send = !e.send
	return e
}
