package arithmetic_test

import (
	"math"
	"math/big"
	"testing"

	"mscclc/lang/arithmetic"
)

// Every result is what integers without bounds give, or a fault where that does not fit or does not exist.
func TestAgainstBig(t *testing.T) {
	type function struct {
		name string
		run  func(a, b int64) (int64, string)
		want func(z, a, b *big.Int) *big.Int // nil where there is no result
	}
	floor := func(z, a, b *big.Int) (div, mod *big.Int) {
		if b.Sign() == 0 {
			return nil, nil
		}
		div, mod = new(big.Int).DivMod(a, b, new(big.Int)) // the remainder is never negative
		if mod.Sign() != 0 && b.Sign() < 0 {
			div.Sub(div, big.NewInt(1))
			mod.Add(mod, b)
		}
		return div, mod
	}
	functions := []function{
		{"add", arithmetic.Add, (*big.Int).Add},
		{"sub", arithmetic.Sub, (*big.Int).Sub},
		{"mul", arithmetic.Mul, (*big.Int).Mul},
		{"div", arithmetic.Div, func(z, a, b *big.Int) *big.Int { z, _ = floor(z, a, b); return z }},
		{"mod", arithmetic.Mod, func(z, a, b *big.Int) *big.Int { _, z = floor(z, a, b); return z }},
		{"shift left", arithmetic.ShiftLeft, func(z, a, b *big.Int) *big.Int {
			if b.Sign() < 0 || b.Cmp(big.NewInt(63)) > 0 {
				return nil
			}
			return z.Lsh(a, uint(b.Uint64()))
		}},
		{"shift right", arithmetic.ShiftRight, func(z, a, b *big.Int) *big.Int {
			if b.Sign() < 0 || b.Cmp(big.NewInt(63)) > 0 {
				return nil
			}
			return z.Rsh(a, uint(b.Uint64()))
		}},
		{"negate", func(a, _ int64) (int64, string) { return arithmetic.Negate(a) },
			func(z, a, _ *big.Int) *big.Int { return z.Neg(a) }},
	}
	numbers := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 32, -64, -7, -2, -1, 0, 1, 2, 3, 7, 62, 63, 64, 1 << 32,
		3037000500, math.MaxInt64 - 1, math.MaxInt64}
	for _, f := range functions {
		for _, a := range numbers {
			for _, b := range numbers {
				got, fault := f.run(a, b)
				want := f.want(new(big.Int), big.NewInt(a), big.NewInt(b))
				if fits := want != nil && want.IsInt64(); fits != (fault == "") || fits && want.Int64() != got {
					t.Errorf("%s of %d and %d is %d %q, want %v", f.name, a, b, got, fault, want)
				}
			}
		}
	}
}
