package onesided

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/vclock"
	"mscclc/ir/verify/checker"
)

// clocks follow happens-before through passes over the events, by vector
// clocks of all blocks over all chains: what the groups of the first pass are
// known by. Later passes only carry on what is known.
type clocks struct {
	o        *prover
	skip     ir.StepFlags // steps that these passes are without
	begins   bool         // visible is what is known by Signals to have begun, by Relaxed ones too
	begun    int32        // what a block knows of itself before its first group
	blocks   []blockState
	sent     []clock // of an event that sends packets: what they release
	left     []int32 // of such an event: how often they are yet read in this pass
	uses     []int32 // and in each
	passedOn []bool  // of an operand; see onesided.Program.Relayed
	// of the signals of the last few passes: signal step i has those from slot[i] to slot[i+1], apart[i] for each pass
	released []released
	slot     []int32
	asks     []int32 // by step: how many awaits learn of its signal
	apart    []int32 // by step: its destinations, where threads release what they acquired, else 1
	rows     *vclock.Pool
	view     view      // see viewOf
	arrivals *arrivals // nil where all ranks are of one node, or nobody asks
	work     int64
	share    int64 // see racer

	// each is called for each event of a Move, when all that it knows is known.
	each func(e int32, pass int)
}

// rowsKept bounds the memory of rows, in words, and releasedKept the signals that are kept, unless more work is
// allowed.
const (
	rowsKept     = 1 << 28
	releasedKept = 1 << 24
)

// memoryBeside is the share of the memory that clocks beside others may have: a quarter.
const memoryBeside = 4

// newClocks makes clocks of chains and, unless it is nil, of arrivals.
func (o *prover) newClocks(skip ir.StepFlags, share int64, arrivals *arrivals) *clocks {
	c := &clocks{o: o, skip: skip, share: share, blocks: make([]blockState, len(o.P.Blocks)), arrivals: arrivals}
	counts := o.chains
	if arrivals != nil {
		counts += arrivals.counts
	}
	c.rows = vclock.NewPool(counts, int32(len(o.P.Rank)))
	c.splitSignals()
	if len(o.takes) > 0 {
		c.sent, c.left, c.uses = make([]clock, len(o.events)), make([]int32, len(o.events)), make([]int32, len(o.events))
	}
	for _, e := range o.takes {
		c.uses[e]++
	}
	return c
}

// keep makes room for what signals release as long as awaits of later passes,
// up to pass depth, ask for it. It says whether that is not too much.
func (c *clocks) keep(depth int32) bool {
	c.slot, c.asks = make([]int32, len(c.o.P.Steps)+1), make([]int32, len(c.o.P.Steps))
	for i := range c.o.P.Steps {
		s := &c.o.P.Steps[i]
		if s.Op != ir.Await || s.Flags&c.skip != 0 {
			continue
		}
		for _, x := range c.o.P.Sources(s) {
			step, ago := c.o.links.Awaited(c.o.links.Flag(x.Rank, x.Index), x.Nth)
			if ago <= depth {
				c.asks[step]++
				c.slot[step+1] = max(c.slot[step+1], (ago+1)*c.apart[step])
			}
		}
	}
	room := int64(0)
	for i := range c.slot {
		if room += int64(c.slot[i]); room > max(releasedKept, c.o.Opt.Work/16)/c.share {
			return false
		}
		c.slot[i] = int32(room)
	}
	c.released = make([]released, room)
	return true
}

// forget drops what x knows.
func (c *clocks) forget(x *clock) {
	c.rows.Drop(x.row)
	*x = clock{}
}

// add lets a know what x does.
func (c *clocks) add(a *clock, x clock) {
	c.work -= c.rows.Work
	a.row = c.rows.Largest(a.row, x.row, x.chain, x.own)
	c.work += c.rows.Work
}

// pass runs one pass, and says whether that was within the work allowed.
func (c *clocks) pass(pass int) bool {
	if pass > 0 && c.o.P.OnePass {
		c.boundary()
	}
	copy(c.left, c.uses)
	for e := range c.o.events {
		ev := &c.o.events[e]
		s := &c.o.P.Steps[ev.step]
		if s.Flags&c.skip != 0 {
			continue
		}
		b := c.o.links.Block[ev.step]
		k := &c.blocks[b]
		c.enter(k, b, int32(pass)+1, c.o.group[ev.step])
		switch {
		case s.Op.Moves():
			c.move(k, ev, int32(e), pass)
		case s.Op == ir.Signal:
			c.signal(k, ev.step, s, pass)
		case s.Op == ir.Await:
			c.await(k, ev.step, s, pass)
		}
		if c.work++; c.work > c.o.Opt.Work || c.rows.Entries > max(rowsKept, c.o.Opt.Work)/c.share {
			return false
		}
	}
	return true
}

// snapshot returns what blocks know now, whatever passes follow.
func (c *clocks) snapshot() *clocks {
	now := *c
	now.view, now.blocks = view{}, slices.Clone(c.blocks)
	for i := range now.blocks {
		k := &now.blocks[i]
		k.done, k.visible = k.done.share(), k.visible.share()
		k.acquires, k.sees, k.byThread = shared(k.acquires), shared(k.sees), nil
	}
	return &now
}

