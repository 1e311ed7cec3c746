package lang

import "mscclc/ir/diag"

// This file makes sure that values have the kinds that are needed: while
// compiling where the kind is known, else when it runs.

// number compiles an expression of kind k, kInt or kBool.
func (c *compiler) number(e *Expr, k kind, what string) func() int64 {
	return c.asNumber(c.expr(e), k, what, e.span())
}

// of compiles an expression of kind k, neither kInt nor kBool.
func (c *compiler) of(e *Expr, k kind, what string) func() value {
	return c.as(c.expr(e), k, what, e.span())
}

func (c *compiler) asNumber(x code, k kind, what string, span diag.Span) func() int64 {
	if x.kind == k {
		return x.num
	}
	if x.kind != kAny {
		bad := c.mismatch(x.kind, k, what, span)
		return func() int64 { bad(); return 0 }
	}
	m, val := c.m, x.val
	return func() int64 {
		v := val()
		if v.kind != k {
			m.wrongKind(v.kind, k, what, span)
			return 0
		}
		return v.n
	}
}

func (c *compiler) as(x code, k kind, what string, span diag.Span) func() value {
	if x.kind == k {
		return x.value()
	}
	if x.kind != kAny {
		return c.mismatch(x.kind, k, what, span)
	}
	m, val := c.m, x.val
	return func() value {
		v := val()
		if v.kind != k {
			m.wrongKind(v.kind, k, what, span)
			return badValue
		}
		return v
	}
}

// mismatch reports a kind that is wrong whenever it runs.
func (c *compiler) mismatch(is, k kind, what string, span diag.Span) func() value {
	if is != kBad {
		c.m.report(diag.Kind, span, "%s must be %s, not %s", what, k, is)
	}
	return c.badCode().val
}

// wrongKind reports a kind that turned out wrong.
func (m *machine) wrongKind(is, k kind, what string, span diag.Span) {
	if is == kBad {
		m.bad = true
		return
	}
	m.fault(diag.Kind, span, "%s must be %s, not %s", what, k, is)
}
