package onesided

import (
	"cmp"
	"slices"
	"sort"

	"mscclc/ir"
	"mscclc/ir/onesided"
	"mscclc/ir/vclock"
)

// groups numbers the groups of each block, the steps that run together: from 0, or from where the block's work was
// handed over by another. Blocks that hand work over make a chain, in which who knows of a group that it is over knows
// that of all before it: so clocks count a chain's groups, however many blocks and ranks have a part. Where clocks
// count the groups that have begun in a launch's first pass, a block releases nobody that its last group, a Signal, is
// over, so that its count is too small for the next block to have begun. Chains are in the order of byPlace.
func (o *prover) groups() {
	o.group, o.groupsOf = make([]int32, len(o.P.Steps)), make([]int32, len(o.P.Blocks))
	o.chain, o.before = make([]int32, len(o.P.Blocks)), make([]int32, len(o.P.Blocks))
	from, to := o.handovers()
	for _, b := range o.byPlace() {
		if from[b] >= 0 {
			continue
		}
		g := int32(-1)
		for at := b; at >= 0; at = to[at] {
			o.chain[at], o.before[at] = o.chains, g+1
			for i := o.P.Blocks[at].Steps.First; i < o.P.Blocks[at].Steps.End; i++ {
				if o.P.Steps[i].Flags&ir.Joint == 0 {
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
// programs, so that the rows of clocks have long runs. Where ranks have several blocks and nodes, the first ranks of
// all nodes come first, then the second, and so on; see vclock.Within.
func (o *prover) byPlace() []int32 {
	list, within := make([]int32, len(o.P.Blocks)), make([]int32, len(o.P.Rank))
	for b := range list {
		list[b] = int32(b)
	}
	if len(o.P.Blocks) > len(o.P.Rank) {
		within = vclock.Within(o.Opt.Nodes, int32(len(o.P.Rank)))
	}
	place := func(b int32) int32 { return b - o.P.Rank[o.P.Blocks[b].Rank].First }
	slices.SortStableFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(place(a), place(b)),
			cmp.Compare(within[o.P.Blocks[a].Rank], within[o.P.Blocks[b].Rank]))
	})
	return list
}

// unchained has each block be a chain. Tests set it.
var unchained bool

// handovers finds which block each takes over from, and which takes over from it, or -1: the first step of one, alone
// in its group, awaits the last of the other, which is alone in its group and releases of all before it.
func (o *prover) handovers() (from, to []int32) {
	from, to = make([]int32, len(o.P.Blocks)), make([]int32, len(o.P.Blocks))
	for b := range from {
		from[b], to[b] = -1, -1
	}
	if unchained {
		return from, to
	}
	const marks = ir.Relaxed | ir.Enter | ir.Leave | ir.Joint
	for b := range o.P.Blocks {
		steps := o.P.Blocks[b].Steps
		if steps.First == steps.End {
			continue
		}
		first := &o.P.Steps[steps.First]
		if first.Op != ir.Await || first.Flags&marks != 0 || steps.End > steps.First+1 &&
			o.P.Steps[steps.First+1].Flags&ir.Joint != 0 {
			continue
		}
		for _, x := range o.P.Sources(first) {
			step, ago := o.links.Awaited(o.links.Flag(x.Rank, x.Index), x.Nth)
			if step < 0 || ago != 0 || o.P.Steps[step].Flags&marks != 0 {
				continue
			}
			a := o.links.Block[step]
			if step == o.P.Blocks[a].Steps.End-1 && to[a] < 0 {
				from[b], to[a] = a, int32(b)
				break
			}
		}
	}
	return from, to
}

// An arrivals says what Signals release of the arrival of data at other nodes, for each pair of a block and a rank of
// another node that it writes. What has arrived in the first pass is known by who knows that an Await is over. Where
// later passes ask too, clocks count it as they count groups: up to which of the block's groups of the first pass what
// it wrote there has arrived.
type arrivals struct {
	pair   map[[2]int32]*arrival // of a block and a rank
	counts int32                 // how many pairs clocks have a count of
}

// An arrival is what releases of a pair.
type arrival struct {
	count    int32 // the number among the counts of a clock, or -1
	last     int32 // what a Signal of a later pass releases
	acquired []acquiredBy
}

// A acquiredBy says by which Awaits a block acquires of a pair in the first pass, sorted by the Signal's group.
type acquiredBy struct {
	block int32
	by    []arrivedBy
}

// An arrivedBy is the group of a Signal, and the first group that awaits it or a later one.
type arrivedBy struct{ signal, await int32 }

// newArrivals finds what releases of each pair, and numbers the counts, after those of chains. It is nil without
// nodes.
func (o *prover) newArrivals(skip ir.StepFlags) *arrivals {
	if o.Opt.Nodes == nil {
		return nil
	}
	a := &arrivals{pair: map[[2]int32]*arrival{}}
	shared := o.sharedCells()
	o.eachCrossing(ir.Op.Moves, func(i, b int32, to *onesided.Operand) {
		x := a.pair[[2]int32{b, to.Rank}]
		if x == nil {
			x = &arrival{count: -1}
			a.pair[[2]int32{b, to.Rank}] = x
		}
		at := o.cells.Cell(int(to.Rank), to.Buf, int(to.Index))
		if x.count < 0 && slices.Contains(shared[at:at+int(o.P.Steps[i].Count)], several) {
			x.count = o.chains + a.counts
			a.counts++
		}
	})
	o.eachCrossing(isSignal, func(i, b int32, to *onesided.Operand) {
		if x := a.pair[[2]int32{b, to.Rank}]; x != nil && carries(&o.P.Steps[i], skip) {
			x.last = max(x.last, o.group[i])
		}
	})
	o.awaitArrivals(a, skip)
	return a
}

// several is in place of a block where there are several.
const several = -1

// sharedCells returns which block writes each cell, counted from 1; 0 is none. What one block writes alone nobody asks
// about in a later pass. Where threads release what they acquired in a group that is not over, each cell counts as of
// several.
func (o *prover) sharedCells() []int32 {
	writer := make([]int32, o.cells.Len())
	threads := counted || o.P.Relayed() != nil
	for i := range o.P.Steps {
		s := &o.P.Steps[i]
		for _, x := range o.P.Dests(s) {
			if !s.Op.Moves() || x.Buf != ir.Scratch {
				continue
			}
			at := o.cells.Cell(int(x.Rank), x.Buf, int(x.Index))
			for cell := at; cell < at+int(s.Count); cell++ {
				if by := o.links.Block[i] + 1; writer[cell] == 0 && !threads {
					writer[cell] = by
				} else if writer[cell] != by {
					writer[cell] = several
				}
			}
		}
	}
	return writer
}

// counted has clocks count each pair. Tests set it.
var counted bool

// awaitArrivals finds which Awaits of the first pass acquire for the pairs that have no count.
func (o *prover) awaitArrivals(a *arrivals, skip ir.StepFlags) {
	for i := range o.P.Steps {
		s := &o.P.Steps[i]
		if s.Op != ir.Await || s.Flags&(skip|ir.Relaxed) != 0 {
			continue
		}
		for _, x := range o.P.Sources(s) {
			signal, ago := o.links.Awaited(o.links.Flag(x.Rank, x.Index), x.Nth)
			pair := a.pair[[2]int32{o.links.Block[signal], x.Rank}]
			if pair == nil || pair.count >= 0 || ago > 0 || !carries(&o.P.Steps[signal], skip) {
				continue
			}
			b := o.links.Block[i]
			if n := len(pair.acquired); n == 0 || pair.acquired[n-1].block != b {
				pair.acquired = append(pair.acquired, acquiredBy{block: b})
			}
			acquired := &pair.acquired[len(pair.acquired)-1]
			acquired.by = append(acquired.by, arrivedBy{o.group[signal], o.group[i]})
		}
	}
	for _, pair := range a.pair {
		for _, acquired := range pair.acquired {
			by := acquired.by
			slices.SortFunc(by, func(x, y arrivedBy) int { return cmp.Compare(x.signal, y.signal) })
			for k := len(by) - 2; k >= 0; k-- {
				by[k].await = min(by[k].await, by[k+1].await)
			}
		}
	}
}

// knowsArrived reports whether a clock of the first pass knows that what a group of the pair's block wrote has arrived.
func (o *prover) knowsArrived(c *clock, pair *arrival, group int32) bool {
	return slices.ContainsFunc(pair.acquired, func(x acquiredBy) bool {
		k := sort.Search(len(x.by), func(k int) bool { return x.by[k].signal > group })
		return k < len(x.by) && c.knows(o.chain[x.block]) > x.by[k].await
	})
}

func isSignal(op ir.Op) bool { return op == ir.Signal }

// eachCrossing calls f for each destination that is of another node, of steps of such an operation.
func (o *prover) eachCrossing(such func(ir.Op) bool, f func(i, b int32, to *onesided.Operand)) {
	for i := range o.P.Steps {
		if s := &o.P.Steps[i]; such(s.Op) {
			b, dests := o.links.Block[i], o.P.Dests(s)
			for k := range dests {
				if o.crosses(b, dests[k].Rank) {
					f(int32(i), b, &dests[k])
				}
			}
		}
	}
}
