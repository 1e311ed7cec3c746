package ir

import (
	"slices"

	"mscclc/ir/diag"
)

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
	m := NewMachine(p.Coll, p.Memory())
	f := WatchFinals(m)
	if err := m.runProgram(p); err != nil {
		return err
	}
	steps, err := f.Steps(p)
	if err != nil {
		return err
	}
	for _, i := range steps {
		p.Steps[i].Flags |= Final
	}
	return nil
}

// runProgram runs all steps of p.
func (m *Machine) runProgram(p *Program) error {
	if p.OneSided != nil {
		l := Link(p)
		order, err := l.order(p)
		if err == nil {
			m.Moves(p, l, order)
		}
		return err
	}
	w, order, err := runAll(p)
	if err == nil {
		w.Exec(p, m, order)
	}
	return err
}

// Finals sees what the steps of a run make, and tells which should be final.
type Finals struct {
	m    *Machine
	at   []int32 // the steps that may make complete sums, in order
	made []Value // by them all
}

// WatchFinals watches a run on m that has yet to begin.
func WatchFinals(m *Machine) *Finals {
	f := &Finals{m: m}
	m.Made = func(i int32, results []Value) {
		if m.Coll.Kind != Custom && !slices.ContainsFunc(results, f.whole) {
			return
		}
		f.at = append(f.at, i)
		f.made = append(f.made, results...)
	}
	return f
}

// whole says whether x has as many parts as a complete sum of a collective
// that is not custom.
func (f *Finals) whole(x Value) bool { return f.m.Values.Size(x) == f.m.Coll.Ranks }

// Steps returns the steps of p, of which all have run, that make complete sums,
// or the error of MarkFinal.
func (f *Finals) Steps(p *Program) ([]int32, error) {
	complete := f.m.completeSums()
	if f.m.Values.Over {
		return nil, diag.List{diag.New(diag.Undecided, diag.Span{}, "the ranks group their sums in so many ways that it is not decided which are complete, so that avg cannot divide")}
	}
	for s := range complete {
		if p.Coll.Kind == Custom && f.m.Values.contains(s, complete) {
			return nil, diag.List{diag.New(diag.Unsupported, diag.Span{}, "one sum of the result is part of another, so that avg cannot divide")}
		}
	}
	return completing(p, f.at, f.made, complete)
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

// completing returns the steps that made complete sums. Step at[0] made the
// first Count values of made, and so on.
func completing(p *Program, at []int32, made []Value, complete map[Value]bool) (final []int32, err error) {
	for _, i := range at {
		s, n := &p.Steps[i], int32(0)
		for _, x := range made[:s.Count] {
			if complete[x] {
				n++
			}
		}
		made = made[s.Count:]
		if n > 0 && n < s.Count {
			return nil, diag.List{diag.New(diag.Unsupported, p.Span(s.Pos), "a step of %d chunks completes the sum of %d of them only, so that avg cannot divide", s.Count, n)}
		}
		if n > 0 {
			final = append(final, i)
		}
	}
	return final, nil
}
