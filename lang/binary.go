package lang

import (
	"mscclc/ir/diag"
	"mscclc/lang/arithmetic"
	"mscclc/lang/syntax"
)

// This file has the binary operators, and compiles them.

// An operator takes two operands of one kind. It returns a fault in words, or "".
type operator struct {
	prec     int // binds tighter than those with less
	operands kind
	result   kind
	run      func(a, b int64) (int64, string)
}

// binary has the operators. They bind as Python's do, comparisons looser and not chained. The
// equalities take any simple kind, + lists too, and && and || are lazy.
var binary = map[string]*operator{
	"||": {1, kBool, kBool, nil},
	"&&": {2, kBool, kBool, nil},
	"==": {3, kAny, kBool, func(a, b int64) (int64, string) { return truth(a == b) }},
	"!=": {3, kAny, kBool, func(a, b int64) (int64, string) { return truth(a != b) }},
	"<":  {3, kInt, kBool, func(a, b int64) (int64, string) { return truth(a < b) }},
	"<=": {3, kInt, kBool, func(a, b int64) (int64, string) { return truth(a <= b) }},
	">":  {3, kInt, kBool, func(a, b int64) (int64, string) { return truth(a > b) }},
	">=": {3, kInt, kBool, func(a, b int64) (int64, string) { return truth(a >= b) }},
	"|":  {4, kInt, kInt, func(a, b int64) (int64, string) { return a | b, "" }},
	"^":  {5, kInt, kInt, func(a, b int64) (int64, string) { return a ^ b, "" }},
	"&":  {6, kInt, kInt, func(a, b int64) (int64, string) { return a & b, "" }},
	"<<": {7, kInt, kInt, arithmetic.ShiftLeft},
	">>": {7, kInt, kInt, arithmetic.ShiftRight},
	"+":  {8, kInt, kInt, arithmetic.Add},
	"-":  {8, kInt, kInt, arithmetic.Sub},
	"*":  {9, kInt, kInt, arithmetic.Mul},
	"/":  {9, kInt, kInt, arithmetic.Div},
	"%":  {9, kInt, kInt, arithmetic.Mod},
}

const comparison = 3 // the precedence of the comparisons

// truth returns b as a number, and no fault.
func truth(b bool) (int64, string) {
	if b {
		return 1, ""
	}
	return 0, ""
}

// binary compiles one operator.
func (c *compiler) binary(b *syntax.Binary, op *operator, left, right code) code {
	if left.kind == kBad || right.kind == kBad {
		return c.badCode()
	}
	span := b.OpSpan()
	switch {
	case op.operands == kAny:
		return c.equality(span, b.Op, left, right)
	case op.operands == kBool:
		l, r := c.asNumber(left, kBool, "the left operand of "+b.Op, span),
			c.asNumber(right, kBool, "the right operand of "+b.Op, span)
		return c.folded(kBool, c.lazy(b.Op, l, r), left.lit && right.lit)
	case b.Op == "+" && (left.kind == kList || right.kind == kList):
		l, r := c.as(left, kList, "the left operand of +", span), c.as(right, kList, "the right operand of +", span)
		return code{kind: kList, val: c.concat(span, l, r)}
	case b.Op == "+" && left.kind == kAny && right.kind == kAny:
		return c.plus(span, left, right)
	}
	l, r := c.asNumber(left, kInt, "the left operand of "+b.Op, span),
		c.asNumber(right, kInt, "the right operand of "+b.Op, span)
	run := c.fast(b.Op, span, l, r)
	if run == nil {
		run = c.m.arithmetic(span, l, r, op.run)
	}
	return c.folded(op.result, run, left.lit && right.lit)
}

