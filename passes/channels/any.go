package channels

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// # Any number of turns
//
// p(T) is the program in T turns. If p(1) is proven, and what anyTurns asks for holds, then p(T) is right for each T,
// also where turns have unequal shares of the bytes.
//
// What is asked for. All loops have the same bytes a turn, so that all do T turns. The loops' runs of chunks that
// overlap, one of them written, are the same run: so turn t of one and turn u of another touch the same bytes for t = u
// alone, and the bytes of p(T)'s turn t are some of p(1)'s turn. Loops that signal a flag are as many as those that
// await it, the first is the first's partner and so on, partners do it equally often a turn, and at least what is
// awaited before the one is signalled before the other. Then loops are in phases, at most one of a block in each: no
// loop is of a phase before its signals' loops', or that of the loop before it in its block. In p(1), what is before
// the loops of a phase in their blocks, and all that the phase waits for in others, waits for nothing in these loops,
// and these for nothing after them. Where threads relay what they acquired without a block barrier, and a loop signals
// or awaits one of the flags, one thread always does that: a group of p(T) may be of two turns, and has the flag at one
// place all the same.
//
// p(T) ends. Let its steps follow each other so: for each phase what it waits for outside of its loops, then its first
// turn in all blocks, its second, and so on. No step waits for one after it: an await in turn t takes a signal of turn
// t or of one before, since no more is awaited before turn t than is signalled before it, or of a phase before; outside
// of loops, an await takes the signal that it takes in p(1), or one of a loop that lies before it in p(1), as the
// partners of all loops before it are before its signal's. And steps of one turn, or of what lies between two phases,
// wait for each other in no more ways than in p(1), which ends.
//
// p(T) does not race. Map the steps of p(1) to those of p(T), the turns to turns t. What orders two steps in p(1)
// orders these: threads that meet between two steps meet between their images, and if an await takes a signal, then its
// image takes the signal's image or a later one of that block, which releases all that an earlier one does (the image
// of an await counts the turns that the image of its signal counts, and perhaps more). That holds across launches too.
// Two accesses of p(T) that conflict are of one turn t, or one of them is of no loop: so they are images of two that
// conflict in p(1), which are ordered there.
//
// p(T) has p(1)'s result. Byte by byte, the same operations access it, in the same order, and move it from and to the
// same place in chunks. Where operations of loops are of thread block groups, a byte is one of another block's part
// than in p(1); so loops are then asked to go over one chunk, and what stands outside loops not to be of groups: there
// is a byte in p(1) that has the same place in the parts, and all else takes chunks as a whole.

// A turnChecker says whether what is proven of a program in one turn holds for any number.
type turnChecker struct {
	u      *unroller
	blocks []*unrolled
	loops  [][]turnLoop                   // of a block
	flags  map[onesided.Operand]*turnFlag // by rank and index
	sent   [][][2]int32                   // of a rank's chunk of packets: the block and the step that send it
	before [][]int32                      // by loop: those that it waits for
	phase  []int32                        // of a loop
	work   int64
}

// A turnLoop is where the steps of a loop lie in a block.
type turnLoop struct {
	first, end int32
	number     int32 // among all
}

// A turnFlag is who signals and awaits a flag: the block and the step, for each.
type turnFlag struct{ signals, awaits [][2]int32 }

// anyTurns says why what holds of p in one turn, which u is, is not known to hold in any number; nil where it does.
func (u *unroller) anyTurns() diag.List {
	c := &turnChecker{u: u, flags: map[onesided.Operand]*turnFlag{}}
	for _, ask := range []func() *diag.Diagnostic{c.oneRate, c.sameRuns, c.sameParts, c.sameThreads, c.phases} {
		if d := ask(); d != nil {
			d.Hint = "mscclc run proves the number of loop iterations that it runs"
			return diag.List{*d}
		}
	}
	return nil
}

// undecided returns a problem of an operation of a loop's body, or of another.
func (c *turnChecker) undecided(rank int32, at source, pos int32, format string, args ...any) *diag.Diagnostic {
	at.turn = -1
	d := diag.New(diag.Undecided, c.u.p.Span(pos), "%s %s", at.name(rank), fmt.Sprintf(format, args...))
	d.Rank, d.Block, d.Step = int(rank), int(at.block), int(at.op)
	return &d
}

// eachOp calls f for the operations of all blocks, and for those in loops with the loop, until f finds something.
func (c *turnChecker) eachOp(f func(rank int32, at source, o, loop *ir.ChannelOp) *diag.Diagnostic) *diag.Diagnostic {
	for r := range c.u.p.Ranks {
		for b, ops := range c.u.p.Ranks[r].Blocks {
			for i := range ops {
				o := &ops[i]
				at := source{block: int32(b), op: int32(i), inner: -1, what: o}
				if d := f(int32(r), at, o, nil); d != nil {
					return d
				}
				for j := range o.Body {
					at.inner, at.what = int32(j), &o.Body[j]
					if d := f(int32(r), at, &o.Body[j], o); d != nil {
						return d
					}
				}
			}
		}
	}
	return nil
}

