package lang

import (
	"strings"

	"mscclc/ir/diag"
	"mscclc/lang/arithmetic"
	"mscclc/lang/syntax"
)

// This file compiles expressions.

// badCode returns an expression that cannot be computed, of which something was
// reported already.
func (c *compiler) badCode() code {
	m := c.m
	return code{kind: kBad, val: func() value { m.bad = true; return badValue }}
}

// expr compiles an expression; it may have no value.
func (c *compiler) expr(e *syntax.Expr) code {
	if n := len(e.Rest); n > c.m.lim.Nesting {
		d := c.m.report(diag.Limit, e.Span(), "the expression has %d operators; the limit nesting is %d", n, c.m.lim.Nesting)
		d.Hint = diag.LimitHint("nesting", int64(n))
		return c.badCode()
	}
	rest := e.Rest
	return c.climb(e, c.unary(e.Left), &rest, 0)
}

// climb continues the expression left with the operators of rest that bind
// tighter than prec.
func (c *compiler) climb(e *syntax.Expr, left code, rest *[]*syntax.Binary, prec int) code {
	compared := false
	for len(*rest) > 0 {
		b := (*rest)[0]
		op := binary[b.Op]
		if op.prec <= prec {
			break
		}
		if op.prec == comparison && compared {
			d := c.m.report(diag.Syntax, b.OpSpan(), "comparisons cannot be chained")
			d.Hint = "write a < b && b < c"
			left = c.badCode()
		}
		compared = op.prec == comparison
		*rest = (*rest)[1:]
		right := c.unary(b.Right)
		for len(*rest) > 0 && binary[(*rest)[0].Op].prec > op.prec {
			right = c.climb(e, right, rest, op.prec)
		}
		left = c.binary(b, op, left, right)
	}
	return left
}

// folded computes run now where its operands are always the same. Where that
// faults, the fault waits until it runs.
func (c *compiler) folded(k kind, run func() int64, lit bool) code {
	m, x := c.m, code{kind: k, num: number{run: run}}
	if !lit {
		return x
	}
	quiet := m.quiet
	m.quiet = true
	n := run()
	failed := m.recover()
	m.quiet = quiet
	if failed {
		return x
	}
	return literal(k, n)
}

func literal(k kind, n int64) code { return code{kind: k, lit: true, num: constant(n)} }

// unary compiles an operand with its prefixes and suffixes.
func (c *compiler) unary(u *syntax.Unary) code {
	if n := len(u.Ops) + len(u.Suffixes); n > c.m.lim.Nesting {
		d := c.m.report(diag.Limit, u.Span(), "the expression has %d operators; the limit nesting is %d", n, c.m.lim.Nesting)
		d.Hint = diag.LimitHint("nesting", int64(n))
		return c.badCode()
	}
	x := c.observed(c.suffixed(u), u.SpanTo(len(u.Suffixes)))
	m, span := c.m, u.Span()
	for i := len(u.Ops) - 1; i >= 0; i-- {
		switch {
		case x.kind == kBad:
		case u.Ops[i] == "!":
			b := c.asNumber(x, kBool, "the operand of !", span)
			x = c.folded(kBool, func() int64 { return 1 - b.get() }, x.lit)
		default:
			n := c.asNumber(x, kInt, "the operand of -", span)
			x = c.folded(kInt, func() int64 {
				v, fault := arithmetic.Negate(n.get())
				if fault != "" {
					m.fault(diag.Arithmetic, span, "%s", fault)
				}
				return v
			}, x.lit)
		}
	}
	return x
}

// primary compiles the innermost part of an operand.
func (c *compiler) primary(p syntax.Primary) code {
	switch p := p.(type) {
	case *syntax.Int:
		n, ok := syntax.ParseInt(p.Text)
		if !ok {
			return c.badCode() // the scanner reported it
		}
		return literal(kInt, n)
	case *syntax.Bool:
		n, _ := truth(p.Text == "true")
		return literal(kBool, n)
	case *syntax.String:
		v := value{kind: kString, n: c.m.intern(strings.Trim(p.Text, `"`))}
		return code{kind: kString, val: func() value { return v }}
	case *syntax.Paren:
		return c.expr(p.X)
	case *syntax.List:
		return c.list(p)
	}
	name := p.(*syntax.Name)
	x := c.read(name)
	x.word = name.Text
	return x
}

// read compiles the use of a name.
func (c *compiler) read(x *syntax.Name) code {
	n := c.resolve(x, toRead)
	if n == nil || n.kind == kBad {
		return c.badCode()
	}
	switch n.sort {
	case aFunction, aBuiltin:
		d := c.m.report(diag.Kind, x.Span(), "%s is a function", n.text)
		d.Hint = "call it: " + n.text + "(...)"
		return c.badCode()
	case aConstant:
		if n.kind.numeric() {
			return literal(n.kind, n.slot.n)
		}
		v := *n.slot
		return code{kind: n.kind, lit: true, val: func() value { return v }}
	}
	m, slot := c.m, n.slot
	switch {
	case n.kind == kInt && n.sort == aLoop:
		return code{kind: kInt, num: number{at: &slot.n}}
	case n.kind.numeric():
		return code{kind: n.kind, num: number{run: func() int64 {
			if slot.kind == kBad {
				m.bad = true
			}
			return slot.n
		}}}
	case n.kind == kRef:
		return code{kind: kRef, ref: func() ref {
			if slot.kind == kBad {
				m.bad = true
				return ref{}
			}
			return slot.ref
		}}
	}
	return code{kind: n.kind, slot: slot, val: func() value {
		if slot.kind == kBad {
			m.bad = true
		}
		return *slot
	}}
}

func (c *compiler) list(l *syntax.List) code {
	m, span := c.m, l.Span()
	if len(l.Iters) > 0 {
		return c.comprehension(l)
	}
	items := make([]func() value, len(l.Items))
	for i, e := range l.Items {
		items[i] = c.valueOf(e).value()
	}
	return code{kind: kList, val: func() value {
		if !m.elements(len(items), len(items), span) {
			return badValue
		}
		list := make([]value, len(items))
		for i := range items {
			list[i] = items[i]()
		}
		return value{kind: kList, list: &list}
	}}
}

// comprehension compiles [e for x in ...].
func (c *compiler) comprehension(l *syntax.List) code {
	m, span := c.m, l.Span()
	if len(l.Items) != 1 {
		c.m.report(diag.Syntax, l.Items[1].Span(), "[e for ...] has one element before for, not %d", len(l.Items))
		return c.badCode()
	}
	c.scope = newScope(c.scope)
	defer func() { c.scope = c.scope.outer }()
	iters := c.iterators(l.Iters, len(l.Items[0].Tokens))
	item := c.valueOf(l.Items[0]).value()
	var list *[]value
	run := m.nest(iters, func() flow {
		v := item()
		if m.bad || !m.elements(len(*list)+1, 1, span) {
			return halted
		}
		*list = append(*list, v)
		return goOn
	})
	return code{kind: kList, val: func() value {
		mine, outer, lost := new([]value), list, m.lost
		list, m.lost = mine, false
		if run() == halted || m.lost { // also where a condition failed
			m.bad = true
		}
		list, m.lost = outer, m.lost || lost
		return value{kind: kList, list: mine}
	}}
}
