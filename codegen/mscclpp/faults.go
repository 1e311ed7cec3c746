package mscclpp

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/text"
)

// Faults finds what MSCCL++'s own executor would do wrong with p, which may be right as it stands: warnings with codes
// of their own (diag.Code.Warning), each once, at the first operation that has it. What depends on the caller (its data
// types, its other plans, how many blocks its GPU runs at once) a plan does not show.
func Faults(p *ir.ChannelProgram) diag.List {
	x := faultFinder{p: p, acquired: map[int32]int{}}
	x.threads = fewestThreads(p)
	for r := range p.Ranks {
		x.rank = r
		clear(x.acquired)
		for b, ops := range p.Ranks[r].Blocks {
			x.block = b
			for i := range ops {
				x.op = i
				x.operation(&ops[i], nil)
				for k := range ops[i].Body {
					x.operation(&ops[i].Body[k], &ops[i])
				}
			}
		}
		x.block, x.op = -1, -1
		x.half()
	}
	x.rank = -1
	x.whole()
	return x.found.List()
}

// A faultFinder keeps the first of each kind and counts the others.
type faultFinder struct {
	p               *ir.ChannelProgram
	rank, block, op int
	packets         bool
	threads         int           // that a block needs
	acquired        map[int32]int // of a semaphore of the rank: the block that acquires it
	found           diag.Kinds
}

// graphHint says what to do about packets in graphs.
const graphHint = "where calls are captured in CUDA graphs, compile with --protocol Simple"

func (x *faultFinder) at(code diag.Code, pos int32, format string, args ...any) {
	if x.found.More(code, format) {
		return
	}
	d := diag.New(code, x.p.Place(pos), format, args...)
	if code == diag.MSCCLPPGraph {
		d = d.WithHint(graphHint)
	}
	d.Rank, d.Block, d.Step = x.rank, x.block, x.op
	x.found.Add(d, format)
}

func (x *faultFinder) operation(o, loop *ir.ChannelOp) {
	if n := threadsOf(o); n > x.p.Threads {
		x.at(diag.MSCCLPPThreads, o.Pos, "%s takes %d threads, one for each channel or semaphore, and a block has %s: "+
			"the executor leaves out the others; the plan needs %d", opText{x.p, o, x.rank}, n,
			diag.Counted(x.p.Threads, "thread"), x.threads)
	}
	switch o.Kind {
	case ir.ChFlush:
		x.at(diag.MSCCLPPFlush, o.Pos, "the executor's flush waits for nothing")
	case ir.ChAcquire:
		for _, s := range o.Semaphores {
			if b, ok := x.acquired[s]; ok && b != x.block {
				x.at(diag.MSCCLPPSemaphore, o.Pos,
					"block %d of rank %d acquires semaphore %d, and so does block %d: a release may wake neither", x.block,
					x.rank, s, b)
			}
			x.acquired[s] = x.block
		}
	case ir.ChLoop:
		if o.Unit%16 != 0 {
			x.at(diag.MSCCLPPAlign, o.Pos,
				"a loop iteration is %d bytes, no multiple of the 16 that the executor moves at once", o.Unit)
		}
		if turns := x.chunkBytes(x.rank) * float64(o.Chunks) / float64(o.Unit); turns > math.MaxUint16 {
			x.at(diag.MSCCLPPLoop, o.Pos, "the loop can take %.0f loop iterations, which the executor counts in 16 bits",
				math.Ceil(turns))
		}
	default:
		if o.Kind.Info().Moves {
			x.move(o, loop)
		}
	}
}

// An opText is the text of an operation, made only where something is said of it.
type opText struct {
	p    *ir.ChannelProgram
	o    *ir.ChannelOp
	rank int
}

func (t opText) String() string { return text.OpText(t.p, t.rank, t.o) }

