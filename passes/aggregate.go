package passes

import (
	"cmp"
	"slices"

	"mscclc/ir"
)

// aggregate merges transfers of neighbouring chunks between the same two ranks
// into one. It merges only what is alike in everything that decides when a
// transfer can start and what waits for it: depth and height among all
// transfers, where the data come from and where they go next. So no chunk on
// the critical path waits for one that is ready later or wanted later, and
// what could be fused before still can.
//
// Equal depth also makes it sound: a path from one instruction to another
// increases the depth, so that merged ones neither depend on each other nor
// close a cycle, and depth is a legal source order for what comes out.
func aggregate(s *state) (int, error) {
	u := transfers(s.InstDAG)
	after, follows := u.neighbours()
	dead := make([]bool, len(s.Insts))
	merged := 0
	for k := range u.list {
		if follows[k] {
			continue
		}
		head := int32(k)
		for b := after[head]; b >= 0; b = after[b] {
			if most := s.opt.Limits.Count; most > 0 && int(s.Insts[u.list[head].send].Count+s.Insts[u.list[b].send].Count) > most {
				head = b
				continue
			}
			u.absorb(u.list[head], u.list[b])
			dead[u.list[b].send], dead[u.list[b].recv] = true, true
			merged++
		}
	}
	if merged > 0 {
		u.resequence()
		remove(s.InstDAG, dead)
	}
	return merged, nil
}

// neighbours finds, for each transfer, the one that goes on where it ends (-1
// for none), and whether it is one that goes on. It looks up where a transfer
// ends in a table of where transfers begin, so that it is linear.
func (u *transferUnits) neighbours() (after []int32, follows []bool) {
	after, follows = make([]int32, len(u.list)), make([]bool, len(u.list))
	mask := uint64(1)
	for mask < uint64(2*len(u.list)) {
		mask *= 2
	}
	mask--
	table := make([]struct {
		tag uint32
		of  int32 // 1 + transfer
	}, mask+1)
	for k := range u.list {
		full := u.hash(u.list[k], 0)
		h := full & mask
		for table[h].of != 0 {
			h = (h + 1) & mask
		}
		table[h].tag, table[h].of = uint32(full>>32), int32(k)+1
	}
	for k := range u.list {
		after[k] = -1
		full := u.hash(u.list[k], u.d.Insts[u.list[k].send].Count)
		for h := full & mask; table[h].of != 0; h = (h + 1) & mask {
			if b := table[h].of - 1; table[h].tag == uint32(full>>32) && !follows[b] && u.mergeable(u.list[k], u.list[b]) {
				after[k], follows[b] = b, true
				break
			}
		}
	}
	return after, follows
}

