package data

import (
	"testing"

	"mscclc/ir"
)

// BenchmarkData makes the buffers of an allreduce of 4 ranks, and compares its results; bytes are those of
// all ranks' inputs.
func BenchmarkData(b *testing.B) {
	c := &ir.Collective{Kind: ir.AllReduce, Ranks: 4, Chunks: 4}
	for _, x := range []struct {
		dt DType
		op RedOp
	}{{I32, Sum}, {I8, Sum}, {F32, Sum}, {F32, Max}, {F32, Prod}, {F32, Avg}, {F16, Sum}, {BF16, Sum}, {E4M3, Sum},
		{F64, Sum}} {
		geo := NewGeometry(c, 1000003, x.dt.Size())
		bytes := int64(c.Ranks) * geo.Elems * int64(x.dt.Size())
		name := x.dt.String() + "/" + x.op.String()
		b.Run("New/"+name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				New(geo, x.dt, x.op, 1)
			}
		})
		d := New(geo, x.dt, x.op, 1)
		direct(d)
		b.Run("Check/"+name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				if rep := d.Check(); rep.Err() != nil {
					b.Fatal(rep.Err())
				}
			}
		})
		b.Run("Reset/"+name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				d.Reset()
			}
		})
	}
}
