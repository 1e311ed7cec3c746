package epilogue

import "math"

// A Call is what a call gives one stage, for the row at hand, in f64.
type Call struct {
	Value        float64   // eps or the factor
	Reads, Wants []float64 // the operands that the stage reads
}

// A Result is what becomes of a row.
type Result struct {
	Row     []float64 // before it is rounded to the type of the output
	Updated []float64 // the updated residual, nil without Residual
	Scales  []float64 // nil without Quantise
}

// Apply computes the meaning of l for one row of a complete sum, of which call has what each stage is given. It changes
// no argument.
func (l List) Apply(sum []float64, call []Call) (r Result) {
	r.Row = append([]float64(nil), sum...)
	for i, s := range l {
		c, row := &call[i], r.Row
		switch s.Kind {
		case Scale:
			for k := range row {
				row[k] *= c.Value
			}
		case Bias:
			add(row, c.Reads)
		case Residual:
			add(row, c.Reads)
			r.Updated = append([]float64(nil), row...)
		case RMSNorm:
			by := 1 / math.Sqrt(meanSquare(row, 0)+c.Value)
			for k := range row {
				row[k] *= by * c.Reads[k]
			}
		case LayerNorm:
			mean := 0.0
			for _, x := range row {
				mean += x / float64(len(row))
			}
			by := 1 / math.Sqrt(meanSquare(row, mean)+c.Value)
			for k := range row {
				row[k] = (row[k]-mean)*by*c.Reads[k] + c.Wants[k]
			}
		case Activation:
			for k := range row {
				row[k] = s.Fn.Of(row[k])
			}
		case Quantise:
			r.Scales = quantise(row, s)
		}
	}
	return r
}

func add(row, by []float64) {
	for k := range row {
		row[k] += by[k]
	}
}

// meanSquare returns the mean of the squares of what lies between the elements and `from`.
func meanSquare(row []float64, from float64) (mean float64) {
	for _, x := range row {
		mean += (x - from) * (x - from) / float64(len(row))
	}
	return mean
}

// quantise divides the blocks of row by their scales, which it returns. A block of zeros has the scale 1.
func quantise(row []float64, s Stage) (scales []float64) {
	block := s.Block
	if block == 0 {
		block = len(row)
	}
	for first := 0; first < len(row); first += block {
		part := row[first:min(first+block, len(row))]
		largest := 0.0
		for _, x := range part {
			largest = math.Max(largest, math.Abs(x))
		}
		scale := largest / s.TypeOf().Largest
		if largest == 0 {
			scale = 1
		}
		for k := range part {
			part[k] /= scale
		}
		scales = append(scales, scale)
	}
	return scales
}

// Of applies f.
func (f Function) Of(x float64) float64 {
	switch f {
	case Gelu:
		return 0.5 * x * (1 + math.Erf(x/math.Sqrt2))
	case Silu:
		return x / (1 + math.Exp(-x))
	}
	return math.Max(x, 0)
}