// hash mixes all that mergeable compares, moved on by n chunks.
func (u *transferUnits) hash(a transfer, n int32) uint64 {
	s, r := &u.d.Insts[a.send], &u.d.Insts[a.recv]
	h := uint64(14695981039346656037)
	for _, x := range [...]int32{a.depth, a.height, int32(a.next), s.Rank, r.Rank, s.Part, s.Src + n, r.Dst + n, int32(r.Op)<<16 | int32(s.SrcBuf)<<8 | int32(r.DstBuf)} {
		h = (h ^ uint64(uint32(x))) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// A transfer is a send with its receive, and what they must agree in to merge.
type transfer struct {
	send, recv    int32
	depth, height int32
	from, next    uint32 // signatures of where the data come from and go next
}

type transferUnits struct {
	d             *ir.InstDAG
	depth, height []int32 // by instruction; both ends of a transfer have one depth and height
	list          []transfer
}

func transfers(d *ir.InstDAG) *transferUnits {
	u := &transferUnits{d: d}
	u.measure()
	from, next := signatures(d)
	for i := range d.Insts {
		if in := &d.Insts[i]; in.Op == ir.Send {
			r := in.SendMate
			u.list = append(u.list, transfer{int32(i), r, u.depth[i], u.height[i], from[i], next[r]})
		}
	}
	return u
}

// measure finds depth and height of transfers and local operations, each a
// node of one: a transfer has the dependences of both its ends.
func (u *transferUnits) measure() {
	d := u.d
	u.depth, u.height = make([]int32, len(d.Insts)), make([]int32, len(d.Insts))
	bySeq := d.BySeq()
	for _, i := range bySeq {
		for _, j := range d.Deps.Of(int(i)) {
			u.depth[i] = max(u.depth[i], u.depth[j]+1)
		}
		if r := d.Insts[i].RecvMate; r >= 0 { // stands right after its send
			u.depth[i] = max(u.depth[i], u.depth[r])
			u.depth[r] = u.depth[i]
		}
	}
	for k := len(bySeq) - 1; k >= 0; k-- {
		i := bySeq[k]
		if r := d.Insts[i].SendMate; r >= 0 {
			u.height[i] = max(u.height[i], u.height[r])
			u.height[r] = u.height[i]
			u.raise(r)
		}
		u.raise(i)
	}
}

func (u *transferUnits) raise(i int32) {
	for _, j := range u.d.Deps.Of(int(i)) {
		u.height[j] = max(u.height[j], u.height[i]+1)
	}
}

// signatures says, for each send, from which rank the very chunks that it sends
// were received (0: from none), and for each receive to which ranks the very
// chunks go on (the order does not matter).
func signatures(d *ir.InstDAG) (from, next []uint32) {
	from, next = make([]uint32, len(d.Insts)), make([]uint32, len(d.Insts))
	for i := range d.Insts {
		if r := forwarded(d, int32(i)); r >= 0 {
			from[i] = uint32(d.Insts[r].RecvPeer) + 1
			next[r] += (uint32(d.Insts[i].SendPeer) + 1) * 0x9e3779b1
		}
	}
	return from, next
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
	if !r.Op.Info().Receives || r.DstBuf != in.SrcBuf || r.Dst != in.Src || r.Count != in.Count || r.Class != in.Class || r.Part != in.Part {
		return -1
	}
	return deps[0]
}

// mergeable says whether b goes on where a ends, and is alike in all else.
func (u *transferUnits) mergeable(a, b transfer) bool {
	s, t := &u.d.Insts[a.send], &u.d.Insts[b.send]
	r, q := &u.d.Insts[a.recv], &u.d.Insts[b.recv]
	n := s.Count
	return a.depth == b.depth && a.height == b.height && a.from == b.from && a.next == b.next &&
		s.Rank == t.Rank && r.Rank == q.Rank && s.Part == t.Part && s.Hint == t.Hint && r.Op == q.Op &&
		s.SrcBuf == t.SrcBuf && s.Src+n == t.Src && r.DstBuf == q.DstBuf && r.Dst+n == q.Dst &&
		r.SrcBuf == q.SrcBuf && (r.SrcBuf == ir.NoBuf || r.Src+n == q.Src) &&
		(u.d.Even || (s.Class+n)%int32(max(u.d.Coll.Chunks, 1)) == t.Class)
}

func (u *transferUnits) absorb(a, b transfer) {
	s, r, t := &u.d.Insts[a.send], &u.d.Insts[a.recv], &u.d.Insts[b.send]
	s.Count += t.Count
	r.Count += t.Count
	if t.Seq < s.Seq {
		s.Seq, s.SendSeq = t.Seq, t.SendSeq
	}
}

// resequence numbers the source order anew: by depth, and within one depth as
// before, each receive after its send.
func (u *transferUnits) resequence() {
	d := u.d
	var heads []int32
	for i := range d.Insts {
		if d.Insts[i].RecvMate < 0 {
			heads = append(heads, int32(i))
		}
	}
	slices.SortFunc(heads, func(a, b int32) int {
		return cmp.Or(cmp.Compare(u.depth[a], u.depth[b]), cmp.Compare(d.Insts[a].Seq, d.Insts[b].Seq), cmp.Compare(d.Insts[a].Src, d.Insts[b].Src))
	})
	for k, i := range heads {
		in := &d.Insts[i]
		in.Seq, in.SendSeq = int32(2*k), int32(2*k)
		if r := in.SendMate; r >= 0 {
			d.Insts[r].Seq, d.Insts[r].SendSeq = int32(2*k+1), int32(2*k+1)
		}
	}
}
