package verify

import (
	"fmt"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
)

// readsListed bounds the reads of what nothing wrote that are listed one by
// one: what they spoil is read again and again.
const readsListed = 20

// leafWork is what one leaf of a sum costs, in units of work.
const leafWork = 4

// result runs the program on symbolic chunks and compares the outputs with the
// collective.
func (c *checker) result(r *run) {
	m := eval.NewMachine(c.p.Coll, r.p.Memory())
	m.Values.Limit, m.Values.Source = c.opt.Work/leafWork, c.p.Source
	reads := 0
	m.Read = func(i int32, rank int, b ir.Buf, index int) {
		if reads++; reads > readsListed {
			return
		}
		i = r.of(i)
		whose := ""
		if r.links != nil {
			whose = fmt.Sprintf(" of rank %d", rank)
		}
		d := c.step(i, diag.Uninitialized, "%s reads %s%s before anything writes it", c.name(i),
			c.p.ChunkName(b, index), whose)
		c.counterexample(d, Counterexample{Step: i, With: -1, Rank: rank, Buf: b, Index: index})
	}
	if !c.p.Even {
		c.classes(r, m)
	}
	var finals *eval.Finals
	if c.mark && c.p.Coll.SumsKnown() ||
		slices.ContainsFunc(c.p.Steps, func(s ir.Step) bool { return s.Flags&ir.Final != 0 }) {
		finals = eval.WatchFinals(m)
	}
	if r.links != nil {
		m.Moves(r.p, r.links, r.order)
	} else {
		r.w.Exec(r.p, m, r.order)
	}
	if reads > readsListed {
		c.at(place{-1, -1, -1}, diag.Uninitialized, -1, "%s more read what nothing has written",
			diag.Counted(reads-readsListed, "step"))
	}
	d, at, writer := m.Report(&c.Problems, &c.p.Header, func(i int32) diag.Diagnostic {
		i = r.of(i)
		d := diag.New(diag.WrongResult, c.p.Span(c.p.Steps[i].Pos), "%s", c.name(i))
		at := c.place(i)
		d.Rank, d.Block, d.Step = at.rank, at.block, at.step
		return d
	})
	if m.Values.Over {
		if d == nil {
			c.undecided("all are complete", "the ranks group their sums in so many ways")
		}
		return
	}
	if d == nil {
		switch {
		case finals == nil:
		case c.mark:
			c.markFinals(r, finals)
		default:
			c.finals(r, finals)
		}
		return
	}
	if writer >= 0 {
		writer = r.of(writer)
	}
	c.counterexample(d, Counterexample{Step: writer, With: -1, Rank: int(at.Rank), Buf: ir.Output, Index: int(at.Index)})
}

// classes reports, for a program that says that it needs no chunks of one
// length, the steps in which chunks of different lengths meet.
func (c *checker) classes(r *run, m *eval.Machine) {
	m.Class = func(i int32, _ int, b ir.Buf, index int) {
		class := r.p.Steps[i].Class
		i = r.of(i)
		c.step(i, diag.Uneven, "%s moves chunks of classes from %d on, and %s is of another", c.name(i), class,
			c.p.ChunkName(b, index))
	}
	if r.links != nil {
		return
	}
	for i, mate := range c.w.Mate {
		if mate >= 0 && c.p.Steps[mate].Class != c.p.Steps[i].Class {
			c.step(int32(i), diag.Uneven, "%s receives chunks of classes from %d on, and %s sends them as classes from %d on",
				c.name(int32(i)), c.p.Steps[i].Class, c.name(mate), c.p.Steps[mate].Class)
		}
	}
}

// markFinals sets the flags Final. That there can be none is no problem: avg is not to be had then.
func (c *checker) markFinals(r *run, f *eval.Finals) {
	if r.from != nil { // of messages, of which some complete a sum while others of their step do not
		_ = eval.MarkFinal(c.p)
		return
	}
	_ = f.Mark(c.p)
}

// finals reports steps that are marked final and should not be, or are not and
// should be: avg divides there.
func (c *checker) finals(r *run, f *eval.Finals) {
	steps, err := f.Steps(r.p)
	if err != nil {
		c.at(place{-1, -1, -1}, diag.NotFinal, -1, "steps are marked final: %v", err)
		return
	}
	complete := make([]bool, len(r.p.Steps))
	for _, i := range steps {
		complete[i] = true
	}
	for i := range r.p.Steps {
		marked := r.p.Steps[i].Flags&ir.Final != 0
		if marked == complete[i] {
			continue
		}
		step := r.of(int32(i))
		if marked {
			c.step(step, diag.NotFinal, "%s is marked final, and makes no sum that is complete", c.name(step))
		} else {
			c.step(step, diag.NotFinal, "%s makes a complete sum, and is not marked final as others are", c.name(step))
		}
	}
}
