package eval

import (
	"cmp"
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// MarkFinal sets the flag Final on the steps whose result is a complete sum of
// the post-condition, where avg divides: exactly one on every way to an
// output. It takes the flag from all others. Where a step makes a complete sum
// and a part of one together, or one complete sum is part of another (a custom
// collective may say so), no step can divide: that is an error, a diag.List,
// and no step of p has the flag.
func MarkFinal(p *either.Program) error {
	for i := range p.Steps {
		p.Steps[i].Flags &^= ir.Final
	}
	if !p.Coll.SumsKnown() {
		return nil
	}
	m := NewMachine(p.Coll, p.Memory())
	f := WatchFinals(m)
	if err := m.runProgram(p); err != nil {
		return err
	}
	return f.Mark(p.Program)
}

// FinalInsts returns the instructions of d whose result is a complete sum of the post-condition, or the error of
// MarkFinal.
func FinalInsts(d *ir.InstDAG) ([]int32, error) {
	if !d.Coll.SumsKnown() {
		return nil, nil
	}
	m := NewMachine(d.Coll, d.Memory())
	f := WatchFinals(m)
	var p ir.Problems
	if run(d, m, &p); len(p.List) > 0 {
		return nil, p.Done()
	}
	return f.completing(func(i int32) (int32, diag.Span) { return d.Insts[i].Count, d.Span(d.Insts[i].Pos) })
}

// runProgram runs all steps of p.
func (m *Machine) runProgram(p *either.Program) error {
	if p.OneSided != nil {
		l := Link(p.OneSided)
		order, err := l.order(p.OneSided)
		if err == nil {
			m.Moves(p.OneSided, l, order)
		}
		return err
	}
	w, order, err := runAll(p.Fifo)
	if err == nil {
		w.Exec(p.Fifo, m, order)
	}
	return err
}

// Finals sees what the steps of a run make, and says which should be final.
type Finals struct {
	m    *Machine
	at   []int32 // the steps that may make complete sums, in order
	runs []int32 // of each of at: how many of made it made
	made []Run   // by them all
}

// WatchFinals watches a run on m that has yet to begin.
func WatchFinals(m *Machine) *Finals {
	f := &Finals{m: m}
	m.Made = func(i int32, results []Run) {
		if m.Coll.Kind != ir.Custom && !slices.ContainsFunc(results, f.whole) {
			return
		}
		f.at, f.runs = append(f.at, i), append(f.runs, int32(len(results)))
		f.made = append(f.made, results...)
	}
	return f
}

// whole reports whether r has as many parts as a complete sum of a collective
// that is not custom.
func (f *Finals) whole(r Run) bool { return f.m.Values.Size(r.Value) == f.m.Coll.Ranks }

// Steps returns the steps of p, of which all have run, that make complete sums,
// or the error of MarkFinal.
func (f *Finals) Steps(p *ir.Program) ([]int32, error) {
	return f.completing(func(i int32) (int32, diag.Span) { return p.Steps[i].Count, p.Span(p.Steps[i].Pos) })
}

// Mark sets the flag Final on the steps of p that MarkFinal sets it on, or returns MarkFinal's error. All steps have
// run, and none has the flag yet.
func (f *Finals) Mark(p *ir.Program) error {
	steps, err := f.Steps(p)
	if err != nil {
		return err
	}
	for _, i := range steps {
		p.Steps[i].Flags |= ir.Final
	}
	return nil
}

// completeSums returns the values of all outputs that are sums as they should be.
func (m *Machine) completeSums() *valueSet {
	complete := newValueSet(m.Values)
	m.cells.outputs(m.Values, m.output, func(_, _, n int, x Value, want ir.Want) {
		if r := (Run{x, int32(n)}); !want.Any && x.IsSum() && !complete.covers(r) && m.Values.Matches(x, want) {
			complete.add(r)
		}
	})
	complete.sort()
	return complete
}

// A valueSet is a set of values, by runs.
type valueSet struct {
	list []Run   // once sorted, by shape and place, and no two that overlap or go on with each other
	last []int32 // before that, of a shape: 1 + the last run of it in list
}

func newValueSet(v *Values) *valueSet { return &valueSet{last: make([]int32, len(v.shapes))} }

// covers reports whether r is known to be in a set that is not sorted yet; it may overlook that.
func (s *valueSet) covers(r Run) bool {
	k := s.last[r.Value.shape]
	return k > 0 && s.list[k-1].overlap(r) == r.Count
}

func (s *valueSet) add(r Run) {
	if k := s.last[r.Value.shape]; k > 0 && s.list[k-1].Value.Plus(int(s.list[k-1].Count)) == r.Value {
		s.list[k-1].Count += r.Count
		return
	}
	s.list = append(s.list, r)
	s.last[r.Value.shape] = int32(len(s.list))
}

func (s *valueSet) sort() {
	slices.SortFunc(s.list, func(a, b Run) int {
		return cmp.Or(cmp.Compare(a.Value.shape, b.Value.shape), cmp.Compare(a.Value.at, b.Value.at),
			cmp.Compare(a.Count, b.Count))
	})
	sorted := s.list[:0]
	for _, r := range s.list {
		if k := len(sorted) - 1; k >= 0 && sorted[k].Value.shape == r.Value.shape && r.Value.at <= sorted[k].end() {
			sorted[k].Count = max(sorted[k].end(), r.end()) - sorted[k].Value.at
			continue
		}
		sorted = append(sorted, r)
	}
	s.list, s.last = sorted, nil
}

// count returns how many values of r are in s, which is sorted.
func (s *valueSet) count(r Run) (n int32) {
	k, _ := slices.BinarySearchFunc(s.list, r, func(a, r Run) int {
		if a.Value.shape == r.Value.shape && a.end() <= r.Value.at {
			return -1
		}
		return cmp.Or(cmp.Compare(a.Value.shape, r.Value.shape), 1)
	})
	for ; k < len(s.list) && s.list[k].Value.shape == r.Value.shape && s.list[k].Value.at < r.end(); k++ {
		n += s.list[k].overlap(r)
	}
	return n
}

// end returns the place after the last value of a run that is not of None.
func (r Run) end() int32 { return r.Value.at + r.Count }

// overlap returns how many values a and b, of one shape, have in common.
func (a Run) overlap(b Run) int32 { return max(0, min(a.end(), b.end())-max(a.Value.at, b.Value.at)) }

// contains reports whether a sum in set is an operand of a value of r, at any depth.
func (v *Values) contains(r Run, set *valueSet) bool {
	stack := []Value{r.Value}
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if top != r.Value && set.count(Run{top, r.Count}) > 0 {
			return true
		}
		if top.IsSum() {
			a, b := v.Operands(top)
			stack = append(stack, a, b)
		}
	}
	return false
}

// completing returns the actions that made complete sums; of gives the chunks of an action, and its place in the
// source.
func (f *Finals) completing(of func(action int32) (count int32, span diag.Span)) (final []int32, err error) {
	complete := f.m.completeSums()
	if f.m.Values.Over {
		return nil, diag.List{diag.New(diag.Undecided, diag.Span{},
			"the ranks group their sums in so many ways that it is not decided which are complete, so that avg cannot divide")}
	}
	if f.m.Coll.Kind == ir.Custom {
		for _, r := range complete.list {
			if f.m.Values.contains(r, complete) {
				return nil, diag.List{diag.New(diag.Unsupported, diag.Span{},
					"one sum of the result is part of another, so that avg cannot divide")}
			}
		}
	}
	made := f.made
	for k, i := range f.at {
		n := int32(0)
		for _, r := range made[:f.runs[k]] {
			n += complete.count(r)
		}
		made = made[f.runs[k]:]
		count, span := of(i)
		if n > 0 && n < count {
			return nil, diag.List{diag.New(diag.Unsupported, span,
				"a step of %d chunks completes the sum of %d of them only, so that avg cannot divide", count, n)}
		}
		if n > 0 {
			final = append(final, i)
		}
	}
	return final, nil
}