// oneRate asks that all loops have the same bytes of a chunk in a turn.
func (c *turnChecker) oneRate() *diag.Diagnostic {
	return c.eachOp(func(rank int32, at source, o, _ *ir.ChannelOp) *diag.Diagnostic {
		if o.Kind != ir.ChLoop || perChunk(o).Cmp(perChunk(c.u.least)) == 0 {
			return nil
		}
		d := c.undecided(rank, at, o.Pos,
			"has more bytes of a chunk per loop iteration than another loop: how many loop iterations each does is not decided for all sizes")
		*d = d.WithNote(c.u.p.Span(c.u.least.Pos), "the other")
		return d
	})
}

// A turnRun is a run of cells that an operation of a loop goes over, and who writes it.
type turnRun struct {
	cell, count int32
	pos         int32
}

// sameRuns asks that runs of loops that overlap are the same run, where one of them is written.
func (c *turnChecker) sameRuns() *diag.Diagnostic {
	p := c.u.p
	scratch := make([]int32, len(p.Ranks))
	for r := range p.Ranks {
		scratch[r] = p.Ranks[r].Scratch
	}
	mem := ir.NewMemory(p.Coll, scratch)
	written := make([]int32, mem.Len()) // 1 + the run of a loop that is written there
	runs := []turnRun{{}}
	each := func(writes bool, f func(run turnRun) *turnRun) *diag.Diagnostic {
		return c.eachOp(func(rank int32, at source, o, loop *ir.ChannelOp) *diag.Diagnostic {
			if loop == nil {
				return nil
			}
			list := o.Srcs
			if writes {
				list = o.Dsts
			}
			for i := range list {
				for _, r := range c.u.ranksOf(rank, &list[i]) {
					if other := f(turnRun{int32(mem.Cell(int(r), list[i].Buf, int(list[i].Index))), list[i].Count,
						o.Pos}); other != nil {
						d := c.undecided(rank, at, o.Pos,
							"goes over chunks that another operation of a loop writes, which begins or ends elsewhere: what a loop iteration of one does to other loop iterations of the other depends on how many there are")
						*d = d.WithNote(p.Span(other.pos), "the other")
						return d
					}
				}
			}
			return nil
		})
	}
	meets := func(run turnRun) *turnRun {
		for cell := run.cell; cell < run.cell+run.count; cell++ {
			if w := &runs[written[cell]]; written[cell] > 0 && (w.cell != run.cell || w.count != run.count) {
				return w
			}
		}
		return nil
	}
	if d := each(true, func(run turnRun) *turnRun {
		if other := meets(run); other != nil {
			return other
		}
		for cell := run.cell; cell < run.cell+run.count; cell++ {
			written[cell] = int32(len(runs))
		}
		runs = append(runs, run)
		return nil
	}); d != nil {
		return d
	}
	return each(false, meets)
}

// sameParts asks that, where loops have parts of thread block groups, these loops go over one chunk each, and nothing
// else has parts.
func (c *turnChecker) sameParts() *diag.Diagnostic {
	inLoops := false
	if d := c.eachOp(func(rank int32, at source, o, loop *ir.ChannelOp) *diag.Diagnostic {
		if loop == nil || o.Parts < 2 {
			return nil
		}
		if inLoops = true; loop.Chunks > 1 {
			return c.undecided(rank, at, o.Pos,
				"is one of a thread block group, and goes over %d chunks: which block has which byte depends on the loop iterations",
				loop.Chunks)
		}
		return nil
	}); d != nil || !inLoops {
		return d
	}
	return c.eachOp(func(rank int32, at source, o, loop *ir.ChannelOp) *diag.Diagnostic {
		if loop != nil || o.Parts < 2 {
			return nil
		}
		return c.undecided(rank, at, o.Pos,
			"is one of a thread block group, as operations in loops are: which parts match there depends on the loop iterations")
	})
}

// sameThreads asks that one thread signals, and one awaits, each flag of a loop that has a part in what threads release
// without meeting.
func (c *turnChecker) sameThreads() *diag.Diagnostic {
	p := c.u.program
	relayed := p.Relayed()
	if relayed == nil {
		return nil
	}
	type use struct {
		rank, flag int32
		op         ir.Op
	}
	place, looped, on, several := map[use]int{}, map[use]bool{}, map[use]bool{}, map[use]int32{}
	for i := range p.Steps {
		s := &p.Steps[i]
		for k := int(s.Src); !s.Op.Moves() && k < int(s.Dst)+int(s.NDst); k++ {
			x, at := p.Operands[k], k-int(s.Src)
			key := use{x.Rank, x.Index, s.Op}
			if before, known := place[key]; known && before != at {
				several[key] = int32(i)
			}
			place[key], looped[key], on[key] = at, looped[key] || c.u.sources[i].inner >= 0, on[key] || relayed[k]
			if i, bad := several[key]; bad && looped[key] && on[key] {
				rank, _, _ := p.Place(i)
				return c.undecided(int32(rank), c.u.sources[i], p.Steps[i].Pos,
					"is at a signal or a wait of a loop by another thread than before, and threads pass on what they know without a block barrier: which loop iterations they signal depends on how many there are")
			}
		}
	}
	return nil
}
