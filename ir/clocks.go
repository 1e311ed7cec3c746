package ir

// Clocks tell which steps of one rank's blocks happen before others, by the
// order of each block's steps and by flags. They are vector clocks: for each
// block, how many steps of every block have ended for certain.
type Clocks struct {
	blocks int
	now    []int32         // of block b: now[b*blocks : (b+1)*blocks]
	kept   map[int32]int32 // of a step that others wait for: where its clock lies in slab
	slab   []int32
}

// Reset starts anew with so many blocks.
func (c *Clocks) Reset(blocks int) {
	c.blocks, c.slab = blocks, c.slab[:0]
	c.now = append(c.now[:0], make([]int32, blocks*blocks)...)
	clear(c.kept)
	if c.kept == nil {
		c.kept = map[int32]int32{}
	}
}

func (c *Clocks) row(b int) []int32 { return c.now[b*c.blocks : (b+1)*c.blocks] }

// Join says that block b has waited for the step id, which Keep has kept.
func (c *Clocks) Join(b int, id int32) {
	at, ok := c.kept[id]
	if !ok {
		return
	}
	row := c.row(b)
	for k, t := range c.slab[at : int(at)+c.blocks] {
		row[k] = max(row[k], t)
	}
}

// Before says whether step of block other has ended before what block b does
// now.
func (c *Clocks) Before(other int, step int32, b int) bool { return c.now[b*c.blocks+other] > step }

// End says that block b has ended its step.
func (c *Clocks) End(b int, step int32) { c.now[b*c.blocks+b] = step + 1 }

// Keep keeps the clock of block b as that of the step id, for Join.
func (c *Clocks) Keep(b int, id int32) {
	c.kept[id] = int32(len(c.slab))
	c.slab = append(c.slab, c.row(b)...)
}
