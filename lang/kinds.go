package lang

import "mscclc/ir/diag"

// This file makes sure that values have the kinds that are needed: while
// compiling where the kind is known, else when it runs.

// number compiles an expression of the numeric kind k.
func (c *compiler) number(e *Expr, k kind, what string) number {
	return c.asNumber(c.expr(e), k, what, e.span())
}

// of compiles an expression of kind k, neither numeric nor kRef.
func (c *compiler) of(e *Expr, k kind, what string) func() value {
	return c.as(c.expr(e), k, what, e.span())
}

func (c *compiler) asNumber(x code, k kind, what string, span diag.Span) number {
	if x.kind == k {
		return x.num
	}
	if m, slot := c.m, x.slot; slot != nil && x.kind == kAny {
		return number{run: func() int64 {
			if slot.kind != k {
				m.wrongKind(slot.kind, k, what, span)
				return 0
			}
			return slot.n
		}}
	}
	val := c.as(x, k, what, span)
	return number{run: func() int64 { return val().n }}
}

func (c *compiler) asRef(x code, what string, span diag.Span) func() ref {
	if x.kind == kRef {
		return x.ref
	}
	if m, slot := c.m, x.slot; slot != nil && x.kind == kAny {
		return func() ref {
			if slot.kind != kRef {
				m.wrongKind(slot.kind, kRef, what, span)
				return ref{}
			}
			return slot.ref
		}
	}
	val := c.as(x, kRef, what, span)
	return func() ref { return val().ref }
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
