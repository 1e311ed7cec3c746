package explore

import (
	"slices"

	"mscclc/ir"
)

// clocks judge races in one schedule of a program of any size. They are two
// vector clocks a block, which count the actions of each block that are
// visible to it and done before it, as the sets of a monitor do.
type clocks struct {
	x             *program
	now           [][2]clock         // by block: visible, done
	kept          map[int32][3]clock // of an action that others wait for: these when it is over, and done before
	keep          []bool             // by action: others wait for it
	writes, reads [][]int32          // by place: the last action of each block that wrote it, and that read it
	acquires      bool               // a message orders memory
}

// A clock has, for each block, how many of its actions are known.
type clock []int32

func (c clock) join(d clock) {
	for i, n := range d {
		c[i] = max(c[i], n)
	}
}

func newClocks(x *program) *clocks {
	c := &clocks{x: x, now: make([][2]clock, len(x.Blocks)), kept: map[int32][3]clock{},
		keep: make([]bool, len(x.actions)), acquires: x.Protocol == ir.Simple}
	for b := range c.now {
		c.now[b] = [2]clock{make(clock, len(x.Blocks)), make(clock, len(x.Blocks))}
	}
	c.writes, c.reads = make([][]int32, x.cells()), make([][]int32, x.cells())
	for e := range x.actions {
		a := &x.actions[e]
		for _, n := range a.needs {
			if n.pos != never {
				c.keep[x.first[n.block]+n.pos-1] = true
			}
		}
		if a.mate >= 0 {
			c.keep[a.mate] = true
		}
	}
	return c
}

// enter notes that action e runs now, and returns one that races with it, or
// -1.
func (c *clocks) enter(e int32) int32 {
	a := &c.x.actions[e]
	now := &c.now[a.block]
	for _, n := range a.needs {
		k := c.kept[c.x.first[n.block]+n.pos-1]
		now[0].join(k[0])
		now[1].join(k[1])
	}
	if a.recv >= 0 {
		k := c.kept[a.mate]
		if c.acquires {
			now[0].join(k[0])
			now[1].join(k[1])
		} else {
			now[1].join(k[2])
		}
	}
	race := int32(-1)
	c.x.each(a, func(place int32, write bool) {
		race = max(race, c.unordered(now[0], e, c.writes[place], false))
		if write {
			race = max(race, c.unordered(now[1], e, c.reads[place], !c.acquires))
		}
	})
	c.x.each(a, func(place int32, write bool) {
		if write {
			c.writes[place] = c.last(c.writes[place], e)
		} else {
			c.reads[place] = c.last(c.reads[place], e)
		}
	})
	var before clock
	if c.keep[e] {
		before = slices.Clone(now[1])
	}
	if a.recv >= 0 {
		now[1].join(c.kept[a.mate][1])
	}
	now[0][a.block]++
	now[1][a.block]++
	if c.keep[e] {
		c.kept[e] = [3]clock{slices.Clone(now[0]), slices.Clone(now[1]), before}
	}
	return race
}

// unordered returns one of the actions, of other blocks, that a clock does not
// know, or -1; packets says that one whose message e carries on is known, too.
func (c *clocks) unordered(known clock, e int32, actions []int32, packets bool) int32 {
	block := c.x.actions[e].block
	for _, f := range actions {
		if b := c.x.actions[f].block; b != block && f-c.x.first[b] >= known[b] && !(packets && c.x.carries(f, e)) {
			return f
		}
	}
	return -1
}

// last puts e in the place of what its block did before.
func (c *clocks) last(actions []int32, e int32) []int32 {
	for i, f := range actions {
		if c.x.actions[f].block == c.x.actions[e].block {
			actions[i] = e
			return actions
		}
	}
	return append(actions, e)
}
