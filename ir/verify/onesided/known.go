package onesided

import (
	"cmp"
	"slices"
	"sort"

	"mscclc/ir"
	"mscclc/ir/vclock"
	"mscclc/ir/verify/checker"
)

// This file says what blocks know, and what an event of a block knows, of what is over.

// A clock is how many groups of each chain of blocks of the first pass are known to be over.
type clock struct {
	row        *vclock.Row // indexed by chain
	chain, own int32       // of the block that knows it, its own
}

func (c *clock) knows(chain int32) int32 {
	n := c.row.At(chain)
	if chain == c.chain { // blocks after it in its chain may have released more
		n = max(n, c.own)
	}
	return n
}

// An acquisition is a clock that a block acquires by a step.
type acquisition struct {
	clock
	step int32
}

// A blockState is what a block knows at the beginning of the group that it is in,
// and what its steps there learn, which it knows from the next on.
type blockState struct {
	done, visible  clock
	acquires, sees []acquisition
	pass, group    int32
	byThread       map[int]threadClock // by the place of an operand: what its thread acquired in the group, and releases
}

// A released is what a signal of a pass released, for a number of awaits that are yet to acquire it; less than 0 is any
// number.
type released struct {
	done, visible clock
	left          int32
}

// share returns x for one more user.
func (x clock) share() clock {
	x.row.Share()
	return x
}

func shared(list []acquisition) []acquisition {
	for _, x := range list {
		x.share()
	}
	return slices.Clone(list)
}

// A view is what is known somewhere: by event e of a pass, or, where that is
// -1, by some blocks together.
type view struct {
	c       *clocks
	e       int32
	at      part // of what e moves
	pass    int
	done    []clock
	visible []clock
}

// viewOf returns what event e knows, in whose step its part at accesses something. The next call changes it.
func (c *clocks) viewOf(e int32, at part, pass int) *view {
	ev := &c.o.events[e]
	k := &c.blocks[c.o.links.Block[ev.step]]
	v := &c.view
	v.c, v.e, v.at, v.pass = c, e, at, pass
	v.done, v.visible = append(v.done[:0], k.done), append(v.visible[:0], k.visible)
	for _, t := range c.o.takes[ev.from.First:ev.from.End] {
		v.done = append(v.done, c.sent[t])
	}
	return v
}

// over reports whether step i is known to be over.
func (v *view) over(clocks []clock, i int32) bool {
	chain := v.c.o.chain[v.c.o.links.Block[i]]
	for k := range clocks {
		if clocks[k].knows(chain) > v.c.o.group[i]+v.c.begun {
			return true
		}
	}
	return false
}

// read reports whether the reads of a part are known to be over: its step is, or its packets have been read, and that
// in turn is over. It looks at most parts, and says no where these are too few.
func (v *view) read(x part, most int) bool {
	o := v.c.o
	list := []part{x}
	seen := map[part]bool{x: true}
	for len(list) > 0 && len(seen) <= most {
		x := list[0]
		list = list[1:]
		if v.c.work++; v.c.work > o.Opt.Work {
			return true // nothing is decided then
		}
		if v.over(v.done, x.step) || v.pass == 0 && x == v.at {
			return true
		}
		s := &o.P.Steps[x.step]
		for _, d := range o.P.Dests(s) {
			if d.Buf != ir.Packets {
				continue
			}
			for _, r := range o.readers.of(o.links.Packet(d.Rank, d.Index) + x.k) {
				if !seen[r] {
					seen[r] = true
					list = append(list, r)
				}
			}
		}
	}
	return false
}

// Most programs wait before each reuse for a signal of the very block whose access must be over. What follows finds
// these reuses without clocks: clocks of later passes would find the same, and take far longer where ranks have many
// blocks.

// byClocks leaves all to clocks. Tests set it.
var byClocks bool

// A credit is an Await of a Signal of an earlier pass: which chain the Signal's block is of, the Signal's group, and
// the first group that awaits it or a later one of that chain; -1 where all groups of the pass in question know it.
type credit struct{ chain, signal, await int32 }

// credits lists, by block, the credits of the first pass that a pass depth later knows, sorted by chain and signal. It
// is nil where there are none.
func (r *racer) credits(depth int32) [][]credit {
	var list [][]credit
	skip := r.clocks.skip
	for i := range r.P.Steps {
		s := &r.P.Steps[i]
		if s.Op != ir.Await || s.Flags&skip != 0 {
			continue
		}
		for _, x := range r.P.Sources(s) {
			signal, ago := r.links.Awaited(r.links.Flag(x.Rank, x.Index), x.Nth)
			if ago == 0 || ago > depth || r.P.Steps[signal].Flags&skip != 0 {
				continue
			}
			await := int32(-1)
			if ago == depth {
				await = r.group[i]
			}
			if list == nil {
				list = make([][]credit, len(r.P.Blocks))
			}
			b := r.links.Block[i]
			list[b] = append(list[b], credit{r.chain[r.links.Block[signal]], r.group[signal], await})
		}
	}
	for _, of := range list {
		slices.SortFunc(of, func(x, y credit) int {
			return cmp.Or(cmp.Compare(x.chain, y.chain), cmp.Compare(x.signal, y.signal))
		})
		for k := len(of) - 2; k >= 0; k-- {
			if of[k].chain == of[k+1].chain {
				of[k].await = min(of[k].await, of[k+1].await)
			}
		}
	}
	return list
}

// credited closes the reuses of what was read whose writer's block waits before, in the last pass that may ask or
// earlier, for a Signal of the first pass that is after the reader, of the reader's block or a later one of its chain.
func (r *racer) credited() {
	credits := r.credits(r.P.Depth)
	for k := range r.reused {
		x := &r.reused[k]
		if credits == nil || x.kind != checker.ReadWrite {
			continue
		}
		i, j := r.events[x.later].step, r.events[x.earlier].step
		list, chain := credits[r.links.Block[i]], r.chain[r.links.Block[j]]
		at := sort.Search(len(list), func(k int) bool {
			return list[k].chain > chain || list[k].chain == chain && list[k].signal > r.group[j]
		})
		if at < len(list) && list[at].chain == chain && list[at].await < r.group[i] {
			x.n = 0
			r.open--
		}
	}
}
