package lang

import (
	"math"

	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// An iteration is one compiled iterator.
type iteration struct {
	from, to, by number
	name         string
	list         func() value // instead of the three
	cond         *number      // or nil
	slot         *value
	span         diag.Span
	nameSpan     diag.Span
	bySpan       diag.Span
	cost         int64 // of one round, for the budget
}

func (c *compiler) loop(s *syntax.For) exec {
	c.scope = newScope(c.scope)
	defer func() { c.scope = c.scope.outer }()
	iters := c.iterators(s.Iters, len(s.Body.Tokens))
	return c.m.nest(iters, c.stmts(s.Body.Stmts))
}

// iterators compiles the iterators of a loop or a list and declares their
// variables in the innermost scope. Each sees those before it.
func (c *compiler) iterators(iters []*syntax.Iter, tokens int) []*iteration {
	list := make([]*iteration, len(iters))
	for i, it := range iters {
		l := &iteration{name: it.Name.Text, slot: new(value), span: it.Span(), nameSpan: it.Name.Span(),
			cost: 1 + int64(tokens)/16}
		k := kInt
		if it.To == nil {
			l.list = c.listOver(it)
			k = kAny
			if it.By != nil {
				c.m.report(diag.Syntax, it.By.Span(), "by needs a range a..b")
			}
		} else {
			l.from = c.number(it.From, kInt, "the start of the range")
			l.to = c.number(it.To, kInt, "the end of the range")
			l.by = constant(1)
			if it.By != nil {
				l.by, l.bySpan = c.number(it.By, kInt, "the step of the range"), it.By.Span()
			}
		}
		c.declare(&name{text: it.Name.Text, span: it.Name.Span(), sort: aLoop, kind: k, slot: l.slot})
		if it.If != nil {
			cond := c.number(it.If, kBool, "the condition")
			l.cond = &cond
		}
		list[i] = l
	}
	return list
}

// listOver compiles the list that it runs over.
func (c *compiler) listOver(it *syntax.Iter) func() value {
	x, span := c.expr(it.From), it.From.Span()
	if x.kind != kInt {
		return c.as(x, kList, "what a for without .. runs over", span)
	}
	c.m.report(diag.Kind, span, "what a for without .. runs over must be %s, not %s", kList, kInt).Hint =
		"a range is a..b: for " + it.Name.Text + " in 0.." + it.From.Source() + " { }"
	return c.badCode().val
}

// nest runs body for all rounds of iters, the first outermost.
func (m *machine) nest(iters []*iteration, body exec) exec {
	for i := len(iters) - 1; i >= 0; i-- {
		body = m.iterate(iters[i], body)
	}
	return body
}

func (m *machine) iterate(l *iteration, body exec) exec {
	if l.list != nil {
		return m.overList(l, body)
	}
	return m.overRange(l, body)
}

// round runs body for the value in the slot, unless the condition says no.
func (m *machine) round(l *iteration, body exec) flow {
	if !m.step(l.cost, &l.span) {
		return halted
	}
	if l.cond != nil {
		yes := l.cond.get()
		if m.bad {
			m.bad, m.lost = false, true
			if m.dead {
				return halted
			}
			return goOn
		}
		if yes == 0 {
			return goOn
		}
	}
	if m.facts != nil {
		m.facts.Rounds[l.span]++
		m.saw(l.nameSpan, l.slot)
	}
	return body()
}

func (m *machine) overRange(l *iteration, body exec) exec {
	return func() flow {
		from, to, by := l.from.get(), l.to.get(), l.by.get()
		if by == 0 {
			m.fault(diag.Arithmetic, l.bySpan, "the step of a range must not be 0")
		}
		if m.bad {
			m.lost = true
			return goOn
		}
		n := rounds(from, to, by)
		if n == 0 {
			return goOn
		}
		l.slot.kind = kInt
		m.running = append(m.running, running{loop: l})
		f := goOn
		for ; n > 0 && f == goOn; n-- {
			l.slot.n = from
			f = m.round(l, body)
			from += by // wraps round after the last round only
		}
		m.running = m.running[:len(m.running)-1]
		return f
	}
}

// rounds returns the number of values from, from + by, ... before to.
func rounds(from, to, by int64) uint64 {
	switch {
	case by > 0 && from < to:
		return (uint64(to)-uint64(from)-1)/uint64(by) + 1
	case by < 0 && from > to:
		step := uint64(math.MaxUint64 - uint64(by) + 1)
		return (uint64(from)-uint64(to)-1)/step + 1
	}
	return 0
}

func (m *machine) overList(l *iteration, body exec) exec {
	return func() flow {
		v := l.list()
		if m.bad {
			m.lost = true
			return goOn
		}
		m.running = append(m.running, running{loop: l})
		f := goOn
		for i := 0; i < len(*v.list) && f == goOn; i++ {
			*l.slot = (*v.list)[i]
			f = m.round(l, body)
		}
		m.running = m.running[:len(m.running)-1]
		return f
	}
}
