package data

import (
	"math"
	"math/bits"
)

// A fold reduces operands of a number of parts, and keeps what is the same for all elements.
type fold struct {
	t     DType
	op    RedOp
	info  *DTypeInfo
	parts int

	// Of floats: how much the roundings of a reduction grow an error, and what an average multiplies inputs by. largest
	// is the type's largest number, and what is over or more rounds to an infinity. saturates says that it does not.
	grown, scale  float64
	largest, over float64
	saturates     bool
}

func newFold(t DType, op RedOp, parts int) *fold {
	f := &fold{t: t, op: op, info: t.Info(), parts: parts}
	if f.info.Float {
		f.grown, f.scale = grown(t, parts-1), 1
		f.largest = largest(t)
		f.over = f.largest + f.largest*math.Ldexp(1, -f.info.Mantissa)/2
		if t == F64 { // it is computed in f64
			f.over = math.Inf(1)
		}
		f.saturates = t == E4M3 || t == E5M2
	}
	if op == Avg {
		f.scale = 1 / float64(parts)
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

// extremes are the smallest or largest numbers, or NaN where there is none.
func (f *fold) extremes(operands [][]byte, at int64, acc []float64) {
	var room [runElems]float64
	x := room[:len(acc)]
	f.t.floats(acc, operands[0][at:])
	for _, buf := range operands[1:] {
		f.t.floats(x, buf[at:])
		for i, v := range x {
			switch {
			case v != v:
			case acc[i] != acc[i]:
				acc[i] = v
			case f.op == Min:
				acc[i] = min(acc[i], v)
			default:
				acc[i] = max(acc[i], v)
			}
		}
	}
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
