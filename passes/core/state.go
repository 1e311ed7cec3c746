package core

import (
	"cmp"
	"iter"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// depth returns the number of copies of scratch and packets, unless launches have one pass. If ranks have several
// lanes, some lanes are passes ahead of others, so there are UsualCopies, or as many as the options say.
func (l *State) depth() int32 {
	switch {
	case l.lanes <= 1:
		return 2
	case l.opt.Copies > 0:
		return int32(min(max(l.opt.Copies, 2), MostCopies))
	}
	return UsualCopies
}

// copies returns the number of copies. If launches have one pass, only packets have two copies, and only if no other
// rank and no port accesses plain scratch: MSCCL++ would not double that, and ports copy to it.
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

// A State is what the passes of Table rewrite: first runs, then Moves, then Moves with dependences, an order and
// groups, and in the end all signals and waits. A field is nil until a pass makes it.
type State struct {
	layout               // the placement that c is written for
	views   []layout     // all placements that the program is for: that one, and the one in place if opt.Both
	c       *ir.ChunkDAG // without its operations from pass moves on
	opt     Options
	even    bool
	onePass bool
	most    int   // the most Moves
	lanes   int32 // the most lanes of a rank: one, unless assign makes more

	slots int32   // how many slots of scratch and packets there are so far; see spot
	class []int32 // by cell of input, output and scratch: the class of what it holds, in pass runs
	room  []spot  // memory for lists of operands

	runs  []oneRun // up to pass moves
	moves []oneMove
	deps  depList // by Move

	order  []int32    // Moves in the order in which they are to run
	deep   []int32    // by Move: the length of the longest chain of Moves that it depends on
	groups []oneGroup // nil if each Move is a group of its own
	places places

	sync  *oneSync
	trial trial
	joint []oneGroup // the groups that join tries next
	cost  int        // of the synchronisation between the groups as they were before join
}

// newState returns the State of c before the first pass.
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

// list returns a list of operands, to which append copies.
func (l *State) list(n int) []spot {
	if len(l.room) < n {
		l.room = make([]spot, max(n, 4096))
	}
	list := l.room[:n:n]
	l.room = l.room[n:]
	return list
}

// one returns a list of one operand.
func (l *State) one(x spot) []spot {
	list := l.list(1)
	list[0] = x
	return list
}

// A spot is the first chunk of an operand. Chunks of scratch and packets are slots: they are numbered over all ranks,
// and each holds one value. place numbers them by rank.
type spot struct {
	rank, index int32 // rank is ir.AllRanks if the switch moves it
	buf         ir.Buf
	via         ir.Via
}

// A oneMove is a Move. It is removed if it has no destinations.
type oneMove struct {
	srcs, dsts []spot
	rank       int32
	lane       int32 // of its rank
	label      int32 // 1 + the author's hint lane, or 0
	count      int32
	class      int32
	pos        int32
}

// blocks returns how many blocks there are. They are numbered by lane, and within a lane by rank. What a block knows of
// one lane is much the same for all ranks, so that rows of clocks have long runs.
func (l *State) blocks() int32 { return l.n * l.lanes }

// blockOf returns the block that runs Move i.
func (l *State) blockOf(i int32) int32 { return l.moves[i].lane*l.n + l.moves[i].rank }

// rankOf returns the rank of a block.
func (l *State) rankOf(block int32) int32 { return block % l.n }

// laneOf returns the lane of a block.
func (l *State) laneOf(block int32) int32 { return block / l.n }

// firstOf returns the first block of a rank. This block signals that the rank's launch has begun, and waits at its end
// for accesses of other ranks.
func (l *State) firstOf(rank int32) int32 { return rank }

// blocksOf returns the blocks of a rank, by lane.
func (l *State) blocksOf(rank int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for b := rank; b < l.blocks() && yield(b); b += l.n {
		}
	}
}

// cells returns the number of cells.
func (l *State) cells() int32 { return l.input + l.slots }

// away reports whether two ranks are of different nodes.
func (l *State) away(a, b int32) bool { return l.opt.Nodes != nil && l.opt.Nodes[a] != l.opt.Nodes[b] }

// user reports whether x is of input or output.
func (x spot) user() bool { return x.buf <= ir.Output }

// lasts reports whether x holds data of launches, not of passes. Others may access it only if its rank's launch has
// begun.
func (l *State) lasts(x spot) bool { return x.user() || l.onePass && x.buf == ir.Scratch }

// slot makes count new slots of scratch or packets, and returns the first.
func (l *State) slot(count int32) int32 {
	at := l.slots
	l.slots += count
	return at
}

// tooLarge returns the error of a program with too many moves, or chunks of memory.
func (l *State) tooLarge(pos int32, moves int) error {
	if moves <= l.most {
		return diag.List{diag.New(diag.Limit, l.c.Span(pos),
			"the program has more than %d chunks of memory, the most that can be numbered", ir.MostCells)}
	}
	d := diag.New(diag.Limit, l.c.Span(pos), "the program has more than %d moves", l.most)
	return diag.List{d.WithHint("%s", ir.MoreInsts(moves))}
}

// full reports whether l has more Moves, or slots, than it may have.
func (l *State) full() bool {
	return len(l.moves) > l.most || int64(l.input)+int64(l.slots) > ir.MostCells
}

// beside reports whether x and y, which have count chunks each, lie in one buffer and do not overlap.
func (x spot) beside(y spot, count int32) bool {
	gap := x.index - y.index
	return x.rank == y.rank && x.rank != ir.AllRanks && x.buf == y.buf && max(gap, -gap) >= count
}
