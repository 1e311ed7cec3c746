package data

import (
	"math"
	"testing"

	"mscclc/ir"
)

// TestSettled compares what the checker wants of floats, and how sure it is, with what NCCL's kernels give.
func TestSettled(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		t     DType
		op    RedOp
		x     []float64
		want  float64
		loose bool // any result is right
	}{
		{F16, Avg, []float64{60000, 60000, 60000}, 60000, false},
		{F16, Avg, []float64{65504, 65504, 65504, 65504, 65504}, 65504, false},
		{F16, Avg, []float64{0x1p-24, 0, 0, 0}, 0x1p-26, false},
		{F32, Avg, []float64{math.MaxFloat32, math.MaxFloat32}, math.MaxFloat32, false},
		{F64, Avg, []float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}, 0x1.ffffffffffffep1023, false},
		{F32, Avg, []float64{inf, 1}, inf, false},
		{F32, Avg, []float64{inf, -inf}, nan, false},
		{E4M3, Avg, []float64{448, 448, 448}, 448, false},
		{E5M2, Avg, []float64{inf, inf}, 57344, false},
		{F16, Sum, []float64{60000, 60000}, inf, false},
		{F16, Sum, []float64{-60000, -60000, -1}, -inf, false},
		{F16, Sum, []float64{60000, 60000, -60000}, 60000, true}, // infinite, if the first two are added first
		{F64, Sum, []float64{math.MaxFloat64, math.MaxFloat64}, inf, false},
		{F64, Sum, []float64{math.MaxFloat64, 0x1p-1074}, math.MaxFloat64, true}, // an error of rounding makes it infinite
		{E4M3, Sum, []float64{448, 448}, 448, false},
		{F32, Sum, []float64{nan, 1}, nan, false},
		{F32, Sum, []float64{inf, -1}, inf, false},
		{F32, Prod, []float64{math.MaxFloat32, math.MaxFloat32}, inf, false},
		{F32, Prod, []float64{math.MaxFloat32, math.MaxFloat32, 0}, 0, true},
		{F32, Prod, []float64{inf, 0}, nan, false},
		{F32, Min, []float64{nan, 1}, 1, false},
		{F32, Max, []float64{1, nan, 2}, 2, false},
		{BF16, Max, []float64{nan, nan}, nan, false},
		{F16, Max, []float64{nan, -inf}, -inf, false},
	} {
		operands := make([][]byte, len(c.x))
		for i, v := range c.x {
			operands[i] = make([]byte, c.t.Size())
			c.t.PutFloat(operands[i], 0, v)
			if c.t == E5M2 && math.IsInf(v, 1) {
				operands[i][0] = 0x7c
			}
		}
		want := *newRun(c.t)
		want = want.part(0, 1)
		newFold(c.t, c.op, len(c.x)).run(operands, 0, want)
		if got, bound := want.value[0], want.bound[0]; !near(got, c.want, 2*bound) || math.IsInf(bound, 1) != c.loose {
			t.Errorf("%v %v of %v is %v ± %v, want %v", c.t, c.op, c.x, got, bound, c.want)
		}
	}
}

// TestNewEdges has edges of all types among the elements.
func TestNewEdges(t *testing.T) {
	coll := &ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 1}
	for dt := range NumDTypes {
		b := NewEdges(NewGeometry(coll, 5000, dt.Size()), dt, Sum, 1)
		seen := map[string]int{}
		for i := range 5000 {
			seen[string(b.Initial(0)[i*dt.Size():(i+1)*dt.Size()])]++
		}
		want := len(newEdge(dt).floats) + len(newEdge(dt).ints)
		if len(seen) < want-3 { // PutFloat makes no infinities of fp8, and its smallest numbers are few
			t.Errorf("%v: %d elements that differ, want about %d", dt, len(seen), want)
		}
	}
}
