package fifo

import (
	"cmp"
	"slices"

	"mscclc/ir"
)

// A localPlacer puts the local operations of a program into blocks.
type localPlacer struct {
	*blocks
	tbs   map[hintTB]*hinted
	users ir.Edges
	votes map[int32]int32 // dependences that the operation at hand shares with a block
	voted []int32         // blocks with votes
	idle  map[port]*minHeap[int64]
	most  int   // steps that a block may have; 0 is no limit
	steps []int // of a block, with the nops that are likely
}

// A port is the blocks of one rank that may serve a part; on one channel, or
// where that is -1 on any.
type port struct{ rank, part, channel int32 }

// locals puts the local operations into blocks, in source order: where the
// author said, else with the operation that accumulated into the same chunks
// just before, else into the block with which it shares most dependences; the
// least loaded where several do.
//
// A block that has most steps takes no more, where most is not 0.
func (b *blocks) locals(tbs map[hintTB]*hinted, most int) {
	if !slices.ContainsFunc(b.d.Insts, func(in ir.Inst) bool { return in.Block < 0 }) {
		return
	}
	p := &localPlacer{blocks: b, tbs: tbs, most: most, steps: make([]int, len(b.list)), users: b.d.Deps.Reverse(),
		votes: make(map[int32]int32), idle: make(map[port]*minHeap[int64])}
	for _, i := range b.d.BySeq() {
		in := &b.d.Insts[i]
		if in.Block < 0 {
			in.Block = p.choose(i, in)
			in.Channel = b.list[in.Block].Channel
			b.load[in.Block]++
		}
		p.count(i, in.Block)
	}
}

// cost returns how many steps instruction i is likely to be in block k: a nop
// carries each wait but one, and all waits of a reduction, which go to the
// first of its chain.
func (p *localPlacer) cost(i, k int32) int {
	waits := 0
	for _, j := range p.d.Deps.Of(int(i)) {
		if p.d.Insts[j].Block != k {
			waits++
		}
	}
	if p.d.Insts[i].Op == ir.Reduce {
		return 1 + waits
	}
	return max(1, waits)
}

func (p *localPlacer) count(i, k int32) {
	if p.most == 0 {
		return
	}
	for int(k) >= len(p.steps) { // a block that an author's number, or nothing else, made
		p.steps = append(p.steps, 0)
	}
	p.steps[k] += p.cost(i, k)
}

// full reports whether block k has no room for instruction i.
func (p *localPlacer) full(i, k int32) bool {
	return p.most > 0 && int(k) < len(p.steps) && p.steps[k]+p.cost(i, k) > p.most
}

// localTB returns the block that a hint names for a local operation: the one that
// receives, since that is the one that writes.
func localTB(h *ir.Hint) int32 {
	if h.RecvTB >= 0 {
		return h.RecvTB
	}
	return h.SendTB
}

func (p *localPlacer) choose(i int32, in *ir.Inst) int32 {
	h := &p.d.Hints[in.Hint]
	if tb := localTB(h); tb >= 0 {
		key := hintTB{in.Rank, in.Part, tb}
		return p.numbered(end{rank: in.Rank, part: in.Part, channel: p.tbs[key].channel}, key)
	}
	serves := func(k int32) bool {
		return p.list[k].part == in.Part && (h.Channel < 0 || p.list[k].Channel == h.Channel) && !p.full(i, k)
	}
	clear(p.votes)
	p.voted = p.voted[:0]
	vote := func(k int32) {
		if k < 0 || !serves(k) {
			return
		}
		if p.votes[k]++; p.votes[k] == 1 {
			p.voted = append(p.voted, k)
		}
	}
	for _, j := range p.d.Deps.Of(int(i)) {
		o := &p.d.Insts[j]
		if in.Op == ir.Reduce && o.Block >= 0 && serves(o.Block) && o.RecvMate < 0 && o.DstBuf == in.DstBuf &&
			o.Dst == in.Dst && o.Count == in.Count {
			return o.Block // goes on with what that operation accumulated
		}
		vote(o.Block)
	}
	for _, j := range p.users.Of(int(i)) {
		vote(p.d.Insts[j].Block)
	}
	if len(p.voted) == 0 {
		return p.leastLoaded(port{in.Rank, in.Part, h.Channel})
	}
	best := p.voted[0]
	for _, k := range p.voted[1:] {
		if cmp.Or(cmp.Compare(p.votes[best], p.votes[k]), cmp.Compare(p.load[k], p.load[best]), cmp.Compare(k, best)) < 0 {
			best = k
		}
	}
	return best
}

// leastLoaded returns the block of at with the fewest instructions; a new one
// where there is none. What it has found before lies in a heap by load, in
// which an entry may lag behind the load.
func (p *localPlacer) leastLoaded(at port) int32 {
	heap := p.idle[at]
	if heap == nil {
		heap = &minHeap[int64]{}
		p.idle[at] = heap
		for _, k := range p.byRank[at.rank] {
			if p.list[k].part == at.part && (at.channel < 0 || p.list[k].Channel == at.channel) {
				heap.push(int64(p.load[k])<<32 | int64(k))
			}
		}
	}
	for len(*heap) > 0 {
		e := heap.pop()
		k := int32(e)
		heap.push(int64(p.load[k])<<32 | int64(k))
		if int32(e>>32) == p.load[k] {
			return k
		}
	}
	k := p.add(end{rank: at.rank, part: at.part, channel: max(at.channel, 0)})
	heap.push(int64(p.load[k])<<32 | int64(k))
	return k
}
