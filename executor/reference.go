// This file computes a collective directly, with none of the executor's parts:
// integers exactly, floats in double precision with a bound for what rounding
// may have done to each element.

package executor

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"mscclc/ir"
)

// expected is what the elements of a reduced chunk must be: ints, or values
// from which a result may differ by at most bound.
type expected struct {
	ints         []uint64
	value, bound []float64
}

// chunk is what a rank's input chunk held before the run.
func (d *Data) chunk(p ir.Part, elems int64) []byte {
	at, size := d.Geo.Offset(int(p.Index)), int64(d.DType.Size())
	return d.initial[p.Rank][at*size : (at+elems)*size]
}

// checkChunk compares one output chunk.
func (d *Data) checkChunk(rank, index int, sums map[int]*expected, rep *Report) {
	want := d.Geo.Coll.Want(rank, index)
	if want.Any {
		return
	}
	elems := d.Geo.Length(d.Geo.Coll.Class(index))
	at, size := d.Geo.Offset(index), int64(d.DType.Size())
	got := d.rank[rank].output[at*size : (at+elems)*size]
	rep.Checked += elems
	var exp *expected
	switch {
	case want.Sum:
		if exp = sums[int(want.Part.Index)]; exp == nil {
			parts := make([]ir.Part, d.Geo.Coll.Ranks)
			for r := range parts {
				parts[r] = ir.Part{Rank: int32(r), Index: want.Part.Index}
			}
			exp = d.expect(parts, elems)
			sums[int(want.Part.Index)] = exp
		}
	case want.List != nil:
		exp = d.expect(want.List, elems)
	default:
		was := d.chunk(want.Part, elems)
		for i := range int(elems) {
			if g, w := got[i*int(size):(i+1)*int(size)], was[i*int(size):(i+1)*int(size)]; !bytes.Equal(g, w) {
				rep.wrong(rank, index, i, fmt.Sprintf("%x", g), fmt.Sprintf("%x", w))
			}
		}
		return
	}
	d.compare(rank, index, got, exp, rep)
}

// compare compares one chunk with a reduction.
func (d *Data) compare(rank, index int, got []byte, exp *expected, rep *Report) {
	for i, want := range exp.ints {
		if g := d.DType.Int(got, i); g != want {
			rep.wrong(rank, index, i, fmt.Sprintf("%#x", g), fmt.Sprintf("%#x", want))
		}
	}
	for i, want := range exp.value {
		g := d.DType.Float(got, i)
		// A NaN on one side only compares false.
		if good := g == want || math.Abs(g-want) <= exp.bound[i] || g != g && want != want; !good {
			rep.wrong(rank, index, i, fmt.Sprint(g), fmt.Sprintf("%v ± %g", want, exp.bound[i]))
		}
	}
}

func (r *Report) wrong(rank, chunk, element int, got, want string) {
	if r.Wrong++; r.First == nil {
		r.First = &Wrong{Rank: rank, Chunk: chunk, Element: int64(element), Got: got, Want: want}
	}
}

// expect reduces parts, element by element.
func (d *Data) expect(parts []ir.Part, elems int64) *expected {
	operands := make([][]byte, len(parts))
	for i, p := range parts {
		operands[i] = d.chunk(p, elems)
	}
	exp := &expected{}
	if !d.DType.Info().Float {
		exp.ints = make([]uint64, elems)
		for i := range exp.ints {
			exp.ints[i] = d.foldInts(operands, i)
		}
		return exp
	}
	exp.value, exp.bound = make([]float64, elems), make([]float64, elems)
	x := make([]float64, len(operands))
	for i := range exp.value {
		for k := range operands {
			x[k] = d.DType.Float(operands[k], i)
		}
		exp.value[i], exp.bound[i] = foldFloats(d.DType, d.RedOp, x)
	}
	return exp
}

func (d *Data) foldInts(operands [][]byte, i int) uint64 {
	signed := d.DType.Info().Signed
	acc := d.DType.Int(operands[0], i)
	for _, buf := range operands[1:] {
		x := d.DType.Int(buf, i)
		less := x < acc
		if signed {
			less = int64(x) < int64(acc)
		}
		switch d.RedOp {
		case Sum, Avg:
			acc = wrap(d.DType, acc+x)
		case Prod:
			acc = wrap(d.DType, acc*x)
		case Min:
			if less {
				acc = x
			}
		case Max:
			if !less {
				acc = x
			}
		}
	}
	if d.RedOp != Avg {
		return acc
	}
	if signed {
		return uint64(int64(acc) / int64(len(operands)))
	}
	return acc / uint64(len(operands))
}

// foldFloats reduces x, and bounds by how much a result that was computed in
// the type, in whatever order, may differ. The bound is 0 where no order can
// round: sums of few bits, products of powers of two, min and max.
func foldFloats(t DType, op RedOp, x []float64) (value, bound float64) {
	switch op {
	case Min, Max:
		return extreme(op, x), 0
	case Prod:
		value, powers := 1.0, true
		for _, v := range x {
			value *= v
			m, _ := math.Frexp(v)
			powers = powers && math.Abs(m) == 0.5
		}
		if powers {
			return value, 0
		}
		return value, math.Abs(value) * (grown(t, len(x)-1) + float64(len(x))*0x1p-53)
	}
	value, size, exact := sum(t, x)
	if !exact {
		bound = size * (grown(t, len(x)-1) + 0x1p-53)
	}
	if op == Avg {
		return average(t, value, bound, exact, float64(len(x)))
	}
	return value, bound
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

// sum adds x with a compensation of what each addition lost, and the
// magnitudes. It is exact in any order if everything is a multiple of one power
// of two and the sum of magnitudes has no more bits than t.
func sum(t DType, x []float64) (value, size float64, exact bool) {
	low, lost := math.MaxInt, 0.0
	for _, v := range x {
		s := value + v
		if math.Abs(value) >= math.Abs(v) {
			lost += value - s + v
		} else {
			lost += v - s + value
		}
		value = s
		size += math.Abs(v)
		if v != 0 {
			low = min(low, lowest(v))
		}
	}
	value += lost
	info := t.Info()
	exact = size == 0 || low >= info.MinExp && size <= math.Ldexp(1, low+info.Mantissa)
	return value, size, exact
}

// lowest is the exponent of the last bit of v that is set; v is not 0.
func lowest(v float64) int {
	b := math.Float64bits(v)
	exp, frac := int(b>>52&0x7ff), b&(1<<52-1)
	if exp == 0 {
		return bits.TrailingZeros64(frac) - 1074
	}
	return exp - 1075 + bits.TrailingZeros64(frac|1<<52)
}

// average divides a sum, with the roundings of the type where the sum is exact.
func average(t DType, value, bound float64, exact bool, n float64) (float64, float64) {
	if exact {
		var buf [8]byte
		if t != F64 {
			t.PutFloat(buf[:], 0, float64(float32(value)/float32(n)))
			return t.Float(buf[:], 0), 0
		}
		return value / n, 0
	}
	info := t.Info()
	value, bound = value/n, bound/n
	return value, bound + (math.Abs(value)+bound)*grown(t, 1) + math.Ldexp(1, info.MinExp)
}

// extreme is the smallest or largest of x, or NaN where there is one.
func extreme(op RedOp, x []float64) float64 {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	if op == Min {
		return slices.Min(x)
	}
	return slices.Max(x)
}
