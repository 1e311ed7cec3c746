package verify

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify/checker"
)

// flags reports the waits that no step satisfies.
func (c *twoSided) flags() bool {
	w, good := c.W, true
	for i := range c.P.Steps {
		s := &c.P.Steps[i]
		if s.DepBlock >= 0 && w.Awaited(c.P, c.P.Blocks[w.Block[i]].Rank, int32(i)) < 0 {
			d := c.Step(int32(i), diag.Deadlock,
				"%s waits for step %d of block %d, and no step of it from there on says that it ended (hasdep)", c.Name(int32(i)),
				s.DepStep, s.DepBlock)
			c.Counterexample(d, checker.Counterexample{Step: int32(i), With: -1,
				Waits: []ir.Wait{{Step: int32(i), On: -1, At: -1}}})
			good = false
		}
	}
	return good
}

// matching reports the transfers whose ends do not fit.
func (c *twoSided) matching() bool {
	w := c.W
	for _, m := range w.Mismatches {
		switch {
		case m.Recv < 0:
			t := c.P.Blocks[w.Block[m.Send]]
			d := c.Step(m.Send, diag.Unmatched, "%s sends to rank %d on channel %d, which receives no such message",
				c.Name(m.Send), t.SendPeer, t.Channel)
			d.Hint = fmt.Sprintf(
				"add a receive to a thread block of rank %d that receives from rank %d on channel %d, or leave out this send",
				t.SendPeer, t.Rank, t.Channel)
		case m.Send < 0:
			t := c.P.Blocks[w.Block[m.Recv]]
			d := c.Step(m.Recv, diag.Unmatched, "%s receives from rank %d on channel %d, which sends no such message",
				c.Name(m.Recv), t.RecvPeer, t.Channel)
			d.Hint = fmt.Sprintf(
				"add a send to a thread block of rank %d that sends to rank %d on channel %d, or leave out this receive",
				t.RecvPeer, t.Rank, t.Channel)
		default:
			d := c.Step(m.Send, diag.Unmatched, "%s sends %d chunks, and %s, which receives them, expects %d",
				c.Name(m.Send), c.P.Steps[m.Send].Count, c.Name(m.Recv), c.P.Steps[m.Recv].Count)
			c.Note(d, m.Recv, "they are received here")
		}
	}
	return len(w.Mismatches) == 0
}

// liveness runs the program with the slots that it has. It returns an order in
// which the steps may end; where slots are all that is missing, the order that
// unbounded slots allow, so that the result can be judged too; or nil.
func (c *twoSided) liveness() []int32 {
	order, stuck := c.W.Schedule(c.P, c.Opt.Slots, c.Opt.MessageChunks).Run()
	if len(stuck) == 0 {
		return checker.NonNil(order)
	}
	order, always := c.W.Schedule(c.P, ir.Unbounded, c.Opt.MessageChunks).Run()
	if len(always) > 0 {
		c.Deadlock(always, "")
		return nil
	}
	c.Deadlock(stuck, c.threshold())
	return checker.NonNil(order)
}

// threshold says when the program, which ends with slots enough, does not: it
// looks for the smallest number of chunks a message that it lives with, and
// says above which size a message holds fewer.
func (c *twoSided) threshold() string {
	slots := fmt.Sprintf(", with %s a connection", diag.Counted(c.Opt.Slots, "slot"))
	if !c.BySize {
		return fmt.Sprintf("%s and %s a message", slots, diag.Counted(c.Opt.MessageChunks, "chunk"))
	}
	low, high := c.Opt.MessageChunks, ir.MaxMessageChunks+1 // dies with low, lives with high as far as is known
	for low+1 < high {
		m := (low + high) / 2
		if _, stuck := c.W.Schedule(c.P, c.Opt.Slots, m).Run(); len(stuck) > 0 {
			low = m
		} else {
			high = m
		}
	}
	if high > ir.MaxMessageChunks {
		return slots + ", at every size"
	}
	return fmt.Sprintf("%s, above %s, where counts split into more messages", slots,
		diag.SizeText(c.Opt.SlotBytes/int64(high)*int64(c.P.Coll.Divisor())))
}
