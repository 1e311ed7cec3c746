package verify

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// flags reports the waits that no step satisfies.
func (c *checker) flags(w *ir.Wiring) bool {
	good := true
	for i := range c.p.Steps {
		s := &c.p.Steps[i]
		if s.DepBlock >= 0 && w.Awaited(c.p, c.p.Blocks[w.Block[i]].Rank, int32(i)) < 0 {
			c.step(w, int32(i), diag.Deadlock, "%s waits for step %d of block %d, and no step of it from there on says that it ended (hasdep)", c.name(w, int32(i)), s.DepStep, s.DepBlock)
			good = false
		}
	}
	return good
}

// matching reports the transfers whose ends do not fit.
func (c *checker) matching(w *ir.Wiring) bool {
	for _, m := range w.Mismatches {
		switch {
		case m.Recv < 0:
			t := c.p.Blocks[w.Block[m.Send]]
			c.step(w, m.Send, diag.Unmatched, "%s sends to rank %d on channel %d, which receives no such message", c.name(w, m.Send), t.SendPeer, t.Channel)
		case m.Send < 0:
			t := c.p.Blocks[w.Block[m.Recv]]
			c.step(w, m.Recv, diag.Unmatched, "%s receives from rank %d on channel %d, which sends no such message", c.name(w, m.Recv), t.RecvPeer, t.Channel)
		default:
			d := c.step(w, m.Send, diag.Unmatched, "%s sends %d chunks, and %s, which receives them, expects %d",
				c.name(w, m.Send), c.p.Steps[m.Send].Count, c.name(w, m.Recv), c.p.Steps[m.Recv].Count)
			c.note(d, m.Recv, "they are received here")
		}
	}
	return len(w.Mismatches) == 0
}

// liveness runs the program with the slots that it has. It returns an order in
// which the steps may end; where slots are all that is missing, the order that
// unbounded slots allow, so that the result can be judged too; or nil.
func (c *checker) liveness(w *ir.Wiring) []int32 {
	order, stuck := w.Schedule(c.p, c.opt.Slots, c.opt.MessageChunks).Run()
	if len(stuck) == 0 {
		return nonNil(order)
	}
	order, always := w.Schedule(c.p, ir.Unbounded, c.opt.MessageChunks).Run()
	if len(always) > 0 {
		c.deadlock(w, always, "")
		return nil
	}
	c.deadlock(w, stuck, c.threshold(w))
	return nonNil(order)
}

// threshold says when the program, which ends with slots enough, does not: it
// looks for the smallest number of chunks a message that it lives with, and
// says above which size a message holds fewer.
func (c *checker) threshold(w *ir.Wiring) string {
	slots := fmt.Sprintf(" with %s a connection", count(c.opt.Slots, "slot"))
	if !c.bySize {
		return fmt.Sprintf("%s and %s a message", slots, count(c.opt.MessageChunks, "chunk"))
	}
	low, high := c.opt.MessageChunks, ir.MaxMessageChunks+1 // dies with low, lives with high as far as is known
	for low+1 < high {
		m := (low + high) / 2
		if _, stuck := w.Schedule(c.p, c.opt.Slots, m).Run(); len(stuck) > 0 {
			low = m
		} else {
			high = m
		}
	}
	if high > ir.MaxMessageChunks {
		return slots + ", at every size"
	}
	return fmt.Sprintf("%s above %s, where counts split into more messages", slots, bytesText(c.opt.SlotBytes/int64(high)*int64(c.p.Coll.Divisor())))
}

func bytesText(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= unit.size {
			return fmt.Sprintf("%.4g %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// nonNil tells an empty program's order from none.
func nonNil(order []int32) []int32 {
	if order == nil {
		return []int32{}
	}
	return order
}

// witnessLength bounds the waits that a deadlock is shown by.
const witnessLength = 16

func (c *checker) deadlock(w *ir.Wiring, stuck []ir.Wait, when string) {
	first := stuck[0].Step
	d := c.step(w, first, diag.Deadlock, "%s waits for itself%s, by way of %s", c.name(w, first), when, count(len(stuck), "wait"))
	if stuck[len(stuck)-1].At < 0 {
		d.Text = c.name(w, first) + " waits for what never comes" + when
	}
	for _, s := range stuck[:min(len(stuck), witnessLength)] {
		text := fmt.Sprintf("%s waits for %v", c.name(w, s.Step), s.Cause)
		if s.On >= 0 {
			text += " " + c.name(w, s.On)
		}
		if s.At >= 0 && s.At != s.On {
			text += ", whose block stands at " + c.name(w, s.At)
		}
		c.note(d, s.Step, "%s", text)
	}
	if n := len(stuck) - witnessLength; n > 0 {
		*d = d.WithNote(diag.Span{}, "and so on through %s more", count(n, "wait"))
	}
}

// classes reports, for a program that says that it needs no chunks of one
// length, the steps in which chunks of different lengths meet.
func (c *checker) classes(w *ir.Wiring, m *ir.Machine) {
	m.Class = func(i int32, rank int, b ir.Buf, index int) {
		c.step(w, i, diag.Uneven, "%s moves chunks of classes from %d on, and %v[%d] is of another", c.name(w, i), c.p.Steps[i].Class, b, index)
	}
	for i, mate := range w.Mate {
		if mate >= 0 && c.p.Steps[mate].Class != c.p.Steps[i].Class {
			c.step(w, int32(i), diag.Uneven, "%s receives chunks of classes from %d on, and %s sends them as classes from %d on",
				c.name(w, int32(i)), c.p.Steps[i].Class, c.name(w, mate), c.p.Steps[mate].Class)
		}
	}
}

// result runs the program on symbolic chunks and compares the outputs with the
// collective.
func (c *checker) result(w *ir.Wiring, order []int32) {
	m := ir.NewMachine(c.p.Coll, c.p.Memory())
	m.Read = func(i int32, rank int, b ir.Buf, index int) {
		c.step(w, i, diag.Uninitialized, "%s reads %v[%d] before anything writes it", c.name(w, i), b, index)
	}
	if !c.p.Even {
		c.classes(w, m)
	}
	w.Exec(c.p, m, order)
	m.Report(&c.Problems, func(i int32) diag.Diagnostic {
		d := diag.New(diag.WrongResult, c.p.Span(c.p.Steps[i].Pos), "%s", c.name(w, i))
		at := c.place(w, i)
		d.Rank, d.Block, d.Step = at.rank, at.block, at.step
		return d
	})
}
