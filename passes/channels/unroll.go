// Package channels defines the meaning of channel programs, from files and from execution plans of MSCCL++. Unroll
// makes a one-sided program from a channel program, for a given number of iterations of its loops. Check proves the
// channel program for every such number. OutOfPlace converts a channel program that works in place into one that works
// out of place.
package channels

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// Bounds of what is unrolled.
const (
	maxParts  = 1 << 10 // of a chunk
	maxUnroll = 1 << 22 // steps
	maxChunks = 1 << 22 // of all ranks' buffers, as parts
)

// Unroll makes the one-sided program that p means where its loop of the fewest bytes a turn does a number of turns, and
// the others as many as they then do. Chunks are cut into as many equal parts as turns and thread block groups need,
// and the program's collective and buffers have that many times their chunks. A step's Pos is that of the operation
// that it is of. Its error is a diag.List.
//
// What a block does is a block. The k-th channel of a type there and the k-th back are two flags, each at the end that
// awaits it; an await takes the signal of its place among the awaits there (Operand.Nth), and so with semaphores, whose
// first value shifts that. A barrier is signals to one of its blocks and back. An end is signalled and awaited equally
// often in a launch; several blocks may, in an order that is fixed (share.go). Where the threads of a block do not
// meet, steps are Joint, signals and awaits too. A launch has one pass (OneSided.OnePass): the end of a kernel orders
// what its rank does.
//
// Packets become chunks of ir.Packets, one for each block that reads them; those that nobody reads are left out, unless
// they can break a later launch.
//
// A port copies by itself: what a block puts through a port channel is the steps of another
// block, after those of the rank, which the block signals by a flag, so that a put's data is on its way until a signal
// after it has come or a flush is over. A launch may end before its ports do: these steps are Loose. Packets that a
// port is to pass on the block itself awaits first.
func Unroll(p *ir.ChannelProgram, turns int) (*onesided.Program, error) {
	u, err := unroll(p, turns)
	if err != nil {
		return nil, err
	}
	return u.program, nil
}

// An unroller makes one program.
type unroller struct {
	p     *ir.ChannelProgram
	turns int
	least *ir.ChannelOp // the loop of the fewest bytes a turn, or nil
	parts int32         // that a chunk is cut into
	found diag.List
	// unread has warnings of packets that nothing reads
	unread diag.List

	blocks  [][]*unrolled // of each rank: its own, and after them its ports'
	steps   int
	ends    map[endKey]*ends
	order   []*ends              // in the order in which they came up
	meets   map[[2]int32][]int32 // of a rank's barrier: the blocks that come to it
	flags   []int32              // by rank: how many
	lying   int32                // a rank's first chunk of scratch that is packets as they lie: after all of its buffers
	program *onesided.Program
	sources []source // of a step of the program
	twice   []sentTwice
}

// An unrolled is a block in the making.
type unrolled struct {
	rank  int32
	owner int32 // the block that it is, or that puts through it
	steps []unrolledStep
	open  bool // the threads have done something since they met
	group int  // the step with which that began
	ports map[int32]*unrolled
	asked asked  // of a port
	room  int32  // of a rank's scratch: where the block puts what packets hold that it waits for
	at    source // of the operation that is looked at
	pos   int32
}

// An asked is what a port was last asked for between two meetings of the threads that ask it.
type asked struct {
	group  int   // of the steps of the block that asks
	thread int32 // that asked first
	first  int   // the port's first step that does it
	mixed  bool  // several threads asked
}

// A source is the operation of a block that a step is of.
type source struct {
	block, op, inner int32 // inner: in a loop's body, else -1
	turn             int32 // of the loop, from 0; -1 is any
	what             *ir.ChannelOp
	lies             bool // it copies packets as they lie
}

// An unrolledStep is a step in the making. Packets lie where they lie in scratch.
type unrolledStep struct {
	op         ir.Op
	flags      ir.StepFlags
	count      int32
	srcs, dsts []onesided.Operand
	waits      bool // for packets, and moves them nowhere
	lies       bool // it copies packets as they lie, and waits for none
	pos        int32
	of         source
}

