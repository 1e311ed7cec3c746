package verify

import (
	"cmp"
	"slices"

	"mscclc/ir"
)

// groups numbers the groups of each block, the steps that run together: from 0, or from where the block's work was
// handed over by another of its rank. Blocks that hand work over make a chain, in which who knows of a group that it is
// over knows that of all before it: so clocks count a chain's groups, however many blocks have a part. Chains are in
// the order of byPlace.
func (o *oneSided) groups() {
	o.group, o.groupsOf = make([]int32, len(o.p.Steps)), make([]int32, len(o.p.Blocks))
	o.chain = make([]int32, len(o.p.Blocks))
	from, to := o.handovers()
	for _, b := range o.byPlace() {
		if from[b] >= 0 {
			continue
		}
		g := int32(-1)
		for at := b; at >= 0; at = to[at] {
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

// byPlace lists the first block of each rank, then the second of each, and so on. These do much the same in most
// programs, so that the rows of clocks have long runs.
func (o *oneSided) byPlace() []int32 {
	list := make([]int32, len(o.p.Blocks))
	for b := range list {
		list[b] = int32(b)
	}
	place := func(b int32) int32 { return b - o.p.Rank[o.p.Blocks[b].Rank].First }
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(place(a), place(b)) })
	return list
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
