package verify_test

import (
	"mscclc/ir"
	"mscclc/ir/either"
)

// copied copies input chunk from to output chunk to.
func copied(from, to int) ir.Step { return step(ir.Copy, ir.Input, from, ir.Output, to) }

// oneRank makes a program of one rank with n blocks of one step each.
func oneRank(out func(n int) int, make func(n, b int) ir.Step) func(n int) *either.Program {
	return func(n int) *either.Program {
		b := build(1, 1, out(n), 1)
		for i := range n {
			b.block(0, -1, -1, make(n, i))
		}
		return b.done()
	}
}

func same(n int) int { return n }

func one(int) int { return 1 }

// hostileWaits are programs whose waits, messages and races are many.
var hostileWaits = []hostile{
	{"blocks", oneRank(same, func(n, b int) ir.Step { return copied(0, b) }), "ok"},
	{"each block waits for the last", oneRank(same, func(n, b int) ir.Step {
		if b == 0 {
			return awaited(copied(0, b))
		}
		return awaited(after(copied(0, b), b-1, 0))
	}), "ok"},
	{"all wait for one", oneRank(same, func(n, b int) ir.Step {
		if b == 0 {
			return awaited(copied(0, b))
		}
		return after(copied(0, b), 0, 0)
	}), "ok"},
	{"a circle of waits", oneRank(same, func(n, b int) ir.Step { return awaited(after(copied(0, b), (b+n-1)%n, 0)) }), "deadlock"},
	{"all wait for themselves", oneRank(same, func(n, b int) ir.Step { return awaited(after(copied(0, b), b, 0)) }), "deadlock"},
	{"nobody ends a wait", oneRank(same, func(n, b int) ir.Step { return after(copied(0, b), 0, 0) }), "deadlock"},
	{"all write one chunk", oneRank(one, func(n, b int) ir.Step { return copied(0, 0) }), "race"},
	{"all read, one writes", oneRank(same, func(n, b int) ir.Step {
		if b == n-1 {
			return step(ir.Copy, ir.Input, 0, ir.Scratch, 0)
		}
		return step(ir.Reduce, ir.Scratch, 0, ir.Output, b)
	}), "race"},
	{"in turn, by flags", oneRank(one, func(n, b int) ir.Step {
		if b == 0 {
			return awaited(copied(0, 0))
		}
		return awaited(after(step(ir.Reduce, ir.Input, 0, ir.Output, 0), b-1, 0))
	}), "ok"},
	{"a block that all wait for, nops", func(n int) *either.Program {
		b := build(1, 1, 2, 1)
		b.block(0, -1, -1, awaited(copied(0, 0)))
		steps := make([]ir.Step, n)
		for i := range steps {
			steps[i] = after(step(ir.Nop, 0, 0, 0, 0), 0, 0)
		}
		b.block(0, -1, -1, append(steps, after(copied(0, 1), 0, 0))...)
		return b.done()
	}, "ok"},
	{"two blocks wait in turn", func(n int) *either.Program {
		b := build(1, 1, 1, 1)
		var steps [2][]ir.Step
		for i := range n / 2 {
			for k := range 2 {
				s := awaited(step(ir.Reduce, ir.Input, 0, ir.Output, 0))
				if i == 0 && k == 0 {
					s = awaited(copied(0, 0))
				}
				if i+k > 0 {
					s = after(s, 1-k, i-1+k)
				}
				steps[k] = append(steps[k], s)
			}
		}
		b.block(0, -1, -1, steps[0]...)
		b.block(0, -1, -1, steps[1]...)
		return b.done()
	}, "ok"},
	{"ranks that do nothing", func(n int) *either.Program { return build(n, 1, 1, 0).done() }, "ok"},
	{"a line of ranks", func(n int) *either.Program {
		b := build(n, 1, 1, 1)
		b.block(0, 1, -1, step(ir.Send, ir.Input, 0, 0, 0))
		for r := 1; r < n-1; r++ {
			b.block(r, r+1, r-1, step(ir.RecvCopySend, 0, 0, ir.Output, 0))
		}
		b.block(n-1, -1, n-2, step(ir.Recv, 0, 0, ir.Output, 0))
		return b.done()
	}, "ok"},
	{"sends that nobody receives", func(n int) *either.Program {
		b := build(n, 1, 1, 1)
		for r := range n {
			b.block(r, (r+1)%n, -1, step(ir.Send, ir.Input, 0, 0, 0))
		}
		return b.done()
	}, "unmatched"},
	{"a ring that receives first", func(n int) *either.Program {
		b := build(n, 1, 1, 1)
		for r := range n {
			b.block(r, (r+1)%n, (r+n-1)%n, step(ir.RecvCopySend, 0, 0, ir.Output, 0))
		}
		return b.done()
	}, "deadlock"},
	{"more messages than slots", func(n int) *either.Program {
		b := build(2, 1, 1, 1)
		for r := range 2 {
			var steps []ir.Step
			for range n / 4 {
				steps = append(steps, step(ir.Send, ir.Input, 0, 0, 0))
			}
			for range n / 4 {
				steps = append(steps, step(ir.Recv, 0, 0, ir.Output, 0))
			}
			b.block(r, 1-r, 1-r, steps...)
		}
		return b.done()
	}, "deadlock"},
	{"round trips alone order", roundTrips, "ok"},
}