// fast compiles the commonest operators without a call between operands and
// result, or returns nil.
func (c *compiler) fast(op string, span diag.Span, a, b number) func() int64 {
	m := c.m
	switch op {
	case "+":
		return func() int64 {
			x := a.get()
			y := b.get()
			z := x + y
			if (z > x) != (y > 0) {
				m.fault(diag.Arithmetic, span, "%s", arithmetic.Overflow)
			}
			return z
		}
	case "-":
		return func() int64 {
			x := a.get()
			y := b.get()
			z := x - y
			if (z < x) != (y > 0) {
				m.fault(diag.Arithmetic, span, "%s", arithmetic.Overflow)
			}
			return z
		}
	case "%":
		return func() int64 {
			x := a.get()
			y := b.get()
			if x >= 0 && y > 0 { // mostly a little more than a rank, which needs no division
				if x < y {
					return x
				}
				if x -= y; x < y {
					return x
				}
			}
			z, fault := arithmetic.Mod(x, y)
			if fault != "" {
				m.fault(diag.Arithmetic, span, "%s", fault)
			}
			return z
		}
	case "!=":
		return func() int64 {
			if a.get() != b.get() {
				return 1
			}
			return 0
		}
	}
	return nil
}

func (c *compiler) lazy(op string, a, b number) func() int64 {
	m, stop := c.m, int64(0)
	if op == "||" {
		stop = 1
	}
	return func() int64 {
		if x := a.get(); x == stop || m.bad {
			return x
		}
		return b.get()
	}
}

// plus adds two values which only a run knows to be integers
// or lists.
func (c *compiler) plus(span diag.Span, left, right code) code {
	m, l, r := c.m, left.val, right.val
	return code{kind: kAny, val: func() value {
		a, b := l(), r()
		switch {
		case m.bad:
		case a.kind == kInt && b.kind == kInt:
			n, fault := arithmetic.Add(a.n, b.n)
			if fault != "" {
				m.fault(diag.Arithmetic, span, "%s", fault)
			}
			return intValue(n)
		case a.kind == kList && b.kind == kList:
			return m.join(span, &a, &b)
		default:
			m.fault(diag.Kind, span, "+ adds integers or lists, not %s and %s", a.kind, b.kind)
		}
		return badValue
	}}
}

func (c *compiler) concat(span diag.Span, l, r func() value) func() value {
	m := c.m
	return func() value {
		a, b := l(), r()
		if m.bad {
			return badValue
		}
		return m.join(span, &a, &b)
	}
}

// equality compares two simple values of one kind.
func (c *compiler) equality(span diag.Span, op string, left, right code) code {
	m := c.m
	for _, x := range []code{left, right} {
		if x.kind == kList || x.kind == kRef || x.kind == kNone {
			m.report(diag.Kind, span, "%s compares integers, booleans, strings and buffers, not %s", op, x.kind)
			return c.badCode()
		}
	}
	if left.kind != kAny && right.kind != kAny && left.kind != right.kind {
		m.report(diag.Kind, span, "%s compares %s with %s", op, left.kind, right.kind)
		return c.badCode()
	}
	want := int64(1)
	if op == "!=" {
		want = 0
	}
	if left.kind.numeric() && right.kind.numeric() {
		a, b := left.num, right.num
		return c.folded(kBool, func() int64 {
			if a.get() == b.get() {
				return want
			}
			return 1 - want
		}, left.lit && right.lit)
	}
	a, b := left.value(), right.value()
	return code{kind: kBool, num: number{run: func() int64 {
		x, y := a(), b()
		if m.bad {
			return 0
		}
		if x.kind != y.kind || x.kind == kList || x.kind == kRef {
			m.fault(diag.Kind, span, "%s cannot compare %s with %s", op, x.kind, y.kind)
		}
		if x.n == y.n {
			return want
		}
		return 1 - want
	}}}
}

// arithmetic makes a faulting function of two numbers one that reports.
func (m *machine) arithmetic(span diag.Span, a, b number, run func(a, b int64) (int64, string)) func() int64 {
	return func() int64 {
		x := a.get()
		n, fault := run(x, b.get())
		if fault != "" {
			m.fault(diag.Arithmetic, span, "%s", fault)
		}
		return n
	}
}
