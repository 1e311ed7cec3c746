package vclock

// Clocks say which steps of one rank's blocks happen before others, by the order of each block's steps and by waits of
// one block for another. They are vector clocks: each block has, for every other block, the last step that it knows to
// have ended with all steps before. What a block knows is a tree that is never changed. So clocks share equal parts,
// and very many blocks need memory only for what they learn.
//
// A step has an id, which counts through all ranks, and a number within its block.
type Clocks struct {
	Work int64 // the nodes of trees that joins looked at; callers bound it

	height int
	now    []Clock // by block
	left   []int32 // by id: the announced waits for it that have not happened yet
	slot   []int32 // by id: where its clock is kept while there are any
	kept   []Clock
	free   []int32
}

// A Clock is what a block knows after its step Step.
type Clock struct {
	Block, Step int32
	height      int
	known       *clockTree // its entry for Block has no meaning
}

const clockFan = 8

// A clockTree of height h holds numbers for clockFan to the power of h blocks. At height 1 they are in ended, and above
// that in parts.
type clockTree struct {
	parts [clockFan]*clockTree
	ended [clockFan]int32 // by block: how many steps, from the first, have ended
}

// Knows returns the last step of a block that is known to have ended, with all before it, or -1.
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

// part returns the part of a tree of height h that block is in.
func part(block int32, h int) int32 {
	for ; h > 1; h-- {
		block /= clockFan
	}
	return block % clockFan
}

// NewClocks returns clocks for steps with ids below n.
func NewClocks(n int) *Clocks { return &Clocks{left: make([]int32, n), slot: make([]int32, n)} }

// Begin starts anew with the next rank, which has blocks blocks.
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

// Expect announces one wait for step id. It is called before the step ends.
func (c *Clocks) Expect(id int32) { c.left[id]++ }

// Covers reports whether block b knows that a step of a block has ended.
func (c *Clocks) Covers(b, block, step int32) bool { return c.now[b].Knows(block) >= step }

// Wait records that block b has waited for step id, as was announced. If b already knows that the step has ended, it
// learns nothing: it has learned of the step together with all that the other block knew then.
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

// End records that block b has ended a step, which has an id, and returns the block's clock.
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

// join returns the tree of height h with what a and b know. It is a or b itself if that one knows all.
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

// set returns t, which has height h, with ended steps of block.
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
