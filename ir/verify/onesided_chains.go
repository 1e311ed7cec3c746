package verify

import "mscclc/ir"

// groups numbers the groups of each block, the steps that run together: from 0, or from where the block's work was
// handed over by another of its rank. Blocks that hand work over make a chain, in which who knows of a group that it is
// over knows that of all before it: so clocks count a chain's groups, however many blocks have a part.
func (o *oneSided) groups() {
	o.group, o.groupsOf = make([]int32, len(o.p.Steps)), make([]int32, len(o.p.Blocks))
	o.chain = make([]int32, len(o.p.Blocks))
	from, to := o.handovers()
	for b := range o.p.Blocks {
		if from[b] >= 0 {
			continue
		}
		g := int32(-1)
		for at := int32(b); at >= 0; at = to[at] {
			o.chain[at] = o.chains
			for i := o.p.Blocks[at].Steps.First; i < o.p.Blocks[at].Steps.End; i++ {
				if o.p.Steps[i].Flags&ir.Joint == 0 {
					g++
				}
				o.group[i] = g
			}
			o.groupsOf[at] = g + 1
		}
		o.chains++
	}
}

// handovers finds which block each takes over from, and which takes over from it, or -1: the first step of one, alone
// in its group, awaits the last of the other of its rank, which is alone in its group and tells of all before it.
func (o *oneSided) handovers() (from, to []int32) {
	from, to = make([]int32, len(o.p.Blocks)), make([]int32, len(o.p.Blocks))
	for b := range from {
		from[b], to[b] = -1, -1
	}
	const marks = ir.Relaxed | ir.Enter | ir.Leave | ir.Joint
	for b := range o.p.Blocks {
		steps := o.p.Blocks[b].Steps
		if steps.First == steps.End {
			continue
		}
		first := &o.p.Steps[steps.First]
		if first.Op != ir.Await || first.Flags&marks != 0 || steps.End > steps.First+1 &&
			o.p.Steps[steps.First+1].Flags&ir.Joint != 0 {
			continue
		}
		for _, x := range o.p.OneSided.Sources(first) {
			step, ago := o.links.Awaited(o.links.Flag(x.Rank, x.Index), x.Nth)
			if step < 0 || ago != 0 || o.p.Steps[step].Flags&marks != 0 {
				continue
			}
			a := o.links.Block[step]
			if step == o.p.Blocks[a].Steps.End-1 && o.p.Blocks[a].Rank == o.p.Blocks[b].Rank && to[a] < 0 {
				from[b], to[a] = a, int32(b)
				break
			}
		}
	}
	return from, to
}
