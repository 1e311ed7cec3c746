package core

import (
	"cmp"
	"iter"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// depth is the number of copies of scratch and packets, unless launches have one pass. Where a rank has several lanes,
// some are passes ahead of others, so there are more, or as many as the options say.
func (l *State) depth() int32 {
	switch {
	case l.lanes <= 1:
		return 2
	case l.opt.Copies > 0:
		return int32(min(max(l.opt.Copies, 2), MostCopies))
	}
	return UsualCopies
}

// copies is that number: where launches have one pass, packets alone have two, and only if no other
// rank, and no port, accesses plain scratch, which MSCCL++ would not double: what ports put is copied there.
func (l *State) copies() int32 {
	if !l.onePass {
		return l.depth()
	}
	packets := false
	for i := range l.moves {
		m := &l.moves[i]
		for _, list := range [2][]spot{m.srcs, m.dsts} {
			for _, x := range list {
				if x.buf == ir.Scratch && x.rank != m.rank || x.via == ir.ViaPort {
					return 1
				}
				packets = packets || x.buf == ir.Packets
			}
		}
	}
	if packets {
		return l.depth()
	}
	return 1
}

// A State is what travels through Table: first runs, then Moves, then Moves with dependences, an order and groups, and
// in the end all that is signalled and awaited. What a pass has not made yet is nil.
type State struct {
	layout               // that c is written for
	views   []layout     // of all placements that the program is for: that one, and the one in place where opt.Both
	c       *ir.ChunkDAG // from moves on without its operations
	opt     Options
	even    bool
	onePass bool
	most    int   // Moves
	lanes   int32 // of each rank: one, unless assign makes more

	slots int32   // places of scratch and packets so far; see spot
	class []int32 // of what a cell of input, output or scratch holds
	room  []spot  // for lists of operands

	runs  []oneRun // up to moves
	moves []oneMove
	deps  depList // of Moves

	order  []int32    // Moves in the order in which they are to run
	deep   []int32    // of a Move: on how many others it depends that follow each other
	groups []oneGroup // nil where each Move is one by itself
	places places

	sync  *oneSync
	trial trial
	joint []oneGroup // that join tries next
	cost  int        // of synchronisation between the groups as they were
}

// newState is c before the first pass.
func newState(c *ir.ChunkDAG, opt Options) *State {
	l := &State{c: c, opt: opt, layout: newLayout(c.Coll), onePass: opt.OnePass, even: opt.Even || opt.OnePass, lanes: 1}
	l.views = []layout{l.layout}
	if opt.Both {
		coll := *c.Coll
		coll.Inplace = true
		l.views = append(l.views, newLayout(&coll))
	}
	l.most = cmp.Or(opt.MaxInsts, ir.UsualInsts)
	return l
}

// list makes a list of operands, which grows into no other.
func (l *State) list(n int) []spot {
	if len(l.room) < n {
		l.room = make([]spot, max(n, 4096))
	}
	list := l.room[:n:n]
	l.room = l.room[n:]
	return list
}

// one is a list of one operand.
func (l *State) one(x spot) []spot {
	list := l.list(1)
	list[0] = x
	return list
}

// A spot is the first chunk of an operand. Chunks of Scratch and Packets are
// numbered over all ranks, each for one value; emit gives them their places.
type spot struct {
	rank, index int32 // ir.AllRanks through the switch
	buf         ir.Buf
	via         ir.Via
}

// A oneMove is a Move to be, or no more if it has no destinations.
type oneMove struct {
	srcs, dsts []spot
	rank       int32
	lane       int32 // of its rank
	label      int32 // 1 + the lane that the author asks for, or 0
	count      int32
	class      int32
	pos        int32
}

// blocks is how many blocks there are: a lane of all ranks, then the next. What a block knows of one lane is much alike
// for all ranks, so that rows of clocks have long runs.
func (l *State) blocks() int32 { return l.n * l.lanes }

// blockOf is the block that runs Move i.
func (l *State) blockOf(i int32) int32 { return l.moves[i].lane*l.n + l.moves[i].rank }

// rankOf is the rank of a block.
func (l *State) rankOf(block int32) int32 { return block % l.n }

// laneOf is the lane of a block.
func (l *State) laneOf(block int32) int32 { return block / l.n }

// firstOf is the first block of a rank. It tells that the rank's launch has begun, and is told what is over when it
// ends.
func (l *State) firstOf(rank int32) int32 { return rank }

// blocksOf are the blocks of a rank, by lane.
func (l *State) blocksOf(rank int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for b := rank; b < l.blocks() && yield(b); b += l.n {
		}
	}
}

// cells is the number of cells.
func (l *State) cells() int32 { return l.input + l.slots }

// away says whether two ranks are of different nodes.
func (l *State) away(a, b int32) bool { return l.opt.Nodes != nil && l.opt.Nodes[a] != l.opt.Nodes[b] }

// user says whether x is of input or output.
func (x spot) user() bool { return x.buf <= ir.Output }

// lasts says whether what x holds is of launches, not of passes: its rank's launch must have begun when others access
// it.
func (l *State) lasts(x spot) bool { return x.user() || l.onePass && x.buf == ir.Scratch }

// slot makes count new places of scratch and packets.
func (l *State) slot(count int32) int32 {
	at := l.slots
	l.slots += count
	return at
}

// tooLarge is the error of a program with so many moves, or chunks of memory.
func (l *State) tooLarge(pos int32, moves int) error {
	if moves <= l.most {
		return diag.List{diag.New(diag.Limit, l.c.Span(pos),
			"the program has more than %d chunks of memory, the most that can be numbered", ir.MostCells)}
	}
	d := diag.New(diag.Limit, l.c.Span(pos), "the program has more than %d moves", l.most)
	return diag.List{d.WithHint("%s", ir.MoreInsts(moves))}
}

// full says whether l has more than it may have.
func (l *State) full() bool {
	return len(l.moves) > l.most || int64(l.input)+int64(l.slots) > ir.MostCells
}

// beside says whether x and y, count chunks each, lie in one buffer and do not overlap.
func (x spot) beside(y spot, count int32) bool {
	gap := x.index - y.index
	return x.rank == y.rank && x.rank != ir.AllRanks && x.buf == y.buf && max(gap, -gap) >= count
}
