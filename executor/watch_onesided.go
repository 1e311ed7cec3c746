package executor

import (
	"fmt"

	"mscclc/executor/data"
	"mscclc/ir"
)

// layOne makes the tables of a launch of a one-sided program, in one column.
func (w *Watch) layOne(img *Image, p *OneParams) error {
	if w.Probe != nil && !w.Probe.inOne(img, p) {
		return fmt.Errorf("rank %d has no %v[%d] of 8 bytes to look at", w.Probe.Rank, w.Probe.Buf, w.Probe.Index)
	}
	w.Actions, w.First = img.One.Actions(p.Passes)
	return w.holds()
}

// Actions returns those of a launch of one column: each step of each pass in which it runs, block by block. first is
// where those of a block begin.
func (o *OneImage) Actions(passes uint64) (list []Action, first []uint64) {
	for b := range o.Blocks {
		first = append(first, uint64(len(list)))
		steps := o.Steps[o.Blocks[b].FirstStep:][:o.Blocks[b].Steps]
		for pass := range passes {
			for i := range steps {
				flags := ir.StepFlags(steps[i].Flags)
				if pass > 0 && flags&ir.Enter != 0 || pass+1 < passes && flags&ir.Leave != 0 {
					continue
				}
				list = append(list, Action{Step: uint32(i), Tile: uint32(pass)})
			}
		}
	}
	return list, append(first, uint64(len(list)))
}

// inOne says whether c is a chunk of plain memory, of 8 bytes at least in the first pass.
func (c *Chunk) inOne(img *Image, p *OneParams) bool {
	coll := img.Program.Coll
	if c.Rank < 0 || c.Rank >= coll.Ranks || c.Index < 0 {
		return false
	}
	class := coll.Class(c.Index)
	if c.Buf == ir.Scratch {
		class = 0
	}
	geo := data.Geometry{Coll: coll, Elems: int64(p.Elems), Chunk: int64(p.Chunk)}
	b := &imageBuilder{p: img.Program}
	return c.Buf <= ir.Scratch && c.Pass >= 0 && uint64(c.Pass) < p.Passes && c.Index < (&oneBuilder{imageBuilder: b}).chunks(c.Rank, c.Buf) && geo.Length(class)*int64(p.ElemSize) >= 8
}

// Address is where a chunk of plain memory begins in a pass, in the first column; m is its rank's memory.
func (p *OneParams) Address(m *OneMemory, c *Chunk) uint64 {
	if c.Buf == ir.Scratch {
		return m.Scratch + uint64(c.Pass)%uint64(p.Depth)*p.ScratchCopy + uint64(c.Index)*p.ScratchStride
	}
	base, chunks := m.Input, uint64(p.Chunks)
	if c.Buf == ir.Output {
		base = m.Output
	}
	piece, k := uint64(c.Index)/chunks, uint64(c.Index)%chunks
	return base + (piece*p.Elems+min(k*p.Chunk, p.Elems))*uint64(p.ElemSize) + uint64(c.Pass)*p.Tile
}
