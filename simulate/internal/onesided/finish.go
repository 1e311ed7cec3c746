package onesided

import "mscclc/ir"

// A finishing is what the epilogue of a program takes beside the sums.
type finishing struct {
	bytes   float64 // that the GPU's memory reads and writes, for each byte of a row
	handled float64 // that the block's threads read or write, for each byte of a row

	// Of a step, the first row's begin, and block reductions: blocks have other rows under way in it. Of a launch of few
	// packets, each row of a block takes that long, one after the other, and operands of stages are loaded before.
	time float64
}

// finishing returns what p's epilogue takes.
func (o *Blocks) finishing() (f finishing) {
	if len(o.program.Then) == 0 {
		return f
	}
	f.time = o.Costs.OneSided.Finish
	if o.few {
		f.time = o.Costs.OneSided.FewFinish
	}
	for _, s := range o.program.Then {
		f.bytes += s.Row().RowBytes
		if !o.few {
			f.handled += s.Row().RowBytes + s.Row().VectorBytes
		}
		f.time += float64(float64(s.Row().BlockBarriers) * o.Costs.OneSided.Row)
	}
	return f
}

// finishes reports whether s makes finished rows of raw ones.
func (o *Blocks) finishes(s *ir.Step) bool {
	if len(o.program.Then) == 0 || o.program.Operands[s.Src].Buf == ir.Output {
		return false
	}
	for k := s.Dst; k < s.Dst+int32(s.NDst); k++ {
		if o.program.Operands[k].Buf == ir.Output {
			return true
		}
	}
	return false
}
