package bound

import (
	"math"
	"math/big"
)

// rounding is how far rounding moves most results of linear programs, as a part of them.
const rounding = 1e-8

// simplest returns a fraction of few digits that differs from x by a part of it at most.
func simplest(x, part float64) *big.Rat {
	eps := max(part*math.Abs(x), part/100)
	p, q, lastP, lastQ := 1.0, 0.0, 0.0, 1.0 // of the continued fraction of x
	for y := x; ; {
		a := math.Floor(y)
		p, lastP = float64(a*p)+lastP, p
		q, lastQ = float64(a*q)+lastQ, q
		if rest := y - a; math.Abs(p/q-x) <= eps || rest < 1e-12 || q > 1e12 {
			return big.NewRat(int64(p), int64(q))
		} else {
			y = 1 / rest
		}
	}
}

// whole returns the fractions of a list as whole multiples of a unit. Where the unit would be very small, it rounds the
// fractions down instead, to multiples of their sum over 2^32.
func whole(list []*big.Rat) (ints []int64, unit *big.Rat) {
	common, sum := big.NewInt(1), new(big.Rat)
	for _, x := range list {
		g := new(big.Int).GCD(nil, nil, common, x.Denom())
		common.Mul(common, new(big.Int).Div(x.Denom(), g))
		sum.Add(sum, x)
	}
	const bits = 32
	unit = new(big.Rat).SetFrac(big.NewInt(1), common)
	if sum.Sign() > 0 && new(big.Rat).Quo(sum, unit).Cmp(big.NewRat(1<<bits, 1)) > 0 {
		unit = sum.Quo(sum, big.NewRat(1<<bits, 1))
	}
	ints = make([]int64, len(list))
	var divisor int64
	for i, x := range list {
		q := new(big.Rat).Quo(x, unit)
		ints[i] = new(big.Int).Div(q.Num(), q.Denom()).Int64()
		divisor = gcd(divisor, ints[i])
	}
	if divisor > 1 {
		for i := range ints {
			ints[i] /= divisor
		}
		unit = times(unit, divisor)
	}
	return ints, unit
}
