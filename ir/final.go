package ir

import "mscclc/ir/diag"

// MarkFinal sets the flag Final on the steps whose result is a complete sum of
// the post-condition, where avg divides: exactly one on every way to an
// output. It takes the flag from all others. Where a step makes a complete sum
// and a part of one together, or one complete sum is part of another (a custom
// collective may say so), no step can divide: that is an error, a diag.List,
// and no step of p has the flag.
func MarkFinal(p *Program) error {
	for i := range p.Steps {
		p.Steps[i].Flags &^= Final
	}
	if !p.Coll.Reduces() || p.Coll.Kind == Opaque {
		return nil
	}
	w, order, err := runAll(p)
	if err != nil {
		return err
	}
	m := NewMachine(p.Coll, p.Memory())
	var made []Value                     // by all steps that reduce, in order
	at := make([]int32, 0, len(p.Steps)) // those steps
	m.Made = func(i int32, results []Value) {
		at = append(at, i)
		made = append(made, results...)
	}
	w.Exec(p, m, order)
	complete := m.completeSums()
	for s := range complete {
		if p.Coll.Kind == Custom && m.Values.contains(s, complete) {
			return diag.List{diag.New(diag.Unsupported, diag.Span{}, "one sum of the result is part of another, so that avg cannot divide")}
		}
	}
	return markSteps(p, at, made, complete)
}

// completeSums are the values of all outputs that are sums as they should be.
func (m *Machine) completeSums() map[Value]bool {
	complete := map[Value]bool{}
	for r := range m.Coll.Ranks {
		for i := range m.Coll.OutChunks(r) {
			want := m.Coll.Want(r, i)
			if x, _ := m.At(r, Output, i); !want.Any && m.Values.IsSum(x) && (complete[x] || m.Values.Matches(x, want)) {
				complete[x] = true
			}
		}
	}
	return complete
}

// contains says whether a sum in set is an operand of x, at any depth.
func (v *Values) contains(x Value, set map[Value]bool) bool {
	stack := []Value{x}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if top != x && set[top] {
			return true
		}
		if v.IsSum(top) {
			a, b := v.Operands(top)
			stack = append(stack, a, b)
		}
	}
	return false
}

// markSteps marks the steps that made complete sums. Step at[0] made the first
// Count values of made, and so on.
func markSteps(p *Program, at []int32, made []Value, complete map[Value]bool) error {
	var final []int32
	for _, i := range at {
		s, n := &p.Steps[i], int32(0)
		for _, x := range made[:s.Count] {
			if complete[x] {
				n++
			}
		}
		made = made[s.Count:]
		if n > 0 && n < s.Count {
			return diag.List{diag.New(diag.Unsupported, p.Span(s.Pos), "a step of %d chunks completes the sum of %d of them only, so that avg cannot divide", s.Count, n)}
		}
		if n > 0 {
			final = append(final, i)
		}
	}
	for _, i := range final {
		p.Steps[i].Flags |= Final
	}
	return nil
}
