//go:build cgo

package cpu

import (
	"context"
	"math"
	"testing"

	"mscclc/executor"
	"mscclc/executor/data"
)

// An ncclFold reduces elements as NCCL's general kernels do (FuncPreMulSum and others in its reduce_kernel.h). An
// average multiplies each by 1/ranks as the type has it, and every operation is rounded to the type. Those of fp8 are
// done in f16, and saturate.
type ncclFold struct {
	t     data.DType
	op    data.RedOp
	ranks int
}

func (f *ncclFold) round(x float64, t data.DType) float64 {
	var buf [8]byte
	t.PutFloat(buf[:], 0, x)
	return t.Float(buf[:], 0)
}

// narrow rounds what one operation makes.
func (f *ncclFold) narrow(x float64) float64 {
	if f.t == data.E4M3 || f.t == data.E5M2 {
		x = f.round(x, data.F16)
	}
	return f.round(x, f.t)
}

func (f *ncclFold) of(x []float64) float64 {
	scaled := func(v float64) float64 {
		if f.op != data.Avg {
			return v
		}
		return f.narrow(v * f.round(1/float64(f.ranks), f.t))
	}
	acc := scaled(x[0])
	for _, v := range x[1:] {
		v = scaled(v)
		switch {
		case f.op == data.Prod:
			acc = f.narrow(acc * v)
		case f.op == data.Sum || f.op == data.Avg:
			acc = f.narrow(acc + v)
		case acc != acc:
			acc = v
		case v != v:
		case f.op == data.Min:
			acc = min(acc, v)
		default:
			acc = max(acc, v)
		}
	}
	return acc
}

// orders calls do with x in all orders until it returns true, and reports whether it did.
func orders(x []float64, n int, do func() bool) bool {
	if n == len(x) {
		return do()
	}
	for i := n; i < len(x); i++ {
		x[n], x[i] = x[i], x[n]
		done := orders(x, n+1, do)
		if x[n], x[i] = x[i], x[n]; done {
			return true
		}
	}
	return false
}

// likeNCCL reports whether got is what NCCL makes of x in some order: a number, infinite or NaN as NCCL's, and a number
// within a rounding for each rank and operation of it. Averages of numbers are numbers, though NCCL's may be infinite.
func likeNCCL(f *ncclFold, x []float64, got float64) bool {
	size, product, finite := 0.0, 1.0, true
	for _, v := range x {
		size += math.Abs(v)
		product *= max(1, math.Abs(v))
		finite = finite && v-v == 0
	}
	if f.op == data.Avg {
		size /= float64(len(x))
	}
	if f.op == data.Avg && finite && got-got != 0 {
		return false
	}
	info := f.t.Info()
	return orders(x, 0, func() bool {
		want := f.of(x)
		bound := 2 * float64(len(x)) * (math.Ldexp(max(size, math.Abs(want)), -info.Mantissa) + math.Ldexp(1, info.MinExp))
		switch f.op {
		case data.Prod:
			bound += 2 * float64(len(x)) * math.Ldexp(min(product, math.MaxFloat64), info.MinExp)
		case data.Min, data.Max:
			bound = 0
		case data.Avg:
			if finite && math.IsInf(want, 0) {
				return math.Abs(got) <= math.MaxFloat64 && math.Signbit(got) == math.Signbit(want)
			}
		}
		return got == want || got != got && want != want || math.Abs(got-want) <= bound
	})
}

// TestLikeNCCL compares reductions of numbers from the edges of each type with what NCCL makes of them.
func TestLikeNCCL(t *testing.T) {
	for ranks, l := range map[int]*executor.Loaded{2: load(t, ringAllReduce(2, true)), 3: load(t, allPairs(3, 1, true)),
		4: load(t, ringAllReduce(4, true)), 5: load(t, ringAllReduce(5, true))} {
		for dt := range data.NumDTypes {
			for op := range data.NumRedOps {
				if !dt.Info().Float {
					continue
				}
				b := data.NewEdges(data.NewGeometry(l.Program().Coll, 5000, dt.Size()), dt, op, uint64(ranks))
				if _, err := l.Run(context.Background(), executor.DataArgs(b)); err != nil {
					t.Fatal(err)
				}
				if rep := b.Check(); rep.Err() != nil {
					t.Errorf("%v %v of %d ranks: %v", dt, op, ranks, rep.Err())
				}
				f, x := &ncclFold{dt, op, ranks}, make([]float64, ranks)
				for i := range 5000 {
					for r := range x {
						x[r] = dt.Float(b.Initial(r), i)
					}
					if got := dt.Float(b.Output(0), i); !likeNCCL(f, x, got) {
						t.Fatalf("%v %v of %v is %v, and NCCL's is like %v", dt, op, x, got, f.of(x))
					}
				}
			}
		}
	}
}

// TestIntegerAverages compares averages of all types of integers with NCCL's: the sum wraps in the type, and the
// quotient drops its fraction.
func TestIntegerAverages(t *testing.T) {
	l := load(t, ringAllReduce(3, true))
	for _, c := range []struct {
		t    data.DType
		x    [3]uint64
		want uint64
	}{
		{data.I8, [3]uint64{127, 127, 1}, 0}, // the sum is 255, which is -1
		{data.I8, [3]uint64{0x80, 0, 0}, uint64(0xd6)},
		{data.I8, [3]uint64{0xff, 0xff, 0xfe}, 0xff}, // -4/3
		{data.U8, [3]uint64{255, 255, 2}, 0},
		{data.U8, [3]uint64{200, 20, 25}, 81},
		{data.I32, [3]uint64{1<<31 - 1, 1, 0}, uint64(0xd5555556)},
		{data.U32, [3]uint64{1<<32 - 1, 0, 0}, 0x55555555},
		{data.I64, [3]uint64{1 << 63, 1<<64 - 1, 0}, (1<<63 - 1) / 3},
		{data.U64, [3]uint64{1 << 63, 1 << 63, 7}, 2},
	} {
		in := make([][]byte, 3)
		for r := range in {
			in[r] = make([]byte, c.t.Size())
			for b := range in[r] {
				in[r][b] = byte(c.x[r] >> (8 * b))
			}
		}
		args := executor.Args{Input: in, DType: c.t, RedOp: data.Avg, Elems: 1}
		if _, err := l.Run(context.Background(), args); err != nil {
			t.Fatal(err)
		}
		for r := range in {
			got := uint64(0)
			for b := range in[r] {
				got |= uint64(in[r][b]) << (8 * b)
			}
			if got != c.want {
				t.Errorf("%v of %x at rank %d: %x, want %x", c.t, c.x, r, got, c.want)
			}
		}
	}
}
