package onesided

import (
	"fmt"
	"math"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
	"mscclc/ir/verify/checker"
)

// launches asks of each access to input and output of another rank, or by a loose block, whether
// that rank's launch has begun before it, and ends after it. It looks at the first
// pass of a launch of many, which is without Leave steps, and at the last, which is
// without Enter steps: every pass comes after the first, and before the last.
func (r *racer) launches() {
	remote := false
	r.remotes(func(int32, *onesided.Operand, int, checker.Kind) { remote = true })
	if !remote {
		return
	}
	begin := r.newClocks(r.absent(ir.Leave), r.share, nil)
	begin.begun, begin.begins = 1, true
	r.clocks = begin
	begin.each = r.begun
	if r.stopped = !begin.keep(0) || !begin.pass(0); r.stopped {
		return
	}
	end := r.ends
	if end == nil {
		end = r.newClocks(r.absent(ir.Enter), r.share, nil)
		end.each = func(int32, int) {}
		if r.stopped = !end.keep(0) || !end.pass(0); r.stopped {
			return
		}
	}
	r.clocks = end
	r.ended(end)
	r.stopped = end.work > r.Opt.Work
}

// remotes calls f for each operand of an event that is user memory of another
// rank, or, in a loose block, of its own: with that rank, and what the event does there.
func (r *racer) remotes(f func(e int32, x *onesided.Operand, rank int, does checker.Kind)) {
	for e := range r.events {
		r.remotesOf(int32(e), f)
	}
}

func (r *racer) remotesOf(e int32, f func(e int32, x *onesided.Operand, rank int, does checker.Kind)) {
	s := &r.P.Steps[r.events[e].step]
	own := int(r.P.Blocks[r.links.Block[r.events[e].step]].Rank)
	if s.Flags&ir.Loose != 0 {
		own = -1
	}
	both := r.P.OperandsOf(s)
	for k := range both {
		x := &both[k]
		if x.Buf > ir.Output {
			continue
		}
		does := checker.WriteWrite
		if k < int(s.NSrc) {
			does = checker.ReadWrite
		}
		r.eachRank(x.Rank, func(rank int) {
			if rank != own {
				f(e, x, rank, does)
			}
		})
	}
}

// begun reports what event e does with memory of ranks whose launch it does not
// know to have begun.
func (r *racer) begun(e int32, pass int) {
	i := r.events[e].step
	own := &r.clocks.blocks[r.links.Block[i]]
	r.remotesOf(e, func(_ int32, x *onesided.Operand, rank int, does checker.Kind) {
		known := []clock{own.visible}
		if does == checker.WriteWrite { // what it overwrites is over, whether it sees that or not
			known = r.clocks.viewOf(e, part{-1, -1}, pass).done
		}
		for b := r.P.Rank[rank].First; b < r.P.Rank[rank].End; b++ {
			for k := range known {
				if !r.P.Loose(b) && r.knowsOf(&known[k], b) > 0 {
					return
				}
			}
		}
		why := fmt.Sprintf("no flag tells its block that the launch of rank %d has begun", rank)
		for b := r.P.Rank[rank].First; b < r.P.Rank[rank].End; b++ {
			if r.knowsOf(&own.done, b) > 0 {
				why = fmt.Sprintf("its block knows by packets that the launch of rank %d has begun, and packets make nothing visible but what they carry", rank)
			}
		}
		var list []gap
		if await, n := r.acquiredMost(i, true, func(c clock) int32 { return r.knowsRank(c, rank) }); n > 0 {
			list = []gap{{await, i}}
		}
		r.unsafe(e, x, rank, does, whenBegins, list, why)
	})
}

// knowsRank returns how much a clock knows of a rank at most.
func (r *racer) knowsRank(c clock, rank int) (most int32) {
	for b := r.P.Rank[rank].First; b < r.P.Rank[rank].End; b++ {
		most = max(most, r.knowsOf(&c, b))
	}
	return most
}

