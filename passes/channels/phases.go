package channels

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// phases asks that the loops are in phases, which follow each other.
func (c *turnChecker) phases() *diag.Diagnostic {
	c.collect()
	if d := c.balanced(); d != nil {
		return d
	}
	c.inStep()
	phases := make([][][2]int32, len(c.before)) // the blocks, and which of their loops
	for b, list := range c.loops {
		for i, l := range list {
			g := c.phase[l.number]
			if n := len(phases[g]); n > 0 && phases[g][n-1][0] == int32(b) {
				return c.loopUndecided(int32(b), l, "is in step with another, with which a loop before it is too")
			}
			phases[g] = append(phases[g], [2]int32{int32(b), int32(i)})
		}
	}
	before := make([][]int32, len(phases)) // by phase: those that it waits for
	for g := range phases {
		for _, x := range phases[g] {
			for _, h := range c.before[c.loops[x[0]][x[1]].number] {
				before[g] = append(before[g], c.phase[h])
			}
		}
		d, list := c.apart(int32(g), phases[g])
		if d != nil {
			return d
		}
		before[g] = append(before[g], list...)
		if c.work > maxTurnWork {
			return c.loopUndecided(phases[g][0][0], c.loops[phases[g][0][0]][phases[g][0][1]],
				"is one of so many that more are not followed")
		}
	}
	if _, cycle := components(before); cycle >= 0 {
		at := phases[cycle][0]
		return c.loopUndecided(at[0], c.loops[at[0]][at[1]], "waits for another, which waits for it")
	}
	return nil
}

// maxTurnWork bounds how many steps are looked at, with repeats.
const maxTurnWork = 1 << 27

// collect finds the loops' steps, and who signals and awaits each flag in which order.
func (c *turnChecker) collect() {
	c.blocks = slices.Concat(c.u.blocks...)
	c.loops = make([][]turnLoop, len(c.blocks))
	for _, n := range c.u.program.Packets {
		c.sent = append(c.sent, make([][2]int32, n))
	}
	for b, k := range c.blocks {
		for i := range k.steps {
			s := &k.steps[i]
			if list := c.loops[b]; s.of.inner >= 0 && (len(list) == 0 || list[len(list)-1].end < int32(i) ||
				k.steps[i-1].of.op != s.of.op) {
				c.loops[b] = append(list, turnLoop{first: int32(i), number: int32(len(c.before))})
				c.before = append(c.before, nil)
			}
			if s.of.inner >= 0 {
				c.loops[b][len(c.loops[b])-1].end = int32(i + 1)
			}
			at := [2]int32{int32(b), int32(i)}
			for _, x := range s.dsts {
				switch x.Buf {
				case ir.Flags:
					f := c.flag(x)
					f.signals = append(f.signals, at)
				case ir.Packets:
					for n := range s.count {
						c.sent[x.Rank][x.Index+n] = at
					}
				}
			}
			for _, x := range s.srcs {
				if x.Buf == ir.Flags {
					f := c.flag(x)
					f.awaits = append(f.awaits, at)
				}
			}
		}
	}
}

func (c *turnChecker) flag(x onesided.Operand) *turnFlag {
	key := onesided.Operand{Rank: x.Rank, Index: x.Index}
	if c.flags[key] == nil {
		c.flags[key] = &turnFlag{}
	}
	return c.flags[key]
}

// loopOf returns which of its block's loops a step is in, or nil.
func (c *turnChecker) loopOf(at [2]int32) *turnLoop {
	for i := range c.loops[at[0]] {
		if l := &c.loops[at[0]][i]; at[1] >= l.first && at[1] < l.end {
			return l
		}
	}
	return nil
}

// A loopUse is a loop, how often a turn of it does something to a flag, and how often that is done outside of loops
// before it.
type loopUse struct {
	loop      *turnLoop
	n, before int32
	at        [2]int32
}

func (c *turnChecker) uses(list [][2]int32) (uses []loopUse) {
	before := int32(0)
	for _, at := range list {
		l := c.loopOf(at)
		switch n := len(uses); {
		case l == nil:
			before++
		case n > 0 && uses[n-1].loop == l:
			uses[n-1].n++
		default:
			uses = append(uses, loopUse{l, 1, before, at})
		}
	}
	return uses
}

