package verify

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
)

// A clock is how many groups of each chain of blocks of the first pass are known to be
// over. Rows are shared and never changed.
type clock struct {
	row        []int32 // nil knows nothing
	chain, own int32   // of the block that knows it, its own
}

func (c *clock) knows(chain int32) int32 {
	n := int32(0)
	if c.row != nil {
		n = c.row[chain]
	}
	if chain == c.chain { // blocks behind it in its chain may have told more
		n = max(n, c.own)
	}
	return n
}

// A knower is what a block knows at the beginning of the group that it is in,
// and what its steps there learn, which it knows from the next on.
type knower struct {
	done, visible clock
	learns, sees  []clock
	pass, group   int32
}

// A signalled is what the last few passes' signals of a step released.
type signalled struct{ done, visible []clock }

// clocks follow happens-before through passes over the events, by vector
// clocks of all blocks over all chains: what the groups of the first pass are
// known by. Later passes only carry on what is known.
type clocks struct {
	o       *oneSided
	skip    ir.StepFlags // steps that these passes are without
	begins  bool         // visible is what is known by Signals to have begun, by Relaxed ones too
	begun   int32        // what a block knows of itself before its first group
	blocks  []knower
	sent    []clock     // of an event that sends packets: what they tell
	left    []int32     // of such an event: how often they are yet read in this pass
	uses    []int32     // and in each
	signals []signalled // of a step
	kept    int64       // clocks of sent
	work    int64

	// each is called for each event of a Move, when all that it knows is known.
	each func(e int32, pass int)
}

// rowWork is how many entries of a row are one unit of work.
const rowWork = 16

// rowsKept bounds the entries of rows that are kept.
const rowsKept = 1 << 28

func (o *oneSided) newClocks(skip ir.StepFlags) *clocks {
	c := &clocks{o: o, skip: skip, blocks: make([]knower, len(o.p.Blocks)), sent: make([]clock, len(o.events)),
		left: make([]int32, len(o.events)), uses: make([]int32, len(o.events)), signals: make([]signalled, len(o.p.Steps))}
	for _, e := range o.takes {
		c.uses[e]++
	}
	return c
}

// keep makes room for what signals release as long as awaits of later passes,
// up to pass depth, ask for it. It says whether that is not too much.
func (c *clocks) keep(depth int32) bool {
	room := int64(0)
	for i := range c.o.p.Steps {
		s := &c.o.p.Steps[i]
		if s.Op != ir.Await || s.Flags&c.skip != 0 {
			continue
		}
		for _, x := range c.o.p.OneSided.Sources(s) {
			step, ago := c.o.links.Awaited(c.o.links.Flag(x.Rank, x.Index), x.Nth)
			if k := &c.signals[step]; ago <= depth && int(ago) >= len(k.done) {
				room += int64(ago) + 1 - int64(len(k.done))
				k.done, k.visible = make([]clock, ago+1), make([]clock, ago+1)
			}
			if room*int64(c.o.chains) > rowsKept {
				return false
			}
		}
	}
	return true
}

// pass runs one pass, and says whether that was within the work allowed.
func (c *clocks) pass(pass int) bool {
	if pass > 0 && c.o.p.OneSided.OnePass {
		c.boundary()
	}
	copy(c.left, c.uses)
	for e := range c.o.events {
		ev := &c.o.events[e]
		s := &c.o.p.Steps[ev.step]
		if s.Flags&c.skip != 0 {
			continue
		}
		b := c.o.links.Block[ev.step]
		k := &c.blocks[b]
		c.enter(k, b, int32(pass)+1, c.o.group[ev.step])
		switch s.Op {
		case ir.Move:
			c.move(k, ev, int32(e), pass)
		case ir.Signal:
			if of := &c.signals[ev.step]; of.done != nil {
				at := pass % len(of.done)
				of.done[at], of.visible[at] = k.done, clock{}
				if c.shows(s) {
					of.visible[at] = k.visible
				}
			}
		case ir.Await:
			c.await(k, s, pass)
		}
		if c.work++; c.work > c.o.opt.Work || c.kept*int64(c.o.chains) > rowsKept {
			return false
		}
	}
	return true
}

// snapshot is what blocks know now, whatever passes follow.
func (c *clocks) snapshot() *clocks {
	now := *c
	now.blocks = slices.Clone(c.blocks)
	for i := range now.blocks {
		k := &now.blocks[i]
		k.learns, k.sees = slices.Clone(k.learns), slices.Clone(k.sees)
	}
	return &now
}

// boundary ends the launches of all ranks, whose next know what all of the rank's blocks knew, but for those that are loose.
func (c *clocks) boundary() {
	for _, own := range c.o.p.Rank {
		var done, visible []clock
		for b := own.First; b < own.End; b++ {
			if k := &c.blocks[b]; !c.o.p.Loose(b) {
				c.learn(k, b, c.o.groupsOf[b])
				done, visible = append(done, k.done), append(visible, k.visible)
			}
		}
		all, seen := c.join(clock{}, done), c.join(clock{}, visible)
		for b := own.First; b < own.End; b++ {
			if k := &c.blocks[b]; !c.o.p.Loose(b) {
				k.done.row, k.visible.row = all.row, seen.row
			}
		}
	}
}