func (x *faultFinder) move(o, loop *ir.ChannelOp) {
	text := opText{x.p, o, x.rank}
	own := func(r *ir.ChannelRef) bool { return r.Of(x.rank) }
	x.far(o, text)
	packets, plainFar, portSource := false, false, false
	for i, list := range [][]ir.ChannelRef{o.Srcs, o.Dsts} {
		for k := range list {
			r := &list[k]
			packets = packets || r.Packets
			plain := r.Buf == ir.Scratch && !r.Packets
			portSource = portSource || o.Type == ir.PortChannel && i == 0 && own(r) && r.Buf != ir.Scratch
			if portSource && x.p.Coll.Inplace && x.smaller(x.rank, r.Buf) {
				x.at(diag.MSCCLPPPart, o.Pos, "%s has a port read a part of memory, for which the executor takes "+
					"the memory's beginning", text)
			}
			plainFar = plainFar || plain && (!own(r) || o.Type == ir.PortChannel && i == 0)
		}
	}
	x.packets = x.packets || packets
	if plainFar && x.p.DoubleScratch {
		x.at(diag.MSCCLPPDouble, o.Pos, "%s uses the first half of scratch in every launch", text)
	}
	switch {
	case portSource:
		x.at(diag.MSCCLPPPort, o.Pos, "%s is right only in a buffer that begins where its allocation does", text)
	case o.Type == ir.PortChannel && o.Kind == ir.ChEach && packets:
		x.at(diag.MSCCLPPPort, o.Pos, "%s names its source as the first context does, whoever calls", text)
	}
	if o.Reduce != ir.ReduceSum {
		x.at(diag.MSCCLPPReduce, o.Pos, "%s is a sum to the executor", text)
	}
	if o.Kind == ir.ChEach && o.Type == ir.MemoryChannel {
		x.pairs(o, text)
	}
	if o.Kind == ir.ChMove && x.p.Reuse && len(o.Srcs) > 1 && own(&o.Srcs[1]) && !packets && !own(&o.Dsts[len(o.Dsts)-1]) {
		x.at(diag.MSCCLPPReuse, o.Pos, "%s finds its input by the buffers of its output, where scratch is reused", text)
	}
	if loop != nil {
		x.inLoop(o, loop, packets, text)
	}
}

// far looks at how an operation names the memory of other ranks.
func (x *faultFinder) far(o *ir.ChannelOp, text opText) {
	for _, list := range [][]ir.ChannelRef{o.Srcs, o.Dsts} {
		for i := range list {
			if r := &list[i]; r.Rank == ir.AllRanks {
				for _, rank := range x.p.Ranks[x.rank].Channels[ir.SwitchChannel][r.Switch].Group {
					x.farOf(o, r, int(rank), text)
				}
			} else if int(r.Rank) != x.rank {
				x.farOf(o, r, int(r.Rank), text)
			}
		}
	}
}

// farOf looks at how an operation names memory of a rank.
func (x *faultFinder) farOf(o *ir.ChannelOp, r *ir.ChannelRef, rank int, text opText) {
	p, own, c := x.p, &x.p.Ranks[x.rank], &x.p.Ranks[rank]
	switch {
	case r.Packets && p.DoubleScratch && !p.Reuse && c.Scratch != own.Scratch:
		x.at(diag.MSCCLPPHalves, o.Pos, "%s finds the upper half of rank %d's scratch of %d chunks as that of its own %d",
			text, rank, c.Scratch, own.Scratch)
	case r.Buf == ir.Scratch && p.Reuse && c.Scratch != own.Scratch:
		x.at(diag.MSCCLPPRoom, o.Pos, "%s finds chunks in rank %d's scratch of %d chunks as in its own of %d",
			text, rank, c.Scratch, own.Scratch)
	case r.Buf == ir.Scratch:
	case p.Coll.Inplace && x.smaller(rank, r.Buf):
		x.at(diag.MSCCLPPPart, o.Pos, "%s names a part of rank %d's memory, whose place there the executor takes "+
			"to be that of rank %d's own part", text, rank, x.rank)
	case p.Reuse:
		x.at(diag.MSCCLPPFirst, o.Pos, "%s is of rank %d's buffer in the first call, also in later calls: "+
			"resources are reused", text, rank)
	}
}

// smaller reports whether a buffer of a rank is the smaller of its two.
func (x *faultFinder) smaller(rank int, b ir.Buf) bool {
	c := &x.p.Ranks[rank]
	return c.In < c.Out && b == ir.Input || c.Out < c.In && b == ir.Output
}

// Pairs looks at a get, and at a put through memory.
func (x *faultFinder) pairs(o *ir.ChannelOp, text opText) {
	for i := range o.Srcs {
		switch {
		case !o.Srcs[i].Of(x.rank) && o.Srcs[i].Index != o.Dsts[i].Index:
			x.at(diag.MSCCLPPGet, o.Pos, "%s has other chunks at its two ends, which the executor swaps", text)
			return
		case o.Srcs[i].Of(x.rank) && o.Srcs[i].Buf != o.Srcs[0].Buf:
			x.at(diag.MSCCLPPPut, o.Pos, "%s has sources in several buffers, which the executor takes for the first's", text)
			return
		}
	}
}

func (x *faultFinder) inLoop(o, loop *ir.ChannelOp, packets bool, text opText) {
	switch {
	case packets:
		x.at(diag.MSCCLPPLoop, o.Pos, "%s moves all its packets in every loop iteration", text)
	case o.Dsts[0].Count != loop.Chunks:
		x.at(diag.MSCCLPPLoop, o.Pos, "%s has %d chunks in a loop of %d", text, o.Dsts[0].Count, loop.Chunks)
	case o.Parts > 1:
		x.at(diag.MSCCLPPLoop, o.Pos, "%s is a part of a group in a loop, and takes other bytes than it should", text)
	}
}
