package onesided

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/onesided"
)

// A draft is a one-sided program whose steps can be moved and changed.
type draft struct {
	*onesided.Program // but for its blocks, steps and operands
	depth             int32
	onePass           bool
	packets           []int32
	flags             []int32
	blocks            []*draftBlock
}

type draftBlock struct {
	rank  int32
	steps []*draftStep
}

type draftStep struct {
	ir.Step
	srcs, dsts []onesided.Operand
}

// newDraft makes a draft of p, which it does not change.
func newDraft(p *onesided.Program) *draft {
	d := &draft{Program: p, depth: p.Depth, onePass: p.OnePass, packets: slices.Clone(p.Packets),
		flags: slices.Clone(p.Flags)}
	for _, t := range p.Blocks {
		b := &draftBlock{rank: t.Rank}
		for i := t.Steps.First; i < t.Steps.End; i++ {
			s := p.Steps[i]
			b.steps = append(b.steps, &draftStep{s, slices.Clone(p.Sources(&s)), slices.Clone(p.Dests(&s))})
		}
		d.blocks = append(d.blocks, b)
	}
	return d
}

// build makes the program of a draft. Signals and awaits without flags are
// left out.
func (d *draft) build() *onesided.Program {
	p := *d.Program
	p.Operands, p.Depth, p.OnePass, p.Packets, p.Flags = nil, d.depth, d.onePass, d.packets, d.flags
	p.Rank, p.Blocks, p.Steps = make([]ir.Range, p.Coll.Ranks), nil, nil
	for r := range p.Rank {
		p.Rank[r] = ir.Range{First: int32(len(p.Blocks)), End: int32(len(p.Blocks))}
		for _, b := range d.blocks {
			if int(b.rank) != r {
				continue
			}
			first := int32(len(p.Steps))
			for _, s := range b.steps {
				if len(s.srcs)+len(s.dsts) == 0 {
					continue
				}
				step := s.Step
				step.Src, step.NSrc = int32(len(p.Operands)), int16(len(s.srcs))
				step.Dst, step.NDst = step.Src+int32(len(s.srcs)), int16(len(s.dsts))
				p.Operands = append(append(p.Operands, s.srcs...), s.dsts...)
				p.Steps = append(p.Steps, step)
			}
			t := ir.TB{Block: ir.Block{Rank: b.rank, SendPeer: -1, RecvPeer: -1},
				Steps: ir.Range{First: first, End: int32(len(p.Steps))}}
			p.Blocks = append(p.Blocks, t)
			p.Rank[r].End++
		}
	}
	return &p
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

// steps returns the number of steps.
func (d *draft) steps() int {
	n := 0
	for _, b := range d.blocks {
		n += len(b.steps)
	}
	return n
}

// add appends a step to a block.
func (b *draftBlock) add(op ir.Op, count int32, srcs, dsts []onesided.Operand, marks ir.StepFlags) {
	b.steps = append(b.steps, &draftStep{ir.Step{Op: op, SrcBuf: ir.NoBuf, DstBuf: ir.NoBuf, Flags: marks, Count: count,
		DepBlock: -1, DepStep: -1, Pos: -1}, srcs, dsts})
}

// Shrink makes p smaller, one step or operand after the other, as long
// as still holds.
func Shrink(p *onesided.Program, still func(*onesided.Program) bool) *onesided.Program {
	for again := true; again; {
		again = false
		for i := 0; i < len(p.Steps) && !again; i++ {
			operands := int(p.Steps[i].NSrc + p.Steps[i].NDst)
			for k := -1; k < operands && !again; k++ {
				d := newDraft(p)
				b, at := d.at(i)
				if k < 0 {
					b.steps = slices.Delete(b.steps, at, at+1)
				} else {
					b.steps[at].drop(k)
				}
				if q := d.build(); len(q.Steps) > 0 && still(q) {
					p, again = q, true
				}
			}
		}
	}
	return p
}

// drop leaves out an operand, counted through sources and destinations.
func (s *draftStep) drop(k int) {
	if k < len(s.srcs) {
		s.srcs = slices.Delete(s.srcs, k, k+1)
	} else {
		k -= len(s.srcs)
		s.dsts = slices.Delete(s.dsts, k, k+1)
	}
}
