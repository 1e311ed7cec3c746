package checker

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

// Result runs the program on symbolic chunks and compares the outputs with the
// collective.
func (c *Checker) Result(r *Run) {
	m := eval.NewMachine(c.P.Coll, r.P.Memory())
	m.Values.Limit, m.Values.Source = c.Opt.Work/leafWork, c.P.Source
	reads := 0
	m.Read = func(i int32, rank int, b ir.Buf, index int) {
		if reads++; reads > readsListed {
			return
		}
		i = r.Of(i)
		whose := ""
		if r.Links != nil {
			whose = fmt.Sprintf(" of rank %d", rank)
		}
		d := c.Step(i, diag.Uninitialized, "%s reads %s%s before anything writes it", c.Name(i),
			c.P.ChunkName(b, index), whose)
		c.Counterexample(d, Counterexample{Step: i, With: -1, Rank: rank, Buf: b, Index: index})
	}
	if !c.P.Even {
		c.classes(r, m)
	}
	var finals *eval.Finals
	if c.Mark && c.P.Coll.SumsKnown() ||
		slices.ContainsFunc(c.P.Steps, func(s ir.Step) bool { return s.Flags&ir.Final != 0 }) {
		finals = eval.WatchFinals(m)
	}
	if r.Links != nil {
		m.Moves(r.P.OneSided, r.Links, r.Order)
	} else {
		r.W.Exec(r.P.Fifo, m, r.Order)
	}
	if reads > readsListed {
		c.at(place{-1, -1, -1}, diag.Uninitialized, -1, "%s more read what nothing has written",
			diag.Counted(reads-readsListed, "step"))
	}
	d, at, writer := m.Report(&c.Problems, &c.P.Header, func(i int32) diag.Diagnostic {
		i = r.Of(i)
		d := diag.New(diag.WrongResult, c.P.Span(c.P.Steps[i].Pos), "%s", c.Name(i))
		at := c.Place(i)
		d.Rank, d.Block, d.Step = at.rank, at.block, at.step
		return d
	})
	if m.Values.Over {
		if d == nil {
			c.Undecided("all are complete", "the ranks group their sums in so many ways")
		}
		return
	}
	if d == nil {
		switch {
		case finals == nil:
		case c.Mark:
			c.markFinals(r, finals)
		default:
			c.finals(r, finals)
		}
		return
	}
	if writer >= 0 {
		writer = r.Of(writer)
	}
	c.Counterexample(d, Counterexample{Step: writer, With: -1, Rank: int(at.Rank), Buf: ir.Output, Index: int(at.Index)})
}

// classes reports, for a program that says that it needs no chunks of one
// length, the steps in which chunks of different lengths meet.
func (c *Checker) classes(r *Run, m *eval.Machine) {
	m.Class = func(i int32, _ int, b ir.Buf, index int) {
		class := r.P.Steps[i].Class
		i = r.Of(i)
		c.Step(i, diag.Uneven, "%s moves chunks of classes from %d on, and %s is of another", c.Name(i), class,
			c.P.ChunkName(b, index))
	}
	if r.Links != nil {
		return
	}
	for i, mate := range c.W.Mate {
		if mate >= 0 && c.P.Steps[mate].Class != c.P.Steps[i].Class {
			c.Step(int32(i), diag.Uneven, "%s receives chunks of classes from %d on, and %s sends them as classes from %d on",
				c.Name(int32(i)), c.P.Steps[i].Class, c.Name(mate), c.P.Steps[mate].Class)
		}
	}
}

// markFinals sets the flags Final. That there can be none is no problem: avg is not to be had then.
func (c *Checker) markFinals(r *Run, f *eval.Finals) {
	if r.From != nil { // of messages, of which some complete a sum while others of their step do not
		_ = eval.MarkFinal(c.P)
		return
	}
	_ = f.Mark(c.P.Program)
}

// finals reports steps that are marked final and should not be, or are not and
// should be: avg divides there.
func (c *Checker) finals(r *Run, f *eval.Finals) {
	steps, err := f.Steps(r.P.Program)
	if err != nil {
		c.at(place{-1, -1, -1}, diag.NotFinal, -1, "steps are marked final: %v", err)
		return
	}
	complete := make([]bool, len(r.P.Steps))
	for _, i := range steps {
		complete[i] = true
	}
	for i := range r.P.Steps {
		marked := r.P.Steps[i].Flags&ir.Final != 0
		if marked == complete[i] {
			continue
		}
		step := r.Of(int32(i))
		if marked {
			c.Step(step, diag.NotFinal, "%s is marked final, and makes no sum that is complete", c.Name(step))
		} else {
			c.Step(step, diag.NotFinal, "%s makes a complete sum, and is not marked final as others are", c.Name(step))
		}
	}
}
