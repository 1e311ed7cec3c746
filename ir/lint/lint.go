// Package lint finds parts of a channel program that are legal, but slow or fragile in MSCCL++'s executor. Its findings
// are only warnings: the author may want such a part. ir/verify and channels.Check find errors.
package lint

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// What runs well: the threads of a bundle, and the multiprocessors of the smallest GPU that is common (A100), all of
// whose blocks run at once.
const (
	bundle   = 32
	resident = 108
)

// Channels lists what is slow or fragile in p, each finding once, at the first operation that has it, in the order of
// the program. p must be well formed, as a reader leaves it.
func Channels(p *ir.ChannelProgram) diag.List {
	l := linter{p: p, memory: ir.NewMemory(p.Coll, scratchOf(p))}
	l.all = make([]uses, len(p.Ranks))
	for r := range p.Ranks {
		l.rank, l.uses = r, &l.all[r]
		for b, ops := range p.Ranks[r].Blocks {
			l.block = b
			l.run(ops, false)
			l.busy(ops)
		}
	}
	l.pair()
	l.switches()
	for r := range p.Ranks {
		l.rank, l.uses = r, &l.all[r]
		l.wholeRank()
	}
	l.rank, l.block, l.op = -1, -1, -1
	if p.Threads%bundle != 0 {
		l.at(diag.LintThreads, -1,
			"the number of threads of a block is %d, no multiple of the %d that run together: some of the last ones idle",
			p.Threads, bundle)
	}
	return l.found.List()
}

func scratchOf(p *ir.ChannelProgram) []int32 {
	var n []int32
	for i := range p.Ranks {
		n = append(n, p.Ranks[i].Scratch)
	}
	return n
}

// A linter goes through the blocks of all ranks.
type linter struct {
	p               *ir.ChannelProgram
	memory          *ir.Memory
	rank, block, op int
	all             []uses // of each rank
	uses            *uses  // of rank
	found           diag.Kinds
}

// uses is what the operations of a rank use.
type uses struct {
	channels   [ir.NumChannelTypes][]bool
	semaphores []bool
	scratch    bool
	together   bool    // blocks wait for each other
	moved      []int64 // by block, in parts of a chunk
}

func (l *linter) at(code diag.Code, pos int32, format string, args ...any) {
	d := diag.New(code, l.p.Place(pos), format, args...)
	d.Rank, d.Block, d.Step = l.rank, l.block, l.op
	l.found.Add(d, format)
}

// run looks at operations that follow each other: a block's, or a loop's, which go round.
func (l *linter) run(ops []ir.ChannelOp, loop bool) {
	for i := range ops {
		l.op = i
		l.meet(ops, i, loop)
		if i > 0 {
			l.fuse(&ops[i-1], &ops[i])
		}
		l.self(&ops[i])
		before := i - 1
		for before >= 0 && ops[before].Kind == ir.ChMeet {
			before--
		}
		if before >= 0 {
			l.onward(&ops[before], &ops[i])
		}
		if ops[i].Kind == ir.ChLoop {
			l.run(ops[i].Body, true)
		}
	}
	if !loop {
		l.relax(ops)
	}
}

// wholeRank looks at what is of a rank and no operation.
func (l *linter) wholeRank() {
	c := &l.p.Ranks[l.rank]
	l.block, l.op = -1, -1
	if n := len(c.Blocks); l.uses.together && n > resident {
		l.at(diag.LintResident, -1,
			"rank %d has %d blocks that wait for each other; on a GPU that does not run all at once they wait for good, and the executor does not ask", l.rank, n)
	}
	for t, list := range c.Channels {
		for i := range list {
			if i >= len(l.uses.channels[t]) || !l.uses.channels[t][i] {
				l.at(diag.LintUnused, -1, "rank %d has channel %d of a type, which no operation uses: it is connected all the same",
					l.rank, i)
			}
		}
	}
	for i := range c.Semaphores {
		if i >= len(l.uses.semaphores) || !l.uses.semaphores[i] {
			l.at(diag.LintUnused, -1, "rank %d has semaphore %d, which no operation uses", l.rank, i)
		}
	}
	if c.Scratch > 0 && !l.uses.scratch {
		l.at(diag.LintUnused, -1, "rank %d has %d chunks of scratch, which no operation of its own uses", l.rank, c.Scratch)
	}
	l.balance()
}

// balance compares the blocks of a rank by what they move.
func (l *linter) balance() {
	most, all, busy := int64(0), int64(0), int64(0)
	for b, n := range l.uses.moved {
		l.block = b
		if len(l.p.Ranks[l.rank].Blocks[b]) == 0 {
			l.at(diag.LintIdle, -1, "block %d of rank %d does nothing, and takes a multiprocessor", b, l.rank)
			continue
		}
		busy++
		most, all = max(most, n), all+n
	}
	l.block = -1
	if busy > 1 && most*busy > 2*all {
		l.at(diag.LintIdle, -1,
			"one block of rank %d moves %.1f times what its %d blocks do on average: the others wait for it", l.rank,
			float64(most*busy)/float64(max(all, 1)), busy)
	}
}