// boundary ends the launches of all ranks, whose next know what all of the rank's blocks knew, but for those that are
// loose.
func (c *clocks) boundary() {
	for _, own := range c.o.P.Rank {
		var done, visible clock
		one := true // what is done is visible
		for b := own.First; b < own.End; b++ {
			if k := &c.blocks[b]; !c.o.P.Loose(b) {
				c.acquire(k, b, c.o.groupsOf[b])
				one = one && k.done.row == k.visible.row
				c.add(&done, k.done)
			}
		}
		for b := own.First; b < own.End && !one; b++ {
			if k := &c.blocks[b]; !c.o.P.Loose(b) {
				c.add(&visible, k.visible)
			}
		}
		if one {
			visible = done.share()
		}
		for b := own.First; b < own.End; b++ {
			if k := &c.blocks[b]; !c.o.P.Loose(b) {
				c.rows.Drop(k.done.row)
				c.rows.Drop(k.visible.row)
				k.done.row, k.visible.row = done.row.Share(), visible.row.Share()
			}
		}
		c.rows.Drop(done.row)
		c.rows.Drop(visible.row)
	}
}

// shows reports whether a Signal or an Await makes visible what it releases or acquires.
func (c *clocks) shows(s *ir.Step) bool { return c.begins || s.Flags&ir.Relaxed == 0 }

// enter lets block b begin a group, unless it is in it.
func (c *clocks) enter(k *blockState, b, pass, group int32) {
	if k.pass == pass && k.group == group {
		return
	}
	k.pass, k.group = pass, group
	own := group
	if pass > 1 {
		own = c.o.groupsOf[b]
	}
	c.acquire(k, b, own)
}

// acquire ends a group of block b, of whose groups own are then over.
func (c *clocks) acquire(k *blockState, b, own int32) {
	if k.done.row == k.visible.row && slices.Equal(k.acquires, k.sees) {
		c.forget(&k.visible)
		c.addAll(&k.done, k.acquires)
		k.visible = k.done.share()
	} else {
		c.addAll(&k.done, k.acquires)
		c.addAll(&k.visible, k.sees)
	}
	for _, list := range [2][]acquisition{k.acquires, k.sees} {
		for i := range list {
			c.rows.Drop(list[i].row)
		}
	}
	k.done.chain, k.done.own = c.o.chain[b], own+c.begun
	k.visible.chain, k.visible.own = k.done.chain, k.done.own
	c.endThreads(k)
	k.acquires, k.sees = k.acquires[:0], k.sees[:0]
}

func (c *clocks) addAll(a *clock, list []acquisition) {
	for i := range list {
		c.add(a, list[i].clock)
	}
}

// signal keeps what Signal i, which is s, releases, while awaits are to learn it.
func (c *clocks) signal(k *blockState, i int32, s *ir.Step, pass int) {
	slots := c.released[c.slot[i]:c.slot[i+1]]
	if len(slots) == 0 {
		return
	}
	for n := range c.apart[i] {
		of := &slots[c.slotOf(i, n, pass, len(slots))]
		c.forget(&of.done)
		c.forget(&of.visible)
		of.done, of.left = k.done.share(), c.asks[i]
		if c.shows(s) {
			of.visible = k.visible.share()
		}
		c.passOn(k, s, n, of)
	}
}

// await learns what the signals released that step i, which is s, waits for.
func (c *clocks) await(k *blockState, i int32, s *ir.Step, pass int) {
	for n, x := range c.o.P.Sources(s) {
		flag := c.o.links.Flag(x.Rank, x.Index)
		step, ago := c.o.links.Awaited(flag, x.Nth)
		if int(ago) > pass || c.o.P.Steps[step].Flags&c.skip != 0 {
			continue
		}
		slots := c.released[c.slot[step]:c.slot[step+1]]
		of := &slots[c.slotOf(step, c.raises(step, flag), pass-int(ago), len(slots))]
		k.acquires = append(k.acquires, acquisition{of.done.share(), i})
		if c.shows(s) {
			k.sees = append(k.sees, acquisition{of.visible.share(), i})
		}
		c.acquireByThread(k, s, n, of)
		c.arrive(k, i, n, step, int(ago) == pass)
		if of.left--; of.left == 0 {
			c.forget(&of.done)
			c.forget(&of.visible)
		}
	}
}

// move looks at the accesses of event e, sends its packets, and learns by those
// that it reads.
func (c *clocks) move(k *blockState, ev *event, e int32, pass int) {
	c.each(e, pass)
	takes := c.o.takes[ev.from.First:ev.from.End]
	if ev.sends {
		sent := k.done.share()
		for _, t := range takes {
			c.add(&sent, c.sent[t])
		}
		c.sent[e] = sent
	}
	for _, t := range takes {
		k.acquires = append(k.acquires, acquisition{c.sent[t].share(), ev.step})
		if c.left[t]--; c.left[t] == 0 {
			c.forget(&c.sent[t])
		}
	}
}

// tooMuch reports that the work allowed was not enough.
func (o *prover) tooMuch() {
	o.Undecided(checker.OfRaces, "%s tell each other so much", diag.Counted(len(o.P.Blocks), "block"))
}
