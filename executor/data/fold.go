package data

import (
	"math"
	"math/bits"
)

// A fold reduces operands of so many parts, and keeps what is the same for all elements.
type fold struct {
	t     DType
	op    RedOp
	info  *DTypeInfo
	parts int
	grown float64 // by the roundings of a reduction
	once  float64 // by one
}

func newFold(t DType, op RedOp, parts int) *fold {
	f := &fold{t: t, op: op, info: t.Info(), parts: parts}
	if f.info.Float {
		f.grown, f.once = grown(t, parts-1), grown(t, 1)
	}
	return f
}

// run reduces as many elements as want has room for, at most runElems, from the first on.
func (f *fold) run(operands [][]byte, first int64, want expected) {
	at := first * int64(f.info.Size)
	if want.ints != nil {
		f.ints(operands, at, want.ints)
		return
	}
	switch f.op {
	case Min, Max:
		f.extremes(operands, at, want.value)
		clear(want.bound)
	case Prod:
		f.products(operands, at, want.value, want.bound)
	default:
		f.sums(operands, at, want.value, want.bound)
	}
}

func (f *fold) ints(operands [][]byte, at int64, acc []uint64) {
	var room [runElems]uint64
	x := room[:len(acc)]
	f.t.ints(acc, operands[0][at:])
	for _, buf := range operands[1:] {
		f.t.ints(x, buf[at:])
		switch {
		case f.op == Sum || f.op == Avg:
			for i, v := range x {
				acc[i] += v
			}
		case f.op == Prod:
			for i, v := range x {
				acc[i] *= v
			}
		case f.info.Signed:
			for i, v := range x {
				if int64(v) < int64(acc[i]) == (f.op == Min) {
					acc[i] = v
				}
			}
		default:
			for i, v := range x {
				if v < acc[i] == (f.op == Min) {
					acc[i] = v
				}
			}
		}
	}
	f.wrapped(acc)
}

// wrapped keeps of results what an element holds, and averages them where they are to be.
func (f *fold) wrapped(acc []uint64) {
	if f.op == Min || f.op == Max {
		return
	}
	for i, v := range acc {
		acc[i] = wrap(f.t, v)
	}
	switch {
	case f.op != Avg:
	case f.info.Signed:
		for i, v := range acc {
			acc[i] = uint64(int64(v) / int64(f.parts))
		}
	default:
		for i, v := range acc {
			acc[i] = v / uint64(f.parts)
		}
	}
}

// extremes are the smallest or largest elements, or NaN where there is one.
func (f *fold) extremes(operands [][]byte, at int64, acc []float64) {
	var room [runElems]float64
	x := room[:len(acc)]
	f.t.floats(acc, operands[0][at:])
	for _, buf := range operands[1:] {
		f.t.floats(x, buf[at:])
		if f.op == Min {
			for i, v := range x {
				acc[i] = min(acc[i], v)
			}
		} else {
			for i, v := range x {
				acc[i] = max(acc[i], v)
			}
		}
	}
}

// products bounds by how much a result that was computed in the type, in whatever order, may differ:
// of powers of two not at all.
func (f *fold) products(operands [][]byte, at int64, value, bound []float64) {
	var room [runElems]float64
	var rounded [runElems]bool
	x := room[:len(value)]
	for i := range value {
		value[i] = 1
	}
	for _, buf := range operands {
		f.t.floats(x, buf[at:])
		for i, v := range x {
			value[i] *= v
			rounded[i] = rounded[i] || !power(v)
		}
	}
	for i, v := range value {
		if bound[i] = 0; rounded[i] {
			bound[i] = math.Abs(v) * (f.grown + float64(f.parts)*0x1p-53)
		}
	}
}

// power reports whether v is a power of two, or minus one.
func power(v float64) bool {
	m, _ := math.Frexp(v)
	return m == 0.5 || m == -0.5
}

// sums adds elements with a compensation of what each addition lost, and the
// magnitudes. A sum is exact in any order if everything is a multiple of one power
// of two and the sum of magnitudes has no more bits than the type; else it may differ
// by a bound.
func (f *fold) sums(operands [][]byte, at int64, value, bound []float64) {
	var room, lost, size [runElems]float64
	var low [runElems]int
	x := room[:len(value)]
	clear(value)
	for i := range x {
		low[i] = math.MaxInt
	}
	for _, buf := range operands {
		f.t.floats(x, buf[at:])
		for i, v := range x {
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
		v += lost[i]
		exact := size[i] == 0 || low[i] >= f.info.MinExp && size[i] <= math.Ldexp(1, low[i]+f.info.Mantissa)
		b := 0.0
		if !exact {
			b = size[i] * (f.grown + 0x1p-53)
		}
		if f.op == Avg {
			v, b = f.average(v, b, exact)
		}
		value[i], bound[i] = v, b
	}
}

// average divides a sum, with the roundings of the type where the sum is exact.
func (f *fold) average(value, bound float64, exact bool) (float64, float64) {
	n := float64(f.parts)
	if exact {
		var buf [8]byte
		if f.t != F64 {
			f.t.PutFloat(buf[:], 0, float64(float32(value)/float32(n)))
			return f.t.Float(buf[:], 0), 0
		}
		return value / n, 0
	}
	value, bound = value/n, bound/n
	return value, bound + (math.Abs(value)+bound)*f.once + math.Ldexp(1, f.info.MinExp)
}

// grown is (1+u)^roundings - 1, where u is the roundoff of one operation.
func grown(t DType, roundings int) float64 {
	info := t.Info()
	u := math.Ldexp(1, -info.Mantissa)
	if info.Mantissa < 24 {
		u += 0x1p-23 // computed in f32 first
	}
	return math.Expm1(float64(roundings) * math.Log1p(u))
}

// lowest returns the exponent of the last bit of v that is set; v is not 0.
func lowest(v float64) int {
	b := math.Float64bits(v)
	exp, frac := int(b>>52&0x7ff), b&(1<<52-1)
	if exp == 0 {
		return bits.TrailingZeros64(frac) - 1074
	}
	return exp - 1075 + bits.TrailingZeros64(frac|1<<52)
}
