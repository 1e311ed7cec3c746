package vclock

// Clocks tell which steps of one rank's blocks happen before others, by the
// order of each block's steps and by flags. They are vector clocks: for each
// block, up to which step of every other block all is known to have ended.
// What a block knows is a tree that is never changed, so that clocks share
// what they know alike, and very many blocks cost no more than they learn.
//
// A step is known by an id, which counts through all ranks, and by its number
// within its block.
type Clocks struct {
	Work int64 // nodes of trees looked at to join them, by which a caller bounds it

	height int
	now    []Clock // of each block
	left   []int32 // of an id: the waits for it that are yet to come
	slot   []int32 // where its clock is kept while there are any
	kept   []Clock
	free   []int32
}

// A Clock is what a block knows after its step Step.
type Clock struct {
	Block, Step int32
	height      int
	known       *clockTree // of the own block it means nothing
}

const clockFan = 8

// A clockTree holds a number for each of clockFan to the power of its height
// blocks; at height 1 in ended, else in its parts.
type clockTree struct {
	parts [clockFan]*clockTree
	ended [clockFan]int32 // steps that have ended, from the first
}

// Knows returns up to which step of a block all is done; -1 is none.
func (c *Clock) Knows(block int32) int32 {
	if block == c.Block {
		return c.Step
	}
	t := c.known
	for h := c.height; t != nil; h-- {
		if h == 1 {
			return t.ended[block%clockFan] - 1
		}
		t = t.parts[part(block, h)]
	}
	return -1
}

// part is the part of a tree of height h that block lies in.
func part(block int32, h int) int32 {
	for ; h > 1; h-- {
		block /= clockFan
	}
	return block % clockFan
}

// NewClocks returns clocks for steps with ids below n.
func NewClocks(n int) *Clocks { return &Clocks{left: make([]int32, n), slot: make([]int32, n)} }

// Begin turns to the next rank, which has so many blocks.
func (c *Clocks) Begin(blocks int) {
	c.height = 1
	for n := clockFan; n < blocks; n *= clockFan {
		c.height++
	}
	c.now = c.now[:0]
	for b := range int32(blocks) {
		c.now = append(c.now, Clock{b, -1, c.height, nil})
	}
	c.kept, c.free = c.kept[:0], c.free[:0]
}

// Expect announces one wait for step id, before that ends.
func (c *Clocks) Expect(id int32) { c.left[id]++ }

// Covers says whether block b knows that a step of a block has ended.
func (c *Clocks) Covers(b, block, step int32) bool { return c.now[b].Knows(block) >= step }

// Wait says that block b has waited for step id, as was announced. What a
// block knows of another it has learned with all that the other knew then, so
// that nothing is to learn from a step that it knows of.
func (c *Clocks) Wait(b, id int32) {
	mine, of := &c.now[b], &c.kept[c.slot[id]]
	if mine.Knows(of.Block) < of.Step {
		mine.known = c.set(c.join(mine.known, of.known, c.height), c.height, of.Block, of.Step+1)
	}
	if c.left[id]--; c.left[id] == 0 {
		of.known = nil
		c.free = append(c.free, c.slot[id])
	}
}

// End says that block b has ended its step, which has an id, and returns the
// block's clock.
func (c *Clocks) End(b, step, id int32) Clock {
	c.now[b].Step = step
	if c.left[id] > 0 {
		c.keep(id, c.now[b])
	}
	return c.now[b]
}

func (c *Clocks) keep(id int32, now Clock) {
	if n := len(c.free); n > 0 {
		c.slot[id] = c.free[n-1]
		c.free = c.free[:n-1]
		c.kept[c.slot[id]] = now
		return
	}
	c.slot[id] = int32(len(c.kept))
	c.kept = append(c.kept, now)
}

// join returns what a and b, of height h, know together; one of them where
// that knows all.
func (c *Clocks) join(a, b *clockTree, h int) *clockTree {
	switch {
	case a == b || b == nil:
		return a
	case a == nil:
		return b
	}
	c.Work++
	t := *a
	for k := range clockFan {
		if h == 1 {
			t.ended[k] = max(a.ended[k], b.ended[k])
		} else {
			t.parts[k] = c.join(a.parts[k], b.parts[k], h-1)
		}
	}
	switch t {
	case *a:
		return a
	case *b:
		return b
	}
	return &t
}

// set returns t, of height h, with so many steps of block ended.
func (c *Clocks) set(t *clockTree, h int, block, ended int32) *clockTree {
	c.Work++
	var u clockTree
	if t != nil {
		u = *t
	}
	if h == 1 {
		u.ended[block%clockFan] = max(u.ended[block%clockFan], ended)
	} else {
		k := part(block, h)
		u.parts[k] = c.set(u.parts[k], h-1, block, ended)
	}
	return &u
}
