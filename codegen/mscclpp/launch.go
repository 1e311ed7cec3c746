package mscclpp

import (
	"cmp"
	"math"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file fits what MSCCL++'s executor takes from the whole plan: the size of scratch, the threads of a block, the
// message sizes, and by which buffer it finds the memory of other ranks.

// reusedBytes is the scratch of all plans that reuse resources, in bytes of data.
const reusedBytes = 1 << 26

// FitLaunch gives c the buffers, the scratch, the threads and the message sizes with which MSCCL++'s executor runs it
// right, as far as its Sizes allow. It changes c. It returns what is wrong where no message size is left, a
// warning where Sizes are cut, or nil.
func FitLaunch(c *ir.ChannelProgram) *diag.Diagnostic {
	fitBuffers(c)
	fitScratch(c)
	c.Threads = max(c.Threads, fewestThreads(c))
	return fitSizes(c)
}

// fitBuffers gives ranks that have no input, or no output, as many chunks of it as others have: the executor divides by
// both.
func fitBuffers(c *ir.ChannelProgram) {
	in, out := int32(0), int32(0)
	for r := range c.Ranks {
		in, out = max(in, c.Ranks[r].In), max(out, c.Ranks[r].Out)
	}
	for r := range c.Ranks {
		k := &c.Ranks[r]
		k.In, k.Out = cmp.Or(k.In, in, out), cmp.Or(k.Out, out, in)
	}
}

// fitScratch gives each rank as many chunks of scratch as the largest has, where a rank finds places in the scratch of
// others by the size of its own. So the executor finds the upper of two halves, and a chunk of scratch that is reused.
func fitScratch(c *ir.ChannelProgram) {
	if !c.DoubleScratch && !c.Reuse {
		return
	}
	most, unit := int32(0), int32(1)
	for r := range c.Ranks {
		most, unit = max(most, c.Ranks[r].Scratch), max(unit, halfUnit(c, r))
	}
	for r := range c.Ranks {
		c.Ranks[r].Scratch = (most + unit - 1) / unit * unit
	}
}

// halfUnit returns a number of chunks. Where rank r's scratch is a multiple of it, its upper half begins at a multiple
// of 16 bytes. The executor's chunk is the caller's allocation, a multiple of 512 bytes, divided by the chunks of
// input.
func halfUnit(c *ir.ChannelProgram, r int) int32 {
	if n := c.Ranks[r].In; !c.DoubleScratch || c.Reuse || n&(n-1) == 0 {
		return 1
	}
	return int32(16 / scratchBytes(c, 1))
}

// scratchBytes returns how many bytes of one half of scratch n bytes of data take.
func scratchBytes(c *ir.ChannelProgram, n int64) int64 {
	if c.Protocol != ir.Simple {
		return 2 * n
	}
	return n
}

// fewestThreads returns how many threads a block needs for the operations of c that give each channel or semaphore a
// thread.
func fewestThreads(c *ir.ChannelProgram) (most int) {
	for r := range c.Ranks {
		for _, ops := range c.Ranks[r].Blocks {
			for i := range ops {
				most = max(most, threadsOf(&ops[i]))
				for k := range ops[i].Body {
					most = max(most, threadsOf(&ops[i].Body[k]))
				}
			}
		}
	}
	return most
}

// threadsOf returns how many threads an operation gives a channel or a semaphore each.
func threadsOf(o *ir.ChannelOp) int {
	switch info := o.Kind.Info(); {
	case info.Semaphores:
		return len(o.Semaphores)
	case info.Moves && o.Type != ir.PortChannel:
		return 1
	}
	return max(1, len(o.Channels))
}

// reusedChunk returns how many bytes a chunk may have so that each has a place of its own in the scratch of all plans
// that reuse resources.
func reusedChunk(c *ir.ChannelProgram) int64 {
	room, all := int64(math.MaxInt64), int64(reusedBytes)
	if c.DoubleScratch {
		all /= 2
	}
	align := int64(max(c.Align, 1))
	for r := range c.Ranks {
		chunk := all / int64(max(c.Ranks[r].Scratch, 1)) / align * align
		if c.Ranks[r].Scratch == 0 {
			chunk = 0
		}
		for _, ops := range c.Ranks[r].Blocks {
			for i := range ops {
				if inScratch(&ops[i]) {
					room = min(room, chunk)
				}
				// Where an iteration begins the executor wraps.
				if slices.ContainsFunc(ops[i].Body, func(o ir.ChannelOp) bool { return inScratch(&o) }) {
					room = min(room, chunk/int64(max(ops[i].Chunks, 1)))
				}
			}
		}
	}
	return room
}

// inScratch reports whether an operation has an operand in scratch, of any rank.
func inScratch(o *ir.ChannelOp) bool {
	is := func(r ir.ChannelRef) bool { return r.Buf == ir.Scratch }
	return slices.ContainsFunc(o.Srcs, is) || slices.ContainsFunc(o.Dsts, is)
}

// messageChunks returns how many chunks the bytes of a message are, as the executor counts it: the input, or of
// allgather the output.
func messageChunks(c *ir.ChannelProgram) int64 {
	k := &c.Ranks[0]
	if c.Coll.Kind == ir.AllGather {
		return int64(max(k.Out, 1))
	}
	return int64(max(cmp.Or(k.In, k.Out), 1))
}

// fitSizes has message sizes be those for which the executor finds everything in 32 bits, counts all iterations of
// loops and has room in scratch. The largest is one that it takes, whose chunks are multiples of the alignment.
func fitSizes(c *ir.ChannelProgram) *diag.Diagnostic {
	unit, message := int64(c.Coll.Divisor()), messageChunks(c) // unit: chunks of a call's bytes
	most, why := int64(math.MaxInt64), "MSCCL++'s 32 bits wrap"
	for r := range c.Ranks {
		k := &c.Ranks[r]
		scratch := scratchBytes(c, int64(k.Scratch))
		if c.DoubleScratch {
			scratch *= 2
		}
		// It makes scratch for as many chunks of input as the largest message has bytes.
		most = min(most, math.MaxUint32/max(int64(k.In), int64(k.Out), scratch, 1)*message,
			math.MaxUint32/max(scratch, 1)*int64(cmp.Or(k.In, k.Out)))
	}
	most = min(most, turnsRoom(c, message))
	if c.Reuse {
		if chunk := reusedChunk(c); chunk < most/message {
			most, why = chunk*message, "there is no room in the 64 MiB of scratch that MSCCL++ reuses"
		}
	}
	asked, room := (c.Sizes.Max-1)/unit*message, most
	if c.Sizes.Max > 0 {
		most = min(most, asked)
	}
	step := message * int64(max(c.Align, 1))
	least := (c.Sizes.Min + unit - 1) / unit * message
	c.MinBytes, c.MaxBytes = uint64(max(least, 0)), uint64(max(most, 0)/step*step)
	var d diag.Diagnostic
	switch {
	case least > math.MaxInt32:
		d = diag.New(diag.Limit, diag.Span{}, "sizes begin at %d bytes: MSCCL++ reads that with 31 bits", least)
	case least > most:
		d = diag.New(diag.Limit, diag.Span{}, "the file's sizes begin at %d bytes, and from %d on %s",
			least, most+1, why)
	case c.MaxBytes < max(c.MinBytes, 1):
		d = diag.New(diag.Limit, diag.Span{}, "MSCCL++ takes multiples of %d bytes, and none of them is in the file's sizes",
			step)
	case asked > room:
		d = diag.New(diag.MSCCLPPSize, diag.Span{},
			"the file's sizes go up to %d bytes, and the plan's only up to %d: above, %s", asked, c.MaxBytes, why)
	default:
		return nil
	}
	return &d
}

// turnsRoom returns the largest message whose loops take no more turns than the executor counts.
func turnsRoom(c *ir.ChannelProgram, message int64) int64 {
	most := int64(math.MaxInt64)
	for r := range c.Ranks {
		for _, ops := range c.Ranks[r].Blocks {
			for i := range ops {
				if o := &ops[i]; o.Kind == ir.ChLoop && o.Unit < math.MaxInt32 && o.Chunks > 0 {
					most = min(most, o.Unit*math.MaxUint16/int64(o.Chunks)*message)
				}
			}
		}
	}
	return most
}

// NameLarger returns p with the memory of other ranks named through the larger of their two buffers, where the
// collective is in place: the smaller begins elsewhere in the memory of each rank, and the executor takes its place
// there to be that of the rank's own. In place each rank has the larger buffer, of which rank q's smaller one is piece
// q. So it is with what a port reads of its own rank, whose memory it knows from its beginning on. The proof
// (channels.Check) takes the names of the collective, without NameLarger. p is not changed.
func NameLarger(p *ir.ChannelProgram) *ir.ChannelProgram {
	if !p.Coll.Inplace {
		return p
	}
	out := *p
	out.Ranks = slices.Clone(p.Ranks)
	for r := range out.Ranks {
		blocks := slices.Clone(out.Ranks[r].Blocks)
		for b := range blocks {
			blocks[b] = largerNames(p.Coll, int32(r), blocks[b])
		}
		out.Ranks[r].Blocks = blocks
	}
	return &out
}

// largerNames does so for the operations of a block or of a loop of rank own.
func largerNames(c *ir.Collective, own int32, ops []ir.ChannelOp) []ir.ChannelOp {
	named := func(list []ir.ChannelRef, all bool) []ir.ChannelRef {
		list = slices.Clone(list)
		for i := range list {
			if all || list[i].Rank != own {
				list[i] = LargerName(c, list[i])
			}
		}
		return list
	}
	ops = slices.Clone(ops)
	for i := range ops {
		o := &ops[i]
		o.Srcs, o.Dsts = named(o.Srcs, o.Type == ir.PortChannel), named(o.Dsts, false)
		o.Body = largerNames(c, own, o.Body)
	}
	return ops
}

// LargerName returns r by the name of the larger buffer of its rank, in which c has the smaller one begin. It returns r
// itself out of place, and for a switch, which is of several ranks.
func LargerName(c *ir.Collective, r ir.ChannelRef) ir.ChannelRef {
	if !c.Inplace || r.Rank < 0 || r.Buf > ir.Output {
		return r
	}
	larger, at := ir.Input, int32(0)
	switch c.Kind {
	case ir.AllGather, ir.Gather:
		larger, at = ir.Output, r.Rank*int32(c.Chunks)
	case ir.ReduceScatter, ir.Scatter:
		at = r.Rank * int32(c.Chunks)
	default:
		if in, out := c.InChunks(int(r.Rank)), c.OutChunks(int(r.Rank)); in == out {
			return r
		} else if out > in {
			larger = ir.Output
		}
	}
	if r.Buf != larger {
		r.Buf, r.Index = larger, r.Index+at
	}
	return r
}
