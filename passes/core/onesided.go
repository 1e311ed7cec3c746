// Package core is the one-sided lowering, that of MSCCL++. Lower makes of a chunk DAG a program whose steps move data of
// any rank's memory, and the signals and waits that these need. It may import ir, ir/diag, ir/eval and ir/vclock.
package core

import (
	"cmp"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// Options steer Lower.
type Options struct {
	Even     bool // sizes always divide, so that chunks of all classes are equally long
	OnePass  bool // a launch runs one pass, as plans of MSCCL++ do: see ir.OneSided
	MaxInsts int  // limit of moves; 0 is ir.UsualInsts
}

// Lower writes the operations of c as a one-sided program: Moves of any
// rank's memory, with all synchronisation that they need and none that others
// imply. c is not changed. Parallelize and Instances ask for nothing here: a
// launch runs the program in as many columns as it likes.
//
// It goes in five stages, each a file:
//
//   - runs (runs.go): the operations in order of depth, neighbours
//     merged, and every value that scratch holds in a place of its own;
//   - moves (moves.go): who acts, and in which form;
//   - fuse (fuse.go): one Move where several pass on the same data;
//   - order (order.go): groups of Moves, by critical path;
//   - sync (sync.go, rotate.go): signals and waits, by clocks of
//     all ranks; and where threads need not meet (joint.go).
//
// Where opt.OnePass, no wait is for a signal of another launch. Scratch that others write is ready when its rank's launch is known to have
// begun, as input and output are, and so are packets of which two copies do not tell that they have been read.
//
// Everything up to order rewrites a list of Moves whose order is its meaning,
// and in which each stands behind all that it must follow: so that a wait for
// what is earlier in the list, on any rank, can close no cycle.
func Lower(c *ir.ChunkDAG, opt Options) (*ir.Program, error) {
	l := &oneSided{c: c, n: int32(c.Coll.Ranks), mem: ir.NewMemory(c.Coll, nil), even: opt.Even || opt.OnePass, onePass: opt.OnePass}
	l.input = int32(l.mem.Len())
	l.most = cmp.Or(opt.MaxInsts, ir.UsualInsts)
	runs, err := l.runs()
	if err != nil {
		return nil, err
	}
	if err := l.makeMoves(l.merge(runs)); err != nil {
		return nil, err
	}
	header := *c
	header.Ops, header.Srcs = nil, nil // the caller may have no more need of them
	l.c = &header
	l.fuse()
	groups := l.order()
	return l.emit(l.sync(groups))
}

// depth is the number of copies of scratch and packets, unless launches have one pass.
const depth = 2

// copies is that number: where launches have one pass, packets alone have two, and only if no other
// rank, and no port, accesses plain scratch, which MSCCL++ would not double: what ports put is copied there.
func (l *oneSided) copies() int32 {
	if !l.onePass {
		return depth
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
		return depth
	}
	return 1
}

// A oneSided is the state of one Lower.
type oneSided struct {
	c       *ir.ChunkDAG
	n       int32      // ranks
	mem     *ir.Memory // cells of input and output
	input   int32      // how many these are
	even    bool
	onePass bool
	most    int // Moves

	slots int32   // places of scratch and packets so far; see spot
	class []int32 // of what a cell of input, output or scratch holds

	moves []oneMove
	deps  depList
	room  []spot // for lists of operands
}

// list makes a list of operands, which grows into no other.
func (l *oneSided) list(n int) []spot {
	if len(l.room) < n {
		l.room = make([]spot, max(n, 4096))
	}
	list := l.room[:n:n]
	l.room = l.room[n:]
	return list
}

// one is a list of one operand.
func (l *oneSided) one(x spot) []spot {
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
	count      int32
	class      int32
	pos        int32
}

// cell numbers the chunk of all memory that x begins at on rank, which is x's
// own or any of a switch's. Each place is of scratch or of packets, never of both, so that it is one cell.
func (l *oneSided) cell(x spot, rank int32) int32 {
	if !x.user() {
		return l.input + x.index
	}
	return int32(l.mem.Cell(int(rank), x.buf, int(x.index)))
}

// cells is the number of cells.
func (l *oneSided) cells() int32 { return l.input + l.slots }

// user says whether x is of input or output.
func (x spot) user() bool { return x.buf <= ir.Output }

// lasts says whether what x holds is of launches, not of passes: its rank's launch must have begun when others access it.
func (l *oneSided) lasts(x spot) bool { return x.user() || l.onePass && x.buf == ir.Scratch }

// each calls f with the cells of count chunks from x on, of one rank after the other: those from first to end.
func (l *oneSided) each(x spot, count int32, f func(first, end int32)) {
	if x.rank != ir.AllRanks {
		at := l.cell(x, x.rank)
		f(at, at+count)
		return
	}
	for r := range l.n {
		at := l.cell(x, r)
		f(at, at+count)
	}
}

// all says whether f holds of every cell of count chunks from x on.
func (l *oneSided) all(x spot, count int32, f func(cell int32) bool) bool {
	ok := true
	l.each(x, count, func(first, end int32) {
		for c := first; ok && c < end; c++ {
			ok = f(c)
		}
	})
	return ok
}

// fill sets the cells of count chunks from x on in list.
func (l *oneSided) fill(list []int32, x spot, count, value int32) {
	l.each(x, count, func(first, end int32) {
		for c := first; c < end; c++ {
			list[c] = value
		}
	})
}

// slot makes count new places of scratch and packets.
func (l *oneSided) slot(count int32) int32 {
	at := l.slots
	l.slots += count
	return at
}

// tooLarge is the error of a program with so many moves, or chunks of memory.
func (l *oneSided) tooLarge(pos int32, moves int) error {
	if moves <= l.most {
		return diag.List{diag.New(diag.Limit, l.c.Span(pos), "the program has more than %d chunks of memory, the most that can be numbered", ir.MostCells)}
	}
	return diag.List{diag.New(diag.Limit, l.c.Span(pos), "the program has more than %d moves", l.most).WithHint("%s", ir.MoreInsts(moves))}
}

// full says whether l has more than it may have.
func (l *oneSided) full() bool {
	return len(l.moves) > l.most || int64(l.input)+int64(l.slots) > ir.MostCells
}
