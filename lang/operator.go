package lang

import (
	"math"
	"math/bits"

	"mscclc/ir/diag"
)

// An operator takes two operands of one kind. It returns a fault in words, or "".
type operator struct {
	prec     int // binds tighter than those with less
	operands kind
	result   kind
	run      func(a, b int64) (int64, string)
}

// operators binds as Python does, comparisons looser and not chained. The
// equalities take any simple kind, + lists too, and && and || are lazy: binary.go
// has these cases.
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
	"<<": {7, kInt, kInt, shiftLeft},
	">>": {7, kInt, kInt, shiftRight},
	"+":  {8, kInt, kInt, add},
	"-":  {8, kInt, kInt, sub},
	"*":  {9, kInt, kInt, mul},
	"/":  {9, kInt, kInt, div},
	"%":  {9, kInt, kInt, mod},
}

const (
	comparison = 3 // the precedence of the comparisons
	tightest   = 9
	overflow   = "the result has more than 64 bits"
)

func truth(b bool) (int64, string) {
	if b {
		return 1, ""
	}
	return 0, ""
}

func add(a, b int64) (int64, string) {
	if c := a + b; (c > a) == (b > 0) {
		return c, ""
	}
	return 0, overflow
}

func sub(a, b int64) (int64, string) {
	if c := a - b; (c < a) == (b > 0) {
		return c, ""
	}
	return 0, overflow
}

func mul(a, b int64) (int64, string) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	h := int64(hi)
	if a < 0 {
		h -= b
	}
	if b < 0 {
		h -= a
	}
	if c := int64(lo); h == c>>63 {
		return c, ""
	}
	return 0, overflow
}

func div(a, b int64) (int64, string) {
	switch {
	case b == 0:
		return 0, "division by zero"
	case b == -1 && a == math.MinInt64:
		return 0, overflow
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, ""
}

func mod(a, b int64) (int64, string) {
	switch {
	case b == 0:
		return 0, "division by zero"
	case b == -1:
		return 0, ""
	}
	r := a % b
	if r != 0 && (r < 0) != (b < 0) {
		r += b
	}
	return r, ""
}

func shiftLeft(a, b int64) (int64, string) {
	if b < 0 || b > 63 {
		return 0, "a shift must be by 0 to 63"
	}
	if c := a << b; c>>b == a {
		return c, ""
	}
	return 0, overflow
}

func shiftRight(a, b int64) (int64, string) {
	if b < 0 || b > 63 {
		return 0, "a shift must be by 0 to 63"
	}
	return a >> b, ""
}

func negate(a int64) (int64, string) {
	if a == math.MinInt64 {
		return 0, overflow
	}
	return -a, ""
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