// unroll is Unroll. Where it fails, the unroller has what was found.
func unroll(p *ir.ChannelProgram, turns int) (*unroller, error) {
	u := &unroller{p: p, turns: turns, least: leastLoop(p), ends: map[endKey]*ends{}, meets: map[[2]int32][]int32{}}
	u.check()
	if len(u.found) == 0 {
		u.divide()
	}
	if len(u.found) == 0 {
		u.ranks()
		u.matched()
		u.share()
		u.apart()
	}
	if len(u.found) == 0 {
		u.packets()
	}
	if len(u.found) > 0 {
		return u, u.found.Folded()
	}
	u.build()
	return u, nil
}

// ranks unrolls the blocks of all ranks.
func (u *unroller) ranks() {
	u.blocks, u.flags = make([][]*unrolled, len(u.p.Ranks)), make([]int32, len(u.p.Ranks))
	for r := range u.p.Ranks {
		u.rank(int32(r))
	}
}

// rank unrolls the blocks of a rank.
func (u *unroller) rank(r int32) {
	for b := range u.p.Ranks[r].Blocks {
		k := &unrolled{rank: r, owner: int32(b), ports: map[int32]*unrolled{},
			steps: make([]unrolledStep, 0, len(u.p.Ranks[r].Blocks[b]))}
		u.blocks[r] = append(u.blocks[r], k)
	}
	u.meeting(r)
	u.ports(r)
	for b, ops := range u.p.Ranks[r].Blocks {
		k := u.blocks[r][b]
		for i := range ops {
			k.at = source{block: int32(b), op: int32(i), inner: -1, what: &ops[i]}
			if ops[i].Kind == ir.ChLoop {
				u.loop(k, &ops[i])
			} else {
				u.do(k, &ops[i], count(&ops[i]), 0, 1)
			}
			if u.steps > maxUnroll {
				u.say(k, diag.Limit, "the program has more than %d steps when its loops are unrolled", maxUnroll)
				return
			}
		}
	}
}

// loop unrolls a loop, of which turn i does part i of the bytes.
func (u *unroller) loop(k *unrolled, o *ir.ChannelOp) {
	turns := u.turnsOf(o)
	for turn := range turns {
		for i := range o.Body {
			k.at.inner, k.at.turn, k.at.what = int32(i), turn, &o.Body[i]
			u.do(k, &o.Body[i], o.Chunks, turn, turns)
			if u.steps > maxUnroll {
				return
			}
		}
	}
}

// do appends the steps of an operation in turn i of n.
func (u *unroller) do(k *unrolled, o *ir.ChannelOp, chunks, turn, turns int32) {
	k.pos = o.Pos
	switch info := o.Kind.Info(); {
	case info.Moves:
		at, n := u.span(o, chunks, turn, turns)
		u.move(k, o, at, n)
	case o.Kind == ir.ChMeet:
		k.open = false
	case o.Kind == ir.ChBarrier:
		u.barrier(k, o)
	case info.Signals:
		u.signal(k, o)
	case info.Awaits:
		u.await(k, o)
	case info.Flushes:
		u.flush(k, o.Channels)
	case o.Kind == ir.ChAcquire:
		u.acquire(k, o)
	case o.Kind == ir.ChRelease:
		u.release(k, o)
	}
}

// add appends a step to the group of the block that is open.
func (u *unroller) add(k *unrolled, s unrolledStep) {
	if k.open {
		s.flags |= ir.Joint
	} else {
		k.group = len(k.steps)
	}
	k.open = true
	s.pos, s.of = k.pos, k.at
	k.steps = append(k.steps, s)
	u.steps++
}

// say notes a problem of the operation that block k is at.
func (u *unroller) say(k *unrolled, code diag.Code, format string, args ...any) *diag.Diagnostic {
	return u.sayAt(k.rank, k.at, k.pos, code, format, args...)
}

func (u *unroller) sayAt(rank int32, at source, pos int32, code diag.Code, format string,
	args ...any) *diag.Diagnostic {
	if len(u.found) >= diag.MaxUnfolded {
		return &diag.Diagnostic{}
	}
	u.found = append(u.found, u.problem(rank, at, pos, code, format, args...))
	return &u.found[len(u.found)-1]
}

// problem returns what is to be said of an operation.
func (u *unroller) problem(rank int32, at source, pos int32, code diag.Code, format string,
	args ...any) diag.Diagnostic {
	d := diag.New(code, u.p.Span(pos), "%s %s", at.name(rank), fmt.Sprintf(format, args...))
	d.Rank, d.Block, d.Step = int(rank), int(at.block), int(at.op)
	return d
}
