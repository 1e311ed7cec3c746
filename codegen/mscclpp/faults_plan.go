package mscclpp

import (
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file finds the faults of a whole plan, and of the scratch of its ranks.

// whole looks at what is of the plan and of no operation.
func (x *faultFinder) whole() {
	p := x.p
	if p.Align%16 != 0 {
		x.at(diag.MSCCLPPAlign, -1, "the alignment is %d bytes, no multiple of the 16 that the executor moves at once",
			p.Align)
	}
	if x.packets {
		x.at(diag.MSCCLPPGraph, -1,
			"the plan has packets, whose flag is fixed when a graph is captured: a replay can take those of the replay before")
		if p.Protocol == ir.Simple && !p.Reuse {
			x.at(diag.MSCCLPPScratch, -1,
				"the plan has packets and protocol Simple, for which the executor makes scratch of half their size")
		}
	}
	if chunk := reusedChunk(p); p.Reuse && float64(p.MaxBytes)/float64(messageChunks(p)) > float64(chunk) {
		x.at(diag.MSCCLPPRoom, -1, "messages may have %s; above %s "+
			"chunks do not fit into the 64 MiB of scratch that is reused, and overwrite each other", bytesText(p.MaxBytes),
			diag.SizeText(chunk*messageChunks(p)))
	}
	most := p.MaxBytes
	if most >= 1<<32 {
		x.at(diag.MSCCLPPSize, -1, "messages may have %s; from 4 GiB on the executor's 32 bits wrap", bytesText(most))
		return
	}
	for r := range p.Ranks {
		if scratch := x.chunkBytes(r) * x.scratchChunks(r); scratch >= 1<<32 && !p.Reuse {
			x.rank = r
			x.at(diag.MSCCLPPSize, -1, "a message of %s needs %s of scratch; from 4 GiB on the executor's 32 bits wrap",
				bytesText(most), bytesText(uint64(scratch)))
		}
	}
	x.rank = -1
}

// chunkBytes returns the length of rank r's chunks in the largest message that the executor can count.
func (x *faultFinder) chunkBytes(r int) float64 {
	n := x.p.Ranks[r].In
	if x.p.Coll.Kind == ir.AllGather {
		n = x.p.Ranks[r].Out
	}
	return float64(min(x.p.MaxBytes, math.MaxUint32)) / float64(max(n, 1))
}

// scratchChunks returns how much scratch the executor makes for rank r, in chunks of data.
func (x *faultFinder) scratchChunks(r int) float64 {
	n := float64(x.p.Ranks[r].Scratch)
	if x.p.Protocol != ir.Simple {
		n *= 2
	}
	if x.p.DoubleScratch {
		n *= 2
	}
	return n
}

// half looks at where the upper half of the rank's scratch begins. The executor's chunk of scratch is the caller's
// allocation or the largest message, whichever is less, divided by the chunks of input.
func (x *faultFinder) half() {
	p, c := x.p, &x.p.Ranks[x.rank]
	if !p.DoubleScratch || p.Reuse || c.Scratch == 0 || c.In == 0 || p.Align == 0 {
		return
	}
	unit, align := halfUnit(p, x.rank), int64(p.Align)
	if c.Scratch%unit != 0 {
		x.at(diag.MSCCLPPHalves, -1, "rank %d has %d chunks of scratch and %d of input: the upper half of its scratch "+
			"may begin at no multiple of 16 bytes; with %d chunks it does", x.rank, c.Scratch, c.In,
			(c.Scratch+unit-1)/unit*unit)
		return
	}
	if most := p.MaxBytes; most < 1<<32 {
		chunk := (int64(most) + int64(c.In) - 1) / int64(c.In)
		if whole := 2 * scratchBytes(p, chunk*int64(c.Scratch)); (whole+align-1)/align*align/2%16 != 0 {
			x.at(diag.MSCCLPPHalves, -1, "messages have up to %d bytes, no multiple of %d: in a longer allocation "+
				"the upper half of rank %d's scratch begins at no multiple of 16 bytes", most, 16*int64(c.In), x.rank)
		}
	}
}

// bytesText returns a number of bytes as text. The largest is that of a plan that states none.
func bytesText(n uint64) string {
	if n > math.MaxInt64 {
		return "any number of bytes"
	}
	return diag.SizeText(int64(n))
}
