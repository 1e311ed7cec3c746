//go:build cgo

package cpu

import (
	"context"
	"math"
	"math/rand"
	"testing"

	"mscclc/executor"
	"mscclc/executor/data"
)

// operands fills one buffer a rank: with every pair of values in ranks 0 and 1
// where elements have one byte, else with random bits, among which are those of
// small and special numbers. The last ranks repeat the first, shifted.
func operands(dt data.DType, ranks int) [][]byte {
	const n = 1 << 16
	size := dt.Size()
	rnd := rand.New(rand.NewSource(int64(dt)))
	bufs := make([][]byte, ranks)
	for r := range bufs {
		bufs[r] = make([]byte, n*size)
		rnd.Read(bufs[r])
		for i := range n {
			if size == 1 && r < 2 {
				bufs[r][i] = byte(i >> (8 * r))
			}
			if size > 1 && rnd.Intn(4) == 0 { // exponents at both ends
				bufs[r][i*size+size-1] |= byte(0x7f * rnd.Intn(2))
				bufs[r][i*size+size-1] &= byte(0x80 | 0x7f*rnd.Intn(2))
			}
		}
	}
	return bufs
}

// largest are the largest numbers of the types.
var largest = map[data.DType]float64{data.F16: 65504, data.BF16: 0x1.fep127, data.F32: math.MaxFloat32,
	data.F64: math.MaxFloat64, data.E4M3: 448, data.E5M2: 57344}

// wantFloat returns the reduction of x in order, by the book: f32 for the types
// below it, one rounding at the end. An average scales each operand first.
func wantFloat(dt data.DType, op data.RedOp, x []float64) float64 {
	narrow := func(v float64) float64 {
		if dt == data.F64 {
			return v
		}
		return float64(float32(v))
	}
	scaled := func(v float64) float64 {
		if op != data.Avg {
			return v
		}
		if dt == data.E5M2 && math.IsInf(v, 0) {
			return math.Copysign(57344, v)
		}
		return narrow(v * narrow(1/float64(len(x))))
	}
	acc := scaled(x[0])
	for _, v := range x[1:] {
		switch op {
		case data.Sum:
			acc = narrow(acc + v)
		case data.Avg: // stays finite
			v = scaled(v)
			if sum := narrow(acc + v); math.IsInf(sum, 0) && !math.IsInf(acc, 0) && !math.IsInf(v, 0) {
				acc = math.Copysign(largest[dt], sum)
			} else {
				acc = sum
			}
		case data.Prod:
			acc = narrow(acc * v)
		case data.Min, data.Max:
			less := v < acc || v == acc && math.Signbit(v) && !math.Signbit(acc)
			switch {
			case v != v:
			case acc != acc:
				acc = v
			case less == (op == data.Min):
				acc = v
			}
		}
	}
	if op == data.Avg && !math.IsInf(acc, 0) {
		acc = max(-largest[dt], min(largest[dt], acc))
	}
	var buf [8]byte
	dt.PutFloat(buf[:], 0, acc)
	return dt.Float(buf[:], 0)
}

// TestFloats reduces every pair of fp8 values and many others, bit by bit: of
// two ranks, and of three by one chain that rounds once.
func TestFloats(t *testing.T) {
	two, three := ringAllReduce(2, true), allPairs(3, 1, true)
	l2, l3 := load(t, two), load(t, three)
	for dt := range data.NumDTypes {
		if !dt.Info().Float {
			continue
		}
		for op := range data.NumRedOps {
			for ranks, l := range map[int]*executor.Loaded{2: l2, 3: l3} {
				in, got := operands(dt, ranks), operands(dt, ranks)
				n := len(in[0]) / dt.Size()
				if _, err := l.Run(context.Background(),
					executor.Args{Input: got, DType: dt, RedOp: op, Elems: int64(n)}); err != nil {
					t.Fatal(err)
				}
				third := (n + ranks - 1) / ranks
				if third*dt.Size() >= 1024 { // as Geometry rounds chunks
					third = (third*dt.Size() + 15) &^ 15 / dt.Size()
				}
				for i := range n {
					x, first := make([]float64, ranks), i/third
					for k := range x {
						x[k] = dt.Float(in[(first+k)%ranks], i)
					}
					want := wantFloat(dt, op, x)
					for r := range got {
						g := dt.Float(got[r], i)
						if same := math.Float64bits(g) == math.Float64bits(want); !same && (g == g || want == want) {
							t.Fatalf("%s %s of %v is %v at rank %d, not %v", dt, op, x, g, r, want)
						}
					}
				}
			}
		}
	}
}
