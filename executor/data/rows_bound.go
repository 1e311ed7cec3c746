package data

import (
	"fmt"
	"math"

	"mscclc/ir/epilogue"
)

// This file bounds by how much a finished row may differ from its meaning, which epilogue.List.Apply computes in f64.
// Kernels compute in f32, in any order, and round each result once. So the bound of a sum that goes in grows stage by
// stage by the roundings of f32: of a sum of n elements by n of them, as in any f32 kernel, such as PyTorch's. What
// comes out may differ by that, and by half a unit of the last place of its type.

// A bounded is a number from which a result may differ by a bound, before it is rounded.
type bounded struct{ value, bound float64 }

// A rowWant is what must become of a row.
type rowWant struct {
	row, updated, scales []bounded
}

// unit32 is two roundings to f32, relatively.
const unit32 = 0x1p-23

// newRowWant computes what must become of a sum.
func newRowWant(d *Rows, sum expected, calls []epilogue.Call) *rowWant {
	is := d.Then.Apply(sum.value, calls)
	w, x := &rowWant{}, make([]bounded, d.Length)
	for k := range x {
		x[k] = bounded{sum.value[k], sum.bound[k]}
	}
	var scales []float64 // the bounds of scales
	for i, s := range d.Then {
		switch c := &calls[i]; s.Kind {
		case epilogue.Scale:
			for k := range x {
				x[k] = bounded{x[k].value * c.Value, (x[k].bound + x[k].most()*unit32) * math.Abs(c.Value)}
			}
		case epilogue.Bias, epilogue.Residual:
			plus(x, c.Reads)
			if s.Kind == epilogue.Residual {
				w.updated = bounds(is.Updated, x)
			}
		case epilogue.RMSNorm:
			normalised(x, c.Value, c.Reads)
		case epilogue.LayerNorm:
			centred(x)
			normalised(x, c.Value, c.Reads)
			plus(x, c.Wants)
		case epilogue.Activation:
			activated(x, s.Fn)
		case epilogue.Quantise:
			scales = quantised(x, s)
		}
	}
	w.row = bounds(is.Row, x)
	for k, v := range is.Scales {
		w.scales = append(w.scales, bounded{v, scales[k]})
	}
	return w
}

// bounds returns values, which Apply has computed, with the bounds of x.
func bounds(values []float64, x []bounded) []bounded {
	list := make([]bounded, len(values))
	for k, v := range values {
		list[k] = bounded{v, x[k].bound}
	}
	return list
}

// most is the largest magnitude that the number may have.
func (b bounded) most() float64 { return math.Abs(b.value) + b.bound }

func plus(x []bounded, by []float64) {
	for k := range x {
		x[k].value += by[k]
		x[k].bound += x[k].most() * unit32
	}
}

// centred subtracts the mean.
func centred(x []bounded) {
	n := float64(len(x))
	mean := bounded{}
	for _, v := range x {
		mean.value += v.value / n
		mean.bound += (v.bound + v.most()*n*unit32) / n
	}
	for k := range x {
		x[k].value -= mean.value
		x[k].bound += mean.bound
		x[k].bound += x[k].most() * unit32
	}
}

// normalised divides by the root of the mean square plus eps, and multiplies by weights.
func normalised(x []bounded, eps float64, weights []float64) {
	n := float64(len(x))
	square := bounded{value: eps, bound: eps * unit32}
	for _, v := range x {
		square.value += v.value * v.value / n
		square.bound += (v.most()*v.most() - v.value*v.value + v.most()*v.most()*(n+2)*unit32) / n
	}
	by := bounded{1 / math.Sqrt(square.value), anything}
	if least := square.value - square.bound; least > 0 {
		by.bound = 1/math.Sqrt(least) - by.value + 4*unit32*by.value
	}
	for k := range x {
		product := bounded{x[k].value * by.value, 0}
		product.bound = x[k].most()*by.most()*(1+2*unit32) - math.Abs(product.value)
		x[k] = bounded{product.value * weights[k], product.bound * math.Abs(weights[k])}
	}
}

// activated applies a function. No function is steeper than 1.13. The kernel's is within some units of the last place
// of its argument.
func activated(x []bounded, f epilogue.Function) {
	for k := range x {
		x[k] = bounded{f.Of(x[k].value), 1.13*x[k].bound + x[k].most()*8*unit32 + 0x1p-126}
	}
}

// quantised divides blocks by their scales, whose bounds it returns.
func quantised(x []bounded, s epilogue.Stage) (scales []float64) {
	block := s.Block
	if block == 0 {
		block = len(x)
	}
	top := s.TypeOf().Largest
	for first := 0; first < len(x); first += block {
		part := x[first:min(first+block, len(x))]
		largest := bounded{}
		for _, v := range part {
			largest.value, largest.bound = max(largest.value, math.Abs(v.value)), max(largest.bound, v.bound)
		}
		scale := bounded{largest.value / top, largest.bound/top + largest.value/top*unit32}
		switch {
		case largest.value == 0 && largest.bound == 0:
			scale = bounded{1, 0}
		case scale.value-scale.bound < 0x1p-125: // that of a block of zeros is 1
			scale.bound = anything
		}
		for k, v := range part {
			part[k] = bounded{v.value / scale.value, anything}
			if least := scale.value - scale.bound; least > 0 {
				part[k].bound = v.most()/least*(1+unit32) - math.Abs(part[k].value)
			}
		}
		scales = append(scales, scale.bound)
	}
	return scales
}

// holds reports whether got, of type t, may be the result.
func (b bounded) holds(got float64, t DType) bool {
	switch {
	case b.bound != b.bound: // anything times 0
		return true
	case near(got, b.value, b.bound):
		return true
	case t == I8:
		return near(got, b.value, b.bound+0.5)
	case b.most() == 0:
		return false
	case t == F16 && b.most() >= largest(F16) && math.IsInf(got, 0):
		return got > 0 == (b.value > 0)
	}
	_, exp := math.Frexp(b.most())
	last := max(exp-t.Info().Mantissa, t.Info().MinExp) // the exponent of the last place
	return near(got, b.value, b.bound+math.Ldexp(0.5, last))
}

func (b bounded) String() string { return fmt.Sprintf("%v ± %g", b.value, b.bound) }