// balanced asks that the loops that signal a flag and those that await it are as many, a turn of each as often as one
// of the other, and that what is awaited before is signalled before. It notes which loops wait for which.
func (c *turnChecker) balanced() *diag.Diagnostic {
	for _, e := range c.u.order {
		f := c.flag(onesided.Operand{Rank: e.key.rank, Index: e.flag})
		signals, awaits := c.uses(f.signals), c.uses(f.awaits)
		if both := append(signals, awaits...); e.shared && len(both) > 0 {
			return c.stepUndecided(both[0].at,
				"is at %s in a loop, and so is another block: in which order depends on how many loop iterations there are",
				c.u.endName(e.key))
		}
		credit := int32(0)
		if e.key.kind == semaphoreEnd {
			credit = c.u.p.Ranks[e.key.rank].Semaphores[e.key.a]
		}
		for i := range max(len(signals), len(awaits)) {
			switch {
			case i >= len(awaits):
				return c.stepUndecided(signals[i].at,
					"signals %s in a loop, and is not awaited by as many: which loop iterations match depends on how many there are",
					c.u.endName(e.key))
			case i >= len(signals) || signals[i].n != awaits[i].n:
				return c.stepUndecided(awaits[i].at,
					"awaits %s more or less often per loop iteration than its signals' loop signals it: which loop iterations match depends on how many there are", c.u.endName(e.key))
			case awaits[i].before-credit > signals[i].before:
				return c.stepUndecided(awaits[i].at,
					"awaits %s, and what is before its loop awaits signals of a loop iteration: it is not decided which loop iterations match",
					c.u.endName(e.key))
			}
			s, a := signals[i].loop.number, awaits[i].loop.number
			c.before[a] = append(c.before[a], s)
			if len(signals) > 1 {
				c.before[s] = append(c.before[s], a)
			}
		}
	}
	return nil
}

// inStep puts the loops into phases: those that wait for each other are of one.
func (c *turnChecker) inStep() {
	for _, list := range c.loops {
		for i := 1; i < len(list); i++ {
			c.before[list[i].number] = append(c.before[list[i].number], list[i-1].number)
		}
	}
	c.phase, _ = components(c.before)
}

func (c *turnChecker) stepUndecided(at [2]int32, format string, args ...any) *diag.Diagnostic {
	k := c.blocks[at[0]]
	s := &k.steps[at[1]]
	return c.undecided(k.rank, s.of, s.pos, format, args...)
}

func (c *turnChecker) loopUndecided(block int32, l turnLoop, text string) *diag.Diagnostic {
	return c.stepUndecided([2]int32{block, l.first},
		"is in a loop that %s: it is not decided which loop iterations match", text)
}

// waitedFor grows reach, of each block how many of its steps are waited for, by all that these wait for.
func (c *turnChecker) waitedFor(reach []int32) {
	done := make([]int32, len(reach))
	var open []int32 // blocks
	for b := range c.blocks {
		open = append(open, int32(b))
	}
	c.work += int64(len(c.blocks))
	need := func(at [2]int32) {
		if at[1] >= reach[at[0]] {
			reach[at[0]] = at[1] + 1
			open = append(open, at[0])
		}
	}
	for len(open) > 0 {
		b := open[len(open)-1]
		open = open[:len(open)-1]
		for ; done[b] < reach[b]; done[b]++ {
			c.work++
			s := &c.blocks[b].steps[done[b]]
			for _, x := range s.srcs {
				switch {
				case x.Buf == ir.Flags && x.Nth >= 1:
					need(c.flag(x).signals[x.Nth-1])
				case x.Buf == ir.Packets:
					for n := range s.count {
						need(c.sent[x.Rank][x.Index+n])
					}
				}
			}
		}
	}
}

// apart asks that what is before the loops of a phase, and what these wait for outside of themselves, waits for nothing
// in them, and what is in them for nothing after them. It returns the phases that the phase waits for.
func (c *turnChecker) apart(g int32, loops [][2]int32) (*diag.Diagnostic, []int32) {
	reach := make([]int32, len(c.blocks))
	for _, x := range loops {
		reach[x[0]] = c.loops[x[0]][x[1]].end
	}
	c.waitedFor(reach)
	for _, x := range loops {
		if l := &c.loops[x[0]][x[1]]; reach[x[0]] > l.end {
			return c.loopUndecided(x[0], *l, "has something after it that a loop in step with it waits for"), nil
		}
		reach[x[0]] = c.loops[x[0]][x[1]].first
	}
	c.waitedFor(reach)
	for _, x := range loops {
		if l := &c.loops[x[0]][x[1]]; reach[x[0]] > l.first {
			return c.loopUndecided(x[0], *l, "something outside of loops in step with it waits for"), nil
		}
	}
	var list []int32
	for b := range c.blocks {
		for _, l := range c.loops[b] {
			if h := c.phase[l.number]; l.first < reach[b] && h != g {
				list = append(list, h)
			}
		}
	}
	return nil, list
}
