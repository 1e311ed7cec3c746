package onesided

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/verify/checker"
)

// liveness runs one pass, which is a launch, and returns an order in which its
// steps may end, or nil. Passes wait for nothing in later ones, so that none gets
// stuck where one alone does not.
func (o *prover) liveness() []int32 {
	schedule := o.links.Schedule(o.P)
	order, stuck := schedule.Run()
	if len(stuck) == 0 {
		return checker.NonNil(order)
	}
	o.Deadlock(o.shortest(schedule, order, stuck), "")
	return nil
}

// shortest returns a shortest cycle of waits of a run that got stuck with some
// steps done; or the cycle it found, where a search is too much. A step may wait for
// many others, so that cycles are looked for from each block, breadth first.
func (o *prover) shortest(s *ir.Schedule, order []int32, cycle []ir.Wait) []ir.Wait {
	at, done := make([]int32, len(o.P.Blocks)), make([]bool, len(o.P.Steps))
	for _, i := range order {
		done[i] = true
	}
	edges := int64(0)
	for b := range at {
		for at[b] = s.Start[b]; at[b] < s.Start[b+1] && done[at[b]]; at[b]++ {
		}
		if at[b] < s.Start[b+1] {
			edges += int64(len(s.Waits.Of(int(at[b]))))
		}
	}
	search := &cycleSearch{o: o, waits: &s.Waits, at: at, end: s.Start, done: done, from: make([]int32, len(at))}
	best := cycle
	for b := range int32(len(at)) {
		if edges*int64(b) > o.Opt.Work {
			break
		}
		if found := search.through(b, len(best)); found != nil {
			best = found
		}
	}
	best = slices.Clone(best)
	for k := range best {
		if o.P.Steps[best[k].Step].Op.Moves() {
			best[k].Cause = ir.ForMessage
		}
	}
	return best
}

// A cycleSearch looks for cycles of blocks that wait for each other.
type cycleSearch struct {
	o     *prover
	waits *ir.Edges
	at    []int32 // by block: the step that it stands at
	end   []int32 // of block b+1: after the steps of b
	done  []bool
	from  []int32 // by block: 1 + the one that was found to wait for it
	queue []int32
}

// through returns a shortest cycle through block b that is shorter than less, or nil.
func (c *cycleSearch) through(b int32, less int) []ir.Wait {
	clear(c.from)
	c.queue = append(c.queue[:0], b)
	for depth, level := 1, 1; depth < less && len(c.queue) > 0; depth++ {
		for range level {
			x := c.queue[0]
			c.queue = c.queue[1:]
			if c.at[x] == c.end[x+1] {
				continue
			}
			for _, on := range c.waits.Of(int(c.at[x])) {
				y := c.o.links.Block[on]
				if c.done[on] || c.from[y] != 0 {
					continue
				}
				c.from[y] = x + 1
				if y == b {
					return c.cycle(b)
				}
				c.queue = append(c.queue, y)
			}
		}
		level = len(c.queue)
	}
	return nil
}

// cycle returns the waits of the cycle that was found through block b.
func (c *cycleSearch) cycle(b int32) []ir.Wait {
	var list []ir.Wait
	for y := b; ; {
		x := c.from[y] - 1
		w := ir.Wait{Step: c.at[x], On: -1, At: c.at[y]}
		for _, on := range c.waits.Of(int(c.at[x])) {
			if c.o.links.Block[on] == y && !c.done[on] && w.On < 0 {
				w.On = on
			}
		}
		list = append(list, w)
		if y = x; y == b {
			slices.Reverse(list)
			return list
		}
	}
}
