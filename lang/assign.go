package lang

import (
	"mscclc/ir/diag"
	"mscclc/lang/syntax"
)

// This file compiles what gives a variable its value.

func (c *compiler) let(s *syntax.Let) exec {
	x := c.observed(c.valueOf(s.Value), s.Name.Span())
	n := &name{text: s.Name.Text, span: s.Name.Span(), sort: aVariable, kind: x.kind, slot: new(value)}
	c.declare(n)
	return c.store(n.slot, x)
}

func (c *compiler) assign(s *syntax.Simple) exec {
	x := c.valueOf(s.Value)
	target := plainName(s.X)
	if target == nil {
		c.m.report(diag.Assign, s.X.Span(), "only a name can be assigned")
		return nil
	}
	n := c.resolve(target, toAssign)
	switch {
	case n == nil:
		return nil
	case n.sort != aVariable:
		what := fixed[n.sort]
		if n.kind == kBuffer {
			what = "a buffer"
		}
		d := c.m.report(diag.Assign, target.Span(), "%s is %s and cannot be assigned", n.text, what)
		if n.span.Line > 0 {
			*d = d.WithNote(n.span, "%s is declared here", n.text)
		}
		d.Hint = "let x = " + n.text + " declares a variable"
		return nil
	case n.kind == kBad || x.kind == kBad:
		return c.store(n.slot, c.badCode())
	case n.kind != kAny && x.kind != kAny && n.kind != x.kind:
		c.reKind(s, n, n.kind, x.kind)
		return c.store(n.slot, c.badCode())
	case n.kind == x.kind && n.kind != kAny:
		return c.store(n.slot, x)
	}
	m, slot, val := c.m, n.slot, x.value()
	return func() flow {
		v := val()
		switch {
		case m.bad || slot.kind == kBad || v.kind == kBad:
			*slot = badValue
		case v.kind != slot.kind:
			c.reKind(s, n, slot.kind, v.kind)
			m.bad = true
			*slot = badValue
		default:
			*slot = v
		}
		return goOn
	}
}

func (c *compiler) reKind(s *syntax.Simple, n *name, was, is kind) {
	d := c.m.report(diag.Kind, s.Value.Span(), "%s is %s and cannot become %s", n.text, was, is)
	*d = d.WithNote(n.span, "%s is declared here", n.text)
}

// store returns how to put an expression's value into a slot. A value that
// could not be computed is stored as kBad.
func (c *compiler) store(slot *value, x code) exec {
	m, num, ref, val, k := c.m, x.num, x.ref, x.val, x.kind
	switch {
	case k.numeric():
		return func() flow {
			slot.n, slot.kind = num.get(), k
			if m.bad {
				slot.kind = kBad
			}
			return goOn
		}
	case k == kRef:
		return func() flow {
			slot.ref, slot.kind = ref(), k
			if m.bad {
				slot.kind = kBad
			}
			return goOn
		}
	}
	return func() flow {
		v := val()
		if m.bad {
			v = badValue
		}
		*slot = v
		return goOn
	}
}

// plainName returns the name that e consists of, or nil.
func plainName(e *syntax.Expr) *syntax.Name {
	if len(e.Rest) > 0 || len(e.Left.Ops) > 0 || len(e.Left.Suffixes) > 0 {
		return nil
	}
	n, _ := e.Left.X.(*syntax.Name)
	return n
}
