package eval

import (
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// A Fresh says which operands of steps that reduce are fresh: each of their chunks is one rank's input, as its caller
// gave it, which no step has added to another. All other operands are partial sums. An average of floats multiplies
// fresh operands by 1/ranks, and so every input exactly once, when a step first adds it to another.
type Fresh struct {
	Src, With []bool // two-sided, by step: src, and what it is combined with (what is received, or dst)
	Operands  []bool // one-sided, by row of Program.Operands
}

// FreshOperands runs p on symbolic chunks and returns which operands are fresh. Where an operand has chunks of both
// kinds, no step can scale: that is an error, a diag.List.
func FreshOperands(p *either.Program) (*Fresh, error) {
	m := NewMachine(p.Coll, p.Memory())
	w := &freshWatch{fresh: &Fresh{}}
	if p.OneSided != nil {
		w.fresh.Operands = make([]bool, len(p.OneSided.Operands))
		w.mark = func(step int32, k int) { w.fresh.Operands[int(p.Steps[step].Src)+k] = true }
	} else {
		w.fresh.Src, w.fresh.With = make([]bool, len(p.Steps)), make([]bool, len(p.Steps))
		sides := [2][]bool{w.fresh.Src, w.fresh.With}
		w.mark = func(step int32, k int) { sides[k][step] = true }
	}
	m.Folded = w.folded
	if err := m.runProgram(p); err != nil {
		return nil, err
	}
	if w.mixed {
		return nil, diag.List{diag.New(diag.Unsupported, p.Span(p.Steps[w.step].Pos),
			"a step adds inputs and partial sums by one operand, so that avg cannot scale the inputs alone")}
	}
	return w.fresh, nil
}

// freshWatch gathers what FreshOperands returns.
type freshWatch struct {
	fresh *Fresh
	mark  func(step int32, operand int)
	mixed bool
	step  int32 // the first that is mixed
}

// folded looks at one operand of a step that reduces. An operand of all ranks comes once for each of them.
func (w *freshWatch) folded(step int32, operand int, runs []Run) {
	inputs, sums := false, false
	for _, r := range runs {
		inputs = inputs || r.Value.shape == 0
		sums = sums || r.Value.IsSum()
	}
	if inputs && sums && !w.mixed {
		w.mixed, w.step = true, step
	}
	if inputs {
		w.mark(step, operand)
	}
}
