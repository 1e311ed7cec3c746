package verify

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/vclock"
	"mscclc/ir/verify/checker"
)

// races looks at the conflicts of each rank that has several blocks, and
// returns a run to evaluate, or nil where none is known.
//
// Nearly all programs order their conflicts by flags alone, and steps as a
// whole; the clocks of a rank's own blocks decide in one pass. Only where they do
// not decide, every message counts (exact).
func (c *twoSided) races(order []int32) *checker.Run {
	r := &checker.Run{P: c.Checker.P, W: c.W, Order: order}
	if !slices.ContainsFunc(c.P.Rank, func(own ir.Range) bool { return own.End-own.First > 1 }) {
		return r
	}
	ranks := c.stepsByRank(order)
	local := &racer{Checker: c.Checker, run: r, clocks: vclock.NewClocks(len(c.P.Steps))}
	local.Mem = c.P.Memory()
	var open []int // ranks for which flags alone do not decide
	for rank, own := range c.P.Rank {
		if own.End-own.First < 2 {
			continue
		}
		ordered := local.byFlags(rank, ranks.Of(rank))
		if local.clocks.Work > c.Opt.Work {
			c.Undecided(checker.OfRaces, "the %s of rank %d wait for each other so often", diag.Counted(int(own.End-own.First), "block"), rank)
			return nil
		}
		if !ordered {
			open = append(open, rank)
		}
	}
	if len(open) == 0 {
		return r
	}
	return c.exact(r, open)
}

// stepsByRank returns the steps of each rank in order.
func (c *twoSided) stepsByRank(order []int32) *ir.Edges {
	e := &ir.Edges{Start: make([]int32, len(c.P.Rank)+1), To: make([]int32, len(order))}
	for r, own := range c.P.Rank {
		e.Start[r+1] = e.Start[r]
		for b := own.First; b < own.End; b++ {
			e.Start[r+1] += c.P.Blocks[b].Steps.End - c.P.Blocks[b].Steps.First
		}
	}
	next := slices.Clone(e.Start)
	for _, i := range order {
		r := c.P.Blocks[c.W.Block[i]].Rank
		e.To[next[r]] = i
		next[r]++
	}
	return e
}

// A racer asks of each conflict of a rank whether flags and the order of steps
// put one access after the other.
type racer struct {
	*checker.Checker
	run    *checker.Run
	clocks *vclock.Clocks
	checker.Conflicts
}

// byFlags reports whether they do so for all conflicts of rank, whose steps come
// in the order of a run.
func (r *racer) byFlags(rank int, steps []int32) bool {
	w, own := r.run.W, r.P.Rank[rank]
	ordered := true
	r.Conflicts.Begin(rank, rank)
	r.Need = func(_, _ int, later, earlier int32, _ checker.Kind) {
		a, b := w.Block[later], w.Block[earlier]
		ordered = ordered && (a == b || r.clocks.Covers(a-own.First, b-own.First, earlier-r.P.Blocks[b].Steps.First))
	}
	r.clocks.Begin(int(own.End - own.First))
	for _, i := range steps {
		if on := w.Awaited(r.P.Fifo, int32(rank), i); on >= 0 {
			r.clocks.Expect(on)
		}
	}
	for _, i := range steps {
		b := w.Block[i]
		if on := w.Awaited(r.P.Fifo, int32(rank), i); on >= 0 {
			r.clocks.Wait(b-own.First, on)
		}
		if s := &r.P.Steps[i]; s.Op != ir.Nop {
			r.Conflicts.Access(rank, i, s)
		}
		if !ordered {
			return false
		}
		r.clocks.End(b-own.First, i-r.P.Blocks[b].Steps.First, i)
	}
	return true
}