// knowsOf returns how many groups of block b a clock knows to be over, or begun; of blocks after it in its chain they
// count too.
func (r *racer) knowsOf(c *clock, b int32) int32 { return max(0, c.knows(r.chain[b])-r.before[b]) }

// What is said of memory that is touched when its rank's launch may not be there.
const (
	whenBegins = "when that rank's launch may not have begun"
	whenEnds   = "when that rank's launch may have ended"
)

// endGap returns where the threads would have to meet for an event's step to be known to be over, among what a rank
// knows by some clocks.
func (r *racer) endGap(clocks []clock, i int32, rank int) []gap {
	most, chain := int32(0), r.chain[r.links.Block[i]]
	for k := range clocks {
		most = max(most, clocks[k].knows(chain))
	}
	if signal := r.releasing(i, int32(rank)); signal >= 0 && most == r.group[i] {
		return []gap{{i, signal}}
	}
	return nil
}

// ended reports what events do with memory of ranks whose launches may end
// before.
func (r *racer) ended(c *clocks) {
	views := make([]*view, len(r.P.Rank))
	for b := range c.blocks {
		if r.P.Loose(int32(b)) {
			continue
		}
		k := &c.blocks[b]
		c.acquire(k, int32(b), r.groupsOf[b])
		v := &views[r.P.Blocks[b].Rank]
		if *v == nil {
			*v = &view{c: c, e: -1, at: part{-1, -1}}
		}
		(*v).done, (*v).visible = append((*v).done, k.done), append((*v).visible, k.visible)
	}
	r.remotes(func(e int32, x *onesided.Operand, rank int, does checker.Kind) {
		i, v := r.events[e].step, views[rank]
		switch {
		case v == nil:
			r.unsafe(e, x, rank, does, whenEnds, nil, fmt.Sprintf("rank %d has no block to wait for it", rank))
		case does == checker.WriteWrite:
			if !v.over(v.visible, i) {
				why := fmt.Sprintf("no flag tells rank %d, before its launch ends, that this is written", rank)
				if v.over(v.done, i) {
					why = fmt.Sprintf("rank %d knows by ", rank) + r.byWhat("this is written")
				}
				d := r.unsafe(e, x, rank, does, whenEnds, r.endGap(v.visible, i, rank), why)
				if d != nil && d.Hint == "" && v.over(v.done, i) && r.relaxes() && len(r.takes) == 0 {
					d.Hint = relaxedHint
				}
			}
		case !v.over(v.done, i):
			for k := r.events[e].k; k < r.events[e].k+r.events[e].n; k++ {
				if !v.read(part{i, k}, math.MaxInt) {
					why := fmt.Sprintf("no flag and no packet tells rank %d, before its launch ends, that this is read", rank)
					r.unsafe(e, x, rank, does, whenEnds, r.endGap(v.done, i, rank), why)
					return
				}
			}
		}
	})
}

// unsafe reports an access to user memory of another rank that is not inside
// that rank's launch. A step and a rank are reported once.
func (r *racer) unsafe(e int32, x *onesided.Operand, rank int, does checker.Kind, when string, list []gap,
	why string) *diag.Diagnostic {
	i := r.events[e].step
	key := [2]int32{i, -1 - int32(rank)}
	if r.seen[key] || len(r.seen) >= checker.RacesListed {
		return nil
	}
	r.seen[key] = true
	verb, reader := "writes", int32(-1)
	if does == checker.ReadWrite {
		verb, reader = "reads", i
	}
	index := int(x.Index + r.events[e].k)
	d := r.Step(i, diag.Race, "%s %s %s of rank %d %s", r.Name(i), verb, r.P.ChunkName(x.Buf, int(index)), rank, when)
	unmet := r.because(d, list, why)
	r.Counterexample(d, checker.Counterexample{Step: i, With: -1, Reader: reader, Unmet: unmet, Rank: rank,
		Buf: x.Buf, Index: index})
	return d
}
