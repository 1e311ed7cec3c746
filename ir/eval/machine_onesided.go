package eval

import (
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/onesided"
)

// Moves runs the Moves of a one-sided p, in an order in which they may end.
// The action that m knows a step by is its number.
func (m *Machine) Moves(p *onesided.Program, l *Links, order []int32) {
	for _, i := range order {
		if s := &p.Steps[i]; s.Op.Moves() {
			m.move(i, int(p.Blocks[l.Block[i]].Rank), s, p)
		}
	}
}

// move runs step i of a block of rank. A destination is a source exactly or
// not at all, so that all sources can be read before the first destination is written.
func (m *Machine) move(i int32, rank int, s *ir.Step, o *onesided.Program) {
	sources, dests := o.Sources(s), o.Dests(s)
	a := Action{Rank: int32(rank), Count: s.Count, Class: s.Class}
	if s.Count <= 0 {
		return
	}
	m.total.Reset()
	folds := len(sources) > 1 || sources[0].Rank == ir.AllRanks
	for k, x := range sources {
		m.eachRank(x.Rank, func(r int) {
			a.Rank = int32(r)
			m.second = m.operand(m.second[:0], i, &a, x.Buf, x.Index, m.Mem.Cell(r, x.Buf, int(x.Index)))
			if folds && m.Folded != nil {
				m.Folded(i, k, m.second)
			}
			m.total.Add(m.Values, m.second)
		})
	}
	results := m.total.Runs()
	for _, x := range dests {
		m.eachRank(x.Rank, func(r int) {
			at := m.Mem.Cell(r, x.Buf, int(x.Index))
			m.cells.Write(at, int(s.Count), i, results)
			a.Rank, a.DstBuf, a.Dst = int32(r), x.Buf, x.Index
			m.setClass(i, &a, at)
		})
	}
	if folds && m.Made != nil {
		m.Made(i, results)
	}
}

// eachRank calls f for the ranks of an operand.
func (m *Machine) eachRank(rank int32, f func(rank int)) {
	if rank != ir.AllRanks {
		f(int(rank))
		return
	}
	for r := range m.Coll.Ranks {
		f(r)
	}
}

// order returns an order in which the steps of a one-sided p may end.
func (l *Links) order(p *onesided.Program) ([]int32, error) {
	order, stuck := l.Schedule(p).Run()
	if len(stuck) > 0 {
		return nil, diag.List{diag.New(diag.Deadlock, diag.Span{}, "the program does not run to its end")}
	}
	return order, nil
}

// OneSided runs a one-sided p on symbolic chunks and reports reads of
// chunks that hold nothing, operands that disagree in class where p is not
// Even, and outputs that do not hold what the collective says. It looks at no
// order but that of one run, and trusts p's tables; ir/verify proves.
func OneSided(p *onesided.Program) diag.List {
	var problems ir.Problems
	l := Link(p)
	order, err := l.order(p)
	if err != nil {
		return err.(diag.List)
	}
	at := func(i int32, code diag.Code, format string, args ...any) diag.Diagnostic {
		d := diag.New(code, p.Span(p.Steps[i].Pos), format, args...)
		d.Rank, d.Block, d.Step = p.Place(i)
		return d
	}
	m := NewMachine(p.Coll, p.Memory())
	m.Values.Source = p.Source
	m.Read = func(i int32, rank int, b ir.Buf, index int) {
		problems.Add(at(i, diag.Uninitialized, "%s reads rank %d %s before anything writes it", p.StepName(i), rank,
			p.ChunkName(b, index)))
	}
	if !p.Even {
		m.Class = func(i int32, rank int, b ir.Buf, index int) {
			problems.Add(at(i, diag.Uneven, "%s moves chunks of classes from %d on, and rank %d %s is of another", p.StepName(i),
				p.Steps[i].Class, rank, p.ChunkName(b, index)))
		}
	}
	m.Moves(p, l, order)
	m.judge(&problems, &p.Header, func(i int32) diag.Diagnostic { return at(i, diag.WrongResult, "%s", p.StepName(i)) })
	return problems.Done()
}
