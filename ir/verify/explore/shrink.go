package explore

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// Shrink makes p smaller, one step, wait, flag or chunk after the other, as
// long as still holds.
func Shrink(p *fifo.Program, still func(*fifo.Program) bool) *fifo.Program {
	for again := true; again; {
		again = false
		for i := range p.Steps {
			for _, smaller := range []func(*draft, *draftBlock, int){removeStep, removeWait, removeFlag, removeChunk} {
				d := edit(p)
				b, k := d.at(i)
				if b == nil {
					break
				}
				smaller(d, b, k)
				if q := d.build(); !slices.Equal(q.Steps, p.Steps) && still(q) {
					p, again = q, true
					break
				}
			}
			if again {
				break
			}
		}
	}
	return dropBlocks(p, still)
}

// at finds the step numbered i.
func (d *draft) at(i int) (*draftBlock, int) {
	for _, b := range d.blocks {
		if i < len(b.steps) {
			return b, i
		}
		i -= len(b.steps)
	}
	return nil, 0
}

func removeStep(d *draft, b *draftBlock, k int) { d.remove(b, k) }
func removeWait(_ *draft, b *draftBlock, k int) { b.steps[k].wait = nil }
func removeFlag(_ *draft, b *draftBlock, k int) { b.steps[k].Flags &^= ir.HasDep }

func removeChunk(_ *draft, b *draftBlock, k int) {
	if s := b.steps[k]; s.Count > 1 {
		s.Count--
	}
}

// dropBlocks leaves out blocks without steps.
func dropBlocks(p *fifo.Program, still func(*fifo.Program) bool) *fifo.Program {
	d := edit(p)
	d.blocks = slices.DeleteFunc(d.blocks, func(b *draftBlock) bool { return len(b.steps) == 0 })
	if q := d.build(); still(q) {
		return q
	}
	return p
}
