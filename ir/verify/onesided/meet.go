package onesided

import (
	"fmt"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// What is wrong with most races that joint steps have is that the threads of a block do not synchronise somewhere:
// after an Await, whose knowledge begins after its group, or before a Signal, which releases only what was before its
// group. This file finds where.

// meetHint says what mends it.
const meetHint = "put a block barrier between the two: a nop in a plan; in .mscl, leave out sync = false"

// relaxedHint says what mends what relaxed signals do not make visible.
const relaxedHint = "make the signal that says so, and the wait for it, plain ones, in place of relaxed"

// A gap is two steps of one group, of one block, of which the second would have to begin when the first is over.
type gap struct{ before, after int32 }

// gaps finds where threads would have to meet for step j to be over, and seen if that is asked, where step i begins. It
// finds none where that would not be enough.
func (r *racer) gaps(i, j int32, seen bool) []gap {
	a, b := r.links.Block[i], r.links.Block[j]
	if a == b && r.group[i] == r.group[j] {
		return []gap{{min(i, j), max(i, j)}}
	}
	chain, k := r.chain[b], &r.clocks.blocks[a]
	knows := k.done.knows(chain)
	if seen {
		knows = k.visible.knows(chain)
	}
	await, n := r.acquiredMost(i, seen, func(c clock) int32 { return c.knows(chain) })
	list := []gap{}
	if n > knows {
		list, knows = append(list, gap{await, i}), n
	}
	if knows == r.group[j] {
		signal := r.releasing(j, r.P.Blocks[a].Rank)
		if signal < 0 {
			return nil
		}
		list, knows = append(list, gap{j, signal}), knows+1
	}
	if knows <= r.group[j] {
		return nil
	}
	return list
}

// acquiredMost returns the step before i in its group that acquires most, by a measure of what a clock knows; and how
// much that is. Of those that acquire as much it is the last await.
func (r *racer) acquiredMost(i int32, seen bool, measure func(c clock) int32) (step, most int32) {
	step = -1
	k := &r.clocks.blocks[r.links.Block[i]]
	list := k.acquires
	if seen {
		list = k.sees
	}
	for at := len(list) - 1; at >= 0; at-- {
		if x := &list[at]; r.P.Steps[x.step].Op == ir.Await {
			if n := measure(x.clock); n > most {
				step, most = x.step, n
			}
		}
	}
	if packets := r.unpacks(i); !seen && packets >= 0 {
		for at := range list {
			if n := measure(list[at].clock); n > most {
				step, most = packets, n
			}
		}
	}
	return step, most
}

// unpacks returns the last Move before step i in its group that reads packets, or -1.
func (r *racer) unpacks(i int32) int32 {
	for j := i - 1; j >= 0 && r.links.Block[j] == r.links.Block[i] && r.group[j] == r.group[i]; j-- {
		if s := &r.P.Steps[j]; s.Op.Moves() &&
			slices.ContainsFunc(r.P.Sources(s), func(x onesided.Operand) bool { return x.Buf == ir.Packets }) {
			return j
		}
	}
	return -1
}

// releasing returns the first Signal to a rank after step j in its group, or -1.
func (r *racer) releasing(j, rank int32) int32 {
	for i := j + 1; int(i) < len(r.P.Steps) && r.links.Block[i] == r.links.Block[j] && r.group[i] == r.group[j]; i++ {
		s := &r.P.Steps[i]
		if s.Op != ir.Signal || s.Flags&r.clocks.skip != 0 {
			continue
		}
		for _, x := range r.P.Dests(s) {
			if x.Rank == rank {
				return i
			}
		}
	}
	return -1
}

// apart says of some gaps that threads do not synchronise there; it is "" for none.
func (r *racer) apart(list []gap) string {
	text := ""
	for _, g := range list {
		if text != "" {
			text += ", and "
		}
		text += fmt.Sprintf("%s has no block barrier between %s and %s", r.P.BlockName(r.links.Block[g.before]),
			r.P.OpName(g.before), r.P.OpName(g.after))
	}
	return text
}

// because adds to d why it is: that threads do not synchronise, and says whether it is that, or else what why says.
func (r *racer) because(d *diag.Diagnostic, list []gap, why string) (unmet bool) {
	if text := r.apart(list); text != "" {
		why, d.Hint, unmet = text, meetHint, true
	}
	*d = d.WithNote(diag.Span{}, "%s", why)
	return unmet
}
