package explore

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/fifo"
)

// A draft is a program whose steps can be moved: a wait points to the step it
// is for, wherever that goes.
type draft struct {
	*fifo.Program // but for its blocks and steps
	blocks        []*draftBlock
}

type draftBlock struct {
	ir.Block
	steps []*draftStep
}

type draftStep struct {
	ir.Step
	wait   *draftStep
	serial int // place in the order in which the generator made them
}

// edit makes a draft of p, which it does not change.
func edit(p *fifo.Program) *draft {
	d := &draft{Program: p}
	all := make([]*draftStep, len(p.Steps))
	for i := range p.Steps {
		all[i] = &draftStep{Step: p.Steps[i]}
	}
	for _, t := range p.Blocks {
		d.blocks = append(d.blocks, &draftBlock{t.Block, slices.Clone(all[t.Steps.First:t.Steps.End])})
		for _, s := range all[t.Steps.First:t.Steps.End] {
			if s.DepBlock >= 0 {
				on := p.Blocks[p.Rank[t.Rank].First+s.DepBlock]
				s.wait = all[on.Steps.First+s.DepStep]
			}
		}
	}
	return d
}

// build makes the program of a draft. Waits for steps that are in no block are
// none.
func (d *draft) build() *fifo.Program {
	p := *d.Program
	p.Rank, p.Blocks, p.Steps = make([]ir.Range, p.Coll.Ranks), nil, nil
	type place struct{ block, step int32 }
	at := map[*draftStep]place{}
	slices.SortStableFunc(d.blocks, func(a, b *draftBlock) int { return int(a.Rank - b.Rank) })
	p.Channels = 1
	for r := range p.Rank {
		p.Rank[r] = ir.Range{First: int32(len(p.Blocks)), End: int32(len(p.Blocks))}
		for _, b := range d.blocks {
			if int(b.Rank) != r {
				continue
			}
			for i, s := range b.steps {
				at[s] = place{int32(len(p.Blocks)) - p.Rank[r].First, int32(i)}
			}
			p.Channels = max(p.Channels, int(b.Channel)+1)
			p.Blocks = append(p.Blocks, ir.TB{Block: b.Block})
			p.Rank[r].End++
		}
	}
	for i, b := range d.blocks {
		first := int32(len(p.Steps))
		for _, s := range b.steps {
			step := s.Step
			step.DepBlock, step.DepStep = -1, -1
			if on, ok := at[s.wait]; ok && s.wait != nil {
				step.DepBlock, step.DepStep = on.block, on.step
			}
			p.Steps = append(p.Steps, step)
		}
		p.Blocks[i].Steps = ir.Range{First: first, End: int32(len(p.Steps))}
	}
	return &p
}

// remove takes step i of b out of the draft. What waited for it waits for the
// step after it, or where there is none for the one before.
func (d *draft) remove(b *draftBlock, i int) {
	s := b.steps[i]
	b.steps = slices.Delete(b.steps, i, i+1)
	var instead *draftStep
	if len(b.steps) > 0 {
		instead = b.steps[min(i, len(b.steps)-1)]
	}
	for _, o := range d.blocks {
		for _, w := range o.steps {
			if w.wait == s {
				w.wait = instead
			}
		}
	}
}

// ofRank returns the blocks of a rank.
func (d *draft) ofRank(rank int32) []*draftBlock {
	var list []*draftBlock
	for _, b := range d.blocks {
		if b.Rank == rank {
			list = append(list, b)
		}
	}
	return list
}
