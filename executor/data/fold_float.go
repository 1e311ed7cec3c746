package data

import "math"

// anything is the bound of a result that may be any number, an infinity or NaN: it depends on the order of additions or
// multiplications whether one of them is too large for the type.
var anything = math.Inf(1)

// largest returns the largest number of a float type.
func largest(t DType) float64 {
	top := 127 // the exponent of its largest power of two
	switch t {
	case E4M3:
		return 448
	case F64:
		return math.MaxFloat64
	case F16, E5M2:
		top = 15
	}
	return math.Ldexp(2-math.Ldexp(1, 1-t.Info().Mantissa), top)
}

// A special says what is among the operands of an element: NaN, infinities, zeros, and numbers above and below 0.
type special struct{ nan, plus, minus, zero, above, below bool }

func (s *special) see(v float64) {
	switch {
	case v != v:
		s.nan = true
	case v > math.MaxFloat64:
		s.plus = true
	case v < -math.MaxFloat64:
		s.minus = true
	case v == 0:
		s.zero = true
	case v > 0:
		s.above = true
	default:
		s.below = true
	}
}

// scaled is what a reduction adds of an input: of an average, input/ranks, rounded as the kernel does.
func (f *fold) scaled(v float64) float64 {
	switch {
	case f.op != Avg:
		return v
	case f.t == F64:
		return v * f.scale
	case f.t == E5M2 && math.IsInf(v, 0):
		return math.Copysign(f.largest, v)
	}
	return float64(float32(v) * float32(f.scale))
}

// sums adds elements with a compensation of what each addition lost, and the
// magnitudes. A sum is exact in any order if everything is a multiple of one power
// of two and the sum of magnitudes has no more bits than the type; else it may differ
// by a bound.
func (f *fold) sums(operands [][]byte, at int64, value, bound []float64) {
	var room, lost, size [runElems]float64
	var low [runElems]int
	var odd [runElems]special
	x := room[:len(value)]
	clear(value)
	for i := range x {
		low[i] = math.MaxInt
	}
	for _, buf := range operands {
		f.t.floats(x, buf[at:])
		for i, v := range x {
			v = f.scaled(v)
			if odd[i].see(v); v-v != 0 {
				continue
			}
			had := value[i]
			s := had + v
			back := s - had
			lost[i] += (had - (s - back)) + (v - back) // what v's addition lost, exactly
			value[i] = s
			size[i] += math.Abs(v)
			if v != 0 {
				low[i] = min(low[i], lowest(v))
			}
		}
	}
	for i, v := range value {
		if v-v == 0 {
			v += lost[i]
		}
		room := math.Ldexp(1, low[i]+f.info.Mantissa) // of f64, size may have been rounded to it
		exact := size[i] == 0 || low[i] >= f.info.MinExp && (size[i] < room || size[i] == room && f.t != F64)
		b := 0.0
		if !exact {
			b = size[i] * (f.grown + 0x1p-53)
		}
		if f.op == Avg && !exact { // what was scaled is rounded where the type has its smallest numbers
			b += float64(f.parts) * math.Ldexp(1, f.info.MinExp)
		}
		value[i], bound[i] = f.settle(v, b, size[i], odd[i])
	}
}

// settle is what a sum of numbers is in the type, beside operands that are no numbers. size is the sum of magnitudes.
func (f *fold) settle(v, bound, size float64, odd special) (value, _ float64) {
	alike := odd.above != odd.below // all numbers have one sign
	switch within := size+bound <= f.largest; {
	case odd.nan, odd.plus && odd.minus && !f.saturates:
		return math.NaN(), 0
	case odd.plus || odd.minus:
		if f.saturates || !within {
			return v, anything
		}
		return math.Inf(map[bool]int{true: 1, false: -1}[odd.plus]), 0
	case within:
		return v, bound
	case f.op == Avg && size <= f.largest*(1+0x1p-10): // finite, whatever roundings do
		return max(-f.largest, min(f.largest, v)), min(bound, f.largest)
	case f.saturates && alike:
		return max(-f.largest, min(f.largest, v)), min(bound, f.largest)
	case alike && (math.IsInf(v, 0) || math.Abs(v)-bound >= f.over):
		return math.Inf(int(math.Copysign(1, v))), 0
	}
	return v, anything
}

// products bounds by how much a result that was computed in the type, in whatever order, may differ:
// of powers of two not at all.
func (f *fold) products(operands [][]byte, at int64, value, bound []float64) {
	var room, big, small [runElems]float64
	var rounded [runElems]bool
	var odd [runElems]special
	x := room[:len(value)]
	for i := range value {
		value[i], big[i], small[i] = 1, 1, 1
	}
	for _, buf := range operands {
		f.t.floats(x, buf[at:])
		for i, v := range x {
			value[i] *= v
			rounded[i] = rounded[i] || !power(v)
			odd[i].see(v)
			if size := math.Abs(v); size > 1 && size <= math.MaxFloat64 {
				big[i] *= size
			} else if size > 0 && size < 1 {
				small[i] *= size
			}
		}
	}
	least := math.Ldexp(1, f.info.MinExp)
	for i, v := range value {
		bound[i] = 0
		if rounded[i] {
			bound[i] = math.Abs(v) * (f.grown + float64(f.parts)*0x1p-53)
		}
		tiny := small[i] < least*math.Ldexp(1, f.info.Mantissa-1)
		if tiny { // and what was rounded so is multiplied by others
			bound[i] += float64(f.parts) * least * big[i]
		}
		value[i], bound[i] = f.settleProduct(v, bound[i], big[i] > f.largest, small[i] < 1, tiny, odd[i])
	}
}

// settleProduct is what a product is in the type. big says that one of some operands is too large for it, shrinks that
// some operand is below 1, and tiny that a product of such is too small.
func (f *fold) settleProduct(v, bound float64, big, shrinks, tiny bool, odd special) (value, _ float64) {
	infinite := odd.plus || odd.minus
	switch {
	case odd.nan:
		return math.NaN(), 0
	case infinite && (f.saturates || tiny), big && (tiny || odd.zero || f.saturates && infinite):
		return v, anything
	case infinite, !big:
		return v, bound
	case f.saturates:
		return v, anything
	case math.IsInf(v, 0) && !shrinks || math.Abs(v)-bound >= f.over:
		return math.Inf(int(math.Copysign(1, v))), 0
	}
	return v, anything
}

// power reports whether v is a power of two, or minus one.
func power(v float64) bool {
	m, _ := math.Frexp(v)
	return m == 0.5 || m == -0.5
}
