package verify

import (
	"mscclc/ir"
	"mscclc/ir/diag"
)

// launches asks of each access to input and output of another rank, or by a loose block, whether
// that rank's launch has begun before it, and ends behind it. It looks at the first
// pass of a launch of many, which is without Leave steps, and at the last, which is
// without Enter steps: every pass comes behind the first, and before the last.
func (r *oneRacer) launches() {
	remote := false
	r.remotes(func(int32, *ir.Operand, int, kind) { remote = true })
	if !remote {
		return
	}
	begin := r.newClocks(r.absent(ir.Leave))
	begin.begun, begin.begins = 1, true
	r.clocks = begin
	begin.each = func(e int32, _ int) { r.begun(e) }
	if r.stopped = !begin.keep(0) || !begin.pass(0); r.stopped {
		return
	}
	end := r.newClocks(r.absent(ir.Enter))
	end.each = func(int32, int) {}
	r.clocks = end
	if r.stopped = !end.keep(0) || !end.pass(0); r.stopped {
		return
	}
	r.ended(end)
	r.stopped = end.work > r.opt.Work
}

// remotes calls f for each operand of an event that is user memory of another
// rank, or, in a loose block, of its own: with that rank, and what the event does there.
func (r *oneRacer) remotes(f func(e int32, x *ir.Operand, rank int, does kind)) {
	for e := range r.events {
		r.remotesOf(int32(e), f)
	}
}

func (r *oneRacer) remotesOf(e int32, f func(e int32, x *ir.Operand, rank int, does kind)) {
	s := &r.p.Steps[r.events[e].step]
	own := int(r.p.Blocks[r.links.Block[r.events[e].step]].Rank)
	if s.Flags&ir.Loose != 0 {
		own = -1
	}
	for k, x := range r.both(s) {
		if x.Buf > ir.Output {
			continue
		}
		does := writeWrite
		if k < int(s.NSrc) {
			does = readWrite
		}
		r.eachRank(x.Rank, func(rank int) {
			if rank != own {
				f(e, &x, rank, does)
			}
		})
	}
}

// begun reports what event e does with memory of ranks whose launch it does not
// know to have begun.
func (r *oneRacer) begun(e int32) {
	i := r.events[e].step
	own := &r.clocks.blocks[r.links.Block[i]]
	r.remotesOf(e, func(_ int32, x *ir.Operand, rank int, does kind) {
		for b := r.p.Rank[rank].First; b < r.p.Rank[rank].End; b++ {
			if !r.p.Loose(b) && own.visible.knows(r.chain[b]) > 0 {
				return
			}
		}
		why := "no flag tells its block that the launch of that rank has begun"
		for b := r.p.Rank[rank].First; b < r.p.Rank[rank].End; b++ {
			if own.done.knows(r.chain[b]) > 0 {
				why = "its block knows by packets that the launch of that rank has begun, and packets make nothing visible but what they carry"
			}
		}
		r.unsafe(e, x, rank, does, "before that may be touched", why)
	})
}

// ended reports what events do with memory of ranks whose launches may end
// before.
func (r *oneRacer) ended(c *clocks) {
	views := make([]*view, len(r.p.Rank))
	for b := range c.blocks {
		if r.p.Loose(int32(b)) {
			continue
		}
		k := &c.blocks[b]
		c.learn(k, int32(b), r.groupsOf[b])
		v := &views[r.p.Blocks[b].Rank]
		if *v == nil {
			*v = &view{c: c, e: -1, at: part{-1, -1}}
		}
		(*v).done, (*v).visible = append((*v).done, k.done), append((*v).visible, k.visible)
	}
	r.remotes(func(e int32, x *ir.Operand, rank int, does kind) {
		i, v := r.events[e].step, views[rank]
		switch {
		case v == nil:
			r.unsafe(e, x, rank, does, "when that may be gone", "that rank has no block to wait for it")
		case does == writeWrite:
			if !v.over(v.visible, i) {
				why := "no flag tells that rank, before its launch ends, that this is written"
				if v.over(v.done, i) {
					why = "that rank knows by " + r.byWhat("this is written")
				}
				r.unsafe(e, x, rank, does, "when that may be gone", why)
			}
		case !v.over(v.done, i):
			for k := r.events[e].k; k < r.events[e].k+r.events[e].n; k++ {
				if !v.read(part{i, k}) {
					r.unsafe(e, x, rank, does, "when that may be gone", "no flag and no packet tells that rank, before its launch ends, that this is read")
					return
				}
			}
		}
	})
}

// unsafe reports an access to user memory of another rank that is not inside
// that rank's launch. A step and a rank are reported once.
func (r *oneRacer) unsafe(e int32, x *ir.Operand, rank int, does kind, when, why string) {
	i := r.events[e].step
	key := [2]int32{i, -1 - int32(rank)}
	if r.seen[key] || len(r.seen) >= racesListed {
		return
	}
	r.seen[key] = true
	verb := "writes"
	if does == readWrite {
		verb = "reads"
	}
	index := int(x.Index + r.events[e].k)
	d := r.step(i, diag.Race, "%s %s %v[%d] of rank %d %s", r.name(i), verb, x.Buf, index, rank, when)
	*d = d.WithNote(diag.Span{}, "%s", why)
	r.witness(d, Witness{Step: i, With: -1, Rank: rank, Buf: x.Buf, Index: index})
}
