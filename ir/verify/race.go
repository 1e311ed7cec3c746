package verify

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/vclock"
)

// races looks at the conflicts of each rank that has several blocks, and
// returns a run to evaluate, or nil where none is known.
//
// Nearly all programs order their conflicts by flags alone, and steps as a
// whole; the clocks of a rank's own blocks tell in one pass. Only where they do
// not tell, every message counts (exact).
func (c *twoSided) races(order []int32) *run {
	r := &run{p: c.p, w: c.w, order: order}
	if !slices.ContainsFunc(c.p.Rank, func(own ir.Range) bool { return own.End-own.First > 1 }) {
		return r
	}
	ranks := c.stepsByRank(order)
	local := &racer{checker: c.checker, run: r, clocks: vclock.NewClocks(len(c.p.Steps))}
	local.mem = c.p.Memory()
	var open []int // ranks of which flags alone do not tell
	for rank, own := range c.p.Rank {
		if own.End-own.First < 2 {
			continue
		}
		ordered := local.byFlags(rank, ranks.Of(rank))
		if local.clocks.Work > c.opt.Work {
			c.undecided(ofRaces, "the %s of rank %d wait for each other so often", diag.Counted(int(own.End-own.First), "block"), rank)
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
	e := &ir.Edges{Start: make([]int32, len(c.p.Rank)+1), To: make([]int32, len(order))}
	for r, own := range c.p.Rank {
		e.Start[r+1] = e.Start[r]
		for b := own.First; b < own.End; b++ {
			e.Start[r+1] += c.p.Blocks[b].Steps.End - c.p.Blocks[b].Steps.First
		}
	}
	next := slices.Clone(e.Start)
	for _, i := range order {
		r := c.p.Blocks[c.w.Block[i]].Rank
		e.To[next[r]] = i
		next[r]++
	}
	return e
}

// A racer asks of each conflict of a rank whether flags and the order of steps
// put one access behind the other.
type racer struct {
	*checker
	run    *run
	clocks *vclock.Clocks
	conflicts
}

// byFlags reports whether they do so for all conflicts of rank, whose steps come
// in the order of a run.
func (r *racer) byFlags(rank int, steps []int32) bool {
	w, own := r.run.w, r.p.Rank[rank]
	ordered := true
	r.conflicts.begin(rank, rank)
	r.need = func(_, _ int, later, earlier int32, _ kind) {
		a, b := w.Block[later], w.Block[earlier]
		ordered = ordered && (a == b || r.clocks.Covers(a-own.First, b-own.First, earlier-r.p.Blocks[b].Steps.First))
	}
	r.clocks.Begin(int(own.End - own.First))
	for _, i := range steps {
		if on := w.Awaited(r.p, int32(rank), i); on >= 0 {
			r.clocks.Expect(on)
		}
	}
	for _, i := range steps {
		b := w.Block[i]
		if on := w.Awaited(r.p, int32(rank), i); on >= 0 {
			r.clocks.Wait(b-own.First, on)
		}
		if s := &r.p.Steps[i]; s.Op != ir.Nop {
			r.conflicts.access(rank, i, s)
		}
		if !ordered {
			return false
		}
		r.clocks.End(b-own.First, i-r.p.Blocks[b].Steps.First, i)
	}
	return true
}
