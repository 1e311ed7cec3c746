package compiling

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/eval"
)

// maxParts bounds the parts of one output chunk that observe writes down.
const maxParts = 1 << 16

// observe makes of p, whose file does not say what must hold at the end, a
// custom collective that requires what evaluation says p computes, so that a
// run can be compared with that. P must be good.
func observe(p *either.Program) {
	m := eval.NewMachine(p.Coll, p.Memory())
	if p.OneSided != nil {
		l := eval.Link(p.OneSided)
		order, _ := l.Schedule(p.OneSided).Run()
		m.Moves(p.OneSided, l, order)
	} else {
		w := eval.Wire(p.Fifo)
		order, _ := w.Schedule(p.Fifo, ir.Unbounded, 1).Run()
		w.Exec(p.Fifo, m, order)
	}
	c := *p.Coll
	c.Kind, c.Require = ir.Custom, map[ir.Part][]ir.Part{}
	for r := range c.Ranks {
		for i := range c.OutChunks(r) {
			x, writer := m.At(r, ir.Output, i)
			if size := m.Values.Size(x); writer >= 0 && size > 0 && size <= maxParts {
				c.Require[ir.Part{Rank: int32(r), Index: int32(i)}] = parts(m.Values, x)
			}
		}
	}
	p.Coll = &c
}

// parts lists what the value x is the sum of, sorted.
func parts(v *eval.Values, x eval.Value) []ir.Part {
	var leaves []ir.Part
	for stack := []eval.Value{x}; len(stack) > 0; {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if x.IsSum() {
			a, b := v.Operands(x)
			stack = append(stack, a, b)
		} else {
			leaves = append(leaves, v.Part(x))
		}
	}
	slices.SortFunc(leaves, func(a, b ir.Part) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Index, b.Index))
	})
	return leaves
}
