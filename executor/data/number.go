package data

import (
	"encoding/binary"
	"math"
	"sync"
)

// Float decodes element i of buf, a float of type t. Every value is exact.
func (t DType) Float(buf []byte, i int) float64 {
	switch t {
	case F16:
		return f16Values()[binary.LittleEndian.Uint16(buf[2*i:])]
	case BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(buf[2*i:])) << 16))
	case F32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(buf[4*i:])))
	case F64:
		return math.Float64frombits(binary.LittleEndian.Uint64(buf[8*i:]))
	case E4M3:
		return e4m3Values()[buf[i]]
	case E5M2:
		return e5m2Values()[buf[i]]
	}
	panic("executor: " + t.String() + " is no float")
}

// The values of the small types, by their bits.
var (
	f16Values  = sync.OnceValue(func() []float64 { return smallFloats(16, 5, 10, true) })
	e4m3Values = sync.OnceValue(func() []float64 { return smallFloats(8, 4, 3, false) })
	e5m2Values = sync.OnceValue(func() []float64 { return smallFloats(8, 5, 2, true) })
)

func smallFloats(bits, e, m int, infinite bool) []float64 {
	values := make([]float64, 1<<bits)
	for v := range values {
		values[v] = smallFloat(uint64(v), e, m, infinite)
	}
	return values
}

// PutFloat encodes x as element i of buf, a float of type t, rounded to nearest
// even.
func (t DType) PutFloat(buf []byte, i int, x float64) {
	switch t {
	case F16:
		binary.LittleEndian.PutUint16(buf[2*i:], uint16(fromFloat(x, 5, 10, true)))
	case BF16:
		binary.LittleEndian.PutUint16(buf[2*i:], uint16(fromFloat(x, 8, 7, true)))
	case F32:
		binary.LittleEndian.PutUint32(buf[4*i:], math.Float32bits(float32(x)))
	case F64:
		binary.LittleEndian.PutUint64(buf[8*i:], math.Float64bits(x))
	case E4M3:
		buf[i] = byte(fromFloat(x, 4, 3, false))
	case E5M2:
		buf[i] = byte(fromFloat8(x))
	default:
		panic("executor: " + t.String() + " is no float")
	}
}

// smallFloat decodes a float of e exponent and m mantissa bits, by the book:
// slow, and apart from how the kernel does it. A type with infinities keeps its
// largest exponent for them and NaN; e4m3 has only the one NaN.
func smallFloat(v uint64, e, m int, infinite bool) float64 {
	sign := 1.0
	if v>>(e+m)&1 == 1 {
		sign = -1
	}
	exp, frac := int(v>>m)&(1<<e-1), v&(1<<m-1)
	bias := 1<<(e-1) - 1
	switch top := 1<<e - 1; {
	case infinite && exp == top && frac == 0:
		return sign * math.Inf(1)
	case infinite && exp == top, !infinite && exp == top && frac == 1<<m-1:
		return math.NaN()
	case exp == 0:
		return sign * math.Ldexp(float64(frac), 1-bias-m)
	}
	return sign * math.Ldexp(float64(uint64(1)<<m|frac), exp-bias-m)
}

// fromFloat encodes x; beyond the largest finite number, a type with
// infinities becomes infinite and e4m3 saturates.
func fromFloat(x float64, e, m int, infinite bool) uint64 {
	bias := 1<<(e-1) - 1
	sign := math.Float64bits(x) >> 63 << (e + m)
	top := uint64(1<<e - 1)
	if x != x {
		nan := top<<m | 1<<(m-1)
		if !infinite || e == 8 {
			nan = 1<<(e+m) - 1
		}
		return nan
	}
	last, over := top<<m-1, top<<m // the largest finite number, and what is beyond it
	if !infinite {
		last = top<<m | (1<<m - 2)
		over = last
	}
	x = math.Abs(x)
	exp := max(int(math.Float64bits(x)>>52)-1023, 1-bias) // x has units of the last place of 2^(exp-m)
	if exp > bias+1 {
		return sign | over
	}
	// Of a normal number, q has the bit that the exponent stands for; where q was rounded up to another power of two, it
	// adds one to the exponent.
	q := math.RoundToEven(x * math.Float64frombits(uint64(1023+m-exp)<<52))
	code := uint64(exp+bias-1)<<m + uint64(q)
	if code > last {
		return sign | over
	}
	return sign | code
}

// fromFloat8 is fromFloat for e5m2, which has infinities and saturates
// nevertheless.
func fromFloat8(x float64) uint64 {
	const most = 57344
	if x != x {
		return 0x7f
	}
	return fromFloat(max(-most, min(most, x)), 5, 2, true)
}

// Int decodes element i of buf, an integer of type t, widened to 64 bits.
func (t DType) Int(buf []byte, i int) uint64 {
	switch t {
	case I8:
		return uint64(int8(buf[i]))
	case U8:
		return uint64(buf[i])
	case I32:
		return uint64(int32(binary.LittleEndian.Uint32(buf[4*i:])))
	case U32:
		return uint64(binary.LittleEndian.Uint32(buf[4*i:]))
	case I64, U64:
		return binary.LittleEndian.Uint64(buf[8*i:])
	}
	panic("executor: " + t.String() + " is no integer")
}

// wrap keeps of v what an element of type t holds.
func wrap(t DType, v uint64) uint64 {
	switch t {
	case I8:
		return uint64(int8(v))
	case U8:
		return uint64(uint8(v))
	case I32:
		return uint64(int32(v))
	case U32:
		return uint64(uint32(v))
	}
	return v
}