// shows says whether a Signal or an Await makes visible what it tells.
func (c *clocks) shows(s *ir.Step) bool { return c.begins || s.Flags&ir.Relaxed == 0 }

// enter lets block b begin a group, unless it is in it.
func (c *clocks) enter(k *knower, b, pass, group int32) {
	if k.pass == pass && k.group == group {
		return
	}
	k.pass, k.group = pass, group
	own := group
	if pass > 1 {
		own = c.o.groupsOf[b]
	}
	c.learn(k, b, own)
}

// learn ends a group of block b, of whose groups own are then over.
func (c *clocks) learn(k *knower, b, own int32) {
	k.done = c.join(k.done, k.learns)
	k.visible = c.join(k.visible, k.sees)
	k.done.chain, k.done.own = c.o.chain[b], own+c.begun
	k.visible.chain, k.visible.own = k.done.chain, k.done.own
	k.learns, k.sees = k.learns[:0], k.sees[:0]
}

// join returns what is known by a and all of list.
func (c *clocks) join(a clock, list []clock) clock {
	if len(list) == 0 {
		return a
	}
	c.work += int64(len(list)) * int64(c.o.chains/rowWork+1)
	row := slices.Clone(a.row)
	if row == nil {
		row = make([]int32, c.o.chains)
	}
	for _, x := range list {
		if len(x.row) == len(row) { // for the compiler: no check in the loop
			for k, n := range x.row {
				row[k] = max(row[k], n)
			}
		}
		row[x.chain] = max(row[x.chain], x.own)
	}
	return clock{row: row, chain: a.chain, own: a.own}
}

// await learns what the signals released that s waits for.
func (c *clocks) await(k *knower, s *ir.Step, pass int) {
	for _, x := range c.o.p.OneSided.Sources(s) {
		step, ago := c.o.links.Awaited(c.o.links.Flag(x.Rank, x.Index), x.Nth)
		if int(ago) > pass || c.o.p.Steps[step].Flags&c.skip != 0 {
			continue
		}
		of := &c.signals[step]
		at := (pass - int(ago)) % len(of.done)
		k.learns = append(k.learns, of.done[at])
		if c.shows(s) {
			k.sees = append(k.sees, of.visible[at])
		}
	}
}

// move looks at the accesses of event e, sends its packets, and learns by those
// that it reads.
func (c *clocks) move(k *knower, ev *event, e int32, pass int) {
	c.each(e, pass)
	takes := c.o.takes[ev.from.First:ev.from.End]
	if ev.sends {
		list := make([]clock, len(takes))
		for i, t := range takes {
			list[i] = c.sent[t]
		}
		c.sent[e] = c.join(k.done, list)
		c.kept++
	}
	for _, t := range takes {
		k.learns = append(k.learns, c.sent[t])
		if c.left[t]--; c.left[t] == 0 {
			c.sent[t] = clock{}
			c.kept--
		}
	}
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

// viewOf is what event e knows, in whose step its part at accesses something.
func (c *clocks) viewOf(e int32, at part, pass int) *view {
	ev := &c.o.events[e]
	k := &c.blocks[c.o.links.Block[ev.step]]
	v := &view{c: c, e: e, at: at, pass: pass, done: []clock{k.done}, visible: []clock{k.visible}}
	for _, t := range c.o.takes[ev.from.First:ev.from.End] {
		v.done = append(v.done, c.sent[t])
	}
	return v
}

// over says whether step i is known to be over.
func (v *view) over(clocks []clock, i int32) bool {
	chain := v.c.o.chain[v.c.o.links.Block[i]]
	for k := range clocks {
		if clocks[k].knows(chain) > v.c.o.group[i]+v.c.begun {
			return true
		}
	}
	return false
}

// read says whether the reads of a part are known to be over: its step is, or
// its packets have been read, and that in turn is over.
func (v *view) read(x part) bool {
	o := v.c.o
	list := []part{x}
	seen := map[part]bool{x: true}
	for len(list) > 0 {
		x := list[0]
		list = list[1:]
		if v.c.work++; v.c.work > o.opt.Work {
			return true // nothing is decided then
		}
		if v.over(v.done, x.step) || v.pass == 0 && x == v.at {
			return true
		}
		s := &o.p.Steps[x.step]
		for _, d := range o.p.OneSided.Dests(s) {
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

// tooMuch reports that the work allowed was not enough.
func (o *oneSided) tooMuch() {
	d := o.at(place{-1, -1, -1}, diag.Undecided, -1, "%s tell each other so much that it is not decided within the work allowed (%d) whether accesses race", count(len(o.p.Blocks), "block"), o.opt.Work)
	d.Hint = "--limit work=N allows more"
}
