// Package arithmetic computes with the integers of the language, which have 64 bits. Each function returns its result
// or an error text. Division rounds down, as in Python. The package imports nothing of mscclc.
package arithmetic

import (
	"math"
	"math/bits"
)

// Overflow is the fault of a result that does not fit.
const Overflow = "the result has more than 64 bits"

// Add returns a + b, or a fault.
func Add(a, b int64) (int64, string) {
	if c := a + b; (c > a) == (b > 0) {
		return c, ""
	}
	return 0, Overflow
}

// Sub returns a - b, or a fault.
func Sub(a, b int64) (int64, string) {
	if c := a - b; (c < a) == (b > 0) {
		return c, ""
	}
	return 0, Overflow
}

// Mul returns a * b, or a fault.
func Mul(a, b int64) (int64, string) {
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
	return 0, Overflow
}

// Div returns a / b, rounded down, or a fault.
func Div(a, b int64) (int64, string) {
	switch {
	case b == 0:
		return 0, "division by zero"
	case b == -1 && a == math.MinInt64:
		return 0, Overflow
	}
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q, ""
}

// Mod returns the remainder of Div, which has the sign of b, or a fault.
func Mod(a, b int64) (int64, string) {
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

// ShiftLeft returns a << b, or a fault.
func ShiftLeft(a, b int64) (int64, string) {
	if b < 0 || b > 63 {
		return 0, "a shift must be by 0 to 63"
	}
	if c := a << b; c>>b == a {
		return c, ""
	}
	return 0, Overflow
}

// ShiftRight returns a >> b, or a fault.
func ShiftRight(a, b int64) (int64, string) {
	if b < 0 || b > 63 {
		return 0, "a shift must be by 0 to 63"
	}
	return a >> b, ""
}

// Negate returns -a, or a fault.
func Negate(a int64) (int64, string) {
	if a == math.MinInt64 {
		return 0, Overflow
	}
	return -a, ""
}
