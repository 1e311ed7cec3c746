package verify_test

import (
	"mscclc/ir"
	"mscclc/ir/either"
)

// local makes a program of one rank and one block with n steps.
func local(in, out, scratch int, make func(n, i int) ir.Step) func(n int) *either.Program {
	return func(n int) *either.Program {
		b := build(1, in, out, scratch)
		var steps []ir.Step
		for i := range n {
			steps = append(steps, make(n, i))
		}
		b.block(0, -1, -1, steps...)
		return b.done()
	}
}

// wanting is p with a contract in place of none: every chunk of output is the
// sum of that many times in[0][0].
func wanting(make func(n int) *either.Program, times int) func(n int) *either.Program {
	return func(n int) *either.Program {
		p := make(n)
		p.Coll.Kind, p.Coll.Require = ir.Custom, map[ir.Part][]ir.Part{}
		list := []ir.Part{}
		for range times {
			list = append(list, ir.Part{})
		}
		for i := range p.Coll.Out {
			p.Coll.Require[ir.Part{Index: int32(i)}] = list
		}
		return p
	}
}

// hostileValues are programs whose chunks hold much, or the wrong.
var hostileValues = []hostile{
	{"doubled sums", wanting(local(2, 2, 2, func(n, i int) ir.Step {
		switch i {
		case 0, 1:
			return step(ir.Copy, ir.Input, i, ir.Scratch, i)
		case n - 1:
			return step(ir.Copy, ir.Scratch, 0, ir.Output, 0)
		}
		return step(ir.Reduce, ir.Scratch, i%2, ir.Scratch, 1-i%2)
	}), 5), "wrong-result"},
	{"one long sum", wanting(local(1, 1, 0, func(n, i int) ir.Step {
		if i == 0 {
			return copied(0, 0)
		}
		return step(ir.Reduce, ir.Input, 0, ir.Output, 0)
	}), 5), "wrong-result"},
	{"one long sum that is right", func(n int) *either.Program {
		return wanting(local(1, 1, 0, func(n, i int) ir.Step {
			if i == 0 {
				return copied(0, 0)
			}
			return step(ir.Reduce, ir.Input, 0, ir.Output, 0)
		}), n)(n)
	}, "ok"},
	{"nothing is written", wanting(func(n int) *either.Program { return build(1, 1, n, 0).done() }, 2), "wrong-result"},
	{"all read what nothing wrote", local(1, 1, 1, func(n, i int) ir.Step { return step(ir.Copy, ir.Scratch, 0, ir.Output, 0) }), "uninitialized"},
	{"every step is wrong", local(1, 1, 1, func(n, i int) ir.Step {
		s := copied(0, 0)
		s.Src = 1<<31 - 1
		return s
	}), "out-of-bounds"},
	{"prefixes and suffixes", prefixes, "ok"},
	{"many chunks, few steps", func(n int) *either.Program {
		b := build(1, 64*n, 64*n, 0)
		s := copied(0, 0)
		s.Count = int32(64 * n)
		b.block(0, -1, -1, s)
		return b.done()
	}, "ok"},
}

// prefixes returns an allreduce of n/8 ranks in a line whose ranks all group their
// sums in another way: what comes from the left, with their own, and what comes
// from the right. To take the sums apart is work that grows with the square.
func prefixes(n int) *either.Program {
	n /= 8
	b := allReduce(n, 1, 2)
	for r := range n {
		left, right := r-1, r+1
		if right == n {
			right = -1
		}
		own := awaited(step(ir.Copy, ir.Input, 0, ir.Scratch, 0)) // the sum up to here
		if left >= 0 {
			own = awaited(step(ir.RecvReduceCopy, ir.Input, 0, ir.Scratch, 0))
		}
		steps := []ir.Step{own}
		if right >= 0 {
			steps = append(steps, step(ir.Send, ir.Scratch, 0, 0, 0))
		}
		b.block(r, right, left, steps...)
		// The sum after here comes to scratch[1], is added to the one up to here, and
		// goes on to the left with this rank's own.
		last := []ir.Step{after(step(ir.Copy, ir.Scratch, 0, ir.Output, 0), 0, 0)}
		send := step(ir.Send, ir.Input, 0, 0, 0)
		if right >= 0 {
			last = append([]ir.Step{step(ir.Recv, 0, 0, ir.Scratch, 1)}, last...)
			last = append(last, step(ir.Reduce, ir.Scratch, 1, ir.Output, 0), step(ir.Reduce, ir.Input, 0, ir.Scratch, 1))
			send = step(ir.Send, ir.Scratch, 1, 0, 0)
		}
		if left >= 0 {
			last = append(last, send)
		}
		b.block(r, left, right, last...)
	}
	return b.done()
}
