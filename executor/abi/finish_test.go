package abi

import (
	"math"
	"math/rand"
	"testing"

	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/epilogue"
)

// TestNewRows: a list becomes the numbers of a launch, and what no kernel can do is refused.
func TestNewRows(t *testing.T) {
	list, err := epilogue.Parse("residual, rms_norm(eps), activation(silu), quantise(e5m2, block = 3)")
	if err != nil {
		t.Fatal(err)
	}
	values := []float64{0, 1e-6, 0, 0}
	r, err := NewRows(list, data.BF16, 10, values)
	if err != nil {
		t.Fatal(err)
	}
	if r.Length != 10 || r.Stages != 4 || r.OutputType != uint32(data.E5M2) || r.OutputSize != 1 || r.ScalesOfRow != 4 ||
		r.Stage[1] != (RowStage{Kind: uint8(epilogue.RMSNorm), Value: 1e-6}) ||
		r.Stage[2] != (RowStage{Kind: uint8(epilogue.Activation), Function: uint8(epilogue.Silu)}) ||
		r.Stage[3] != (RowStage{Kind: uint8(epilogue.Quantise), Type: uint8(data.E5M2), Block: 3}) {
		t.Errorf("rows are %+v", r)
	}
	for _, bad := range []struct {
		l      epilogue.List
		t      data.DType
		length int
		values []float64
	}{
		{list, data.F64, 10, values}, {list, data.I32, 10, values}, {list, data.F16, 0, values},
		{list, data.F16, MostRow + 1, values}, {list, data.F16, 10, values[:3]},
		{list, data.F16, 10, []float64{0, -1, 0, 0}}, {list, data.F16, 10, []float64{0, math.NaN(), 0, 0}},
		{epilogue.List{{Kind: epilogue.Scale}}, data.F16, 10, []float64{math.Inf(1)}},
		{epilogue.List{{Kind: epilogue.NumKinds}}, data.F16, 10, []float64{0}},
	} {
		if _, err := NewRows(bad.l, bad.t, bad.length, bad.values); err == nil {
			t.Errorf("%v of rows of %d %v with %v is taken", bad.l, bad.length, bad.t, bad.values)
		}
	}
}

// TestRowParams: shares and tiles are whole rows, replicas and passes cover every chunk, and a tile fits its memory.
func TestRowParams(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	for range 20000 {
		o := &OneImage{Depth: 1 + rnd.Intn(3), Scratch: 1, Packets: 1, OnePass: rnd.Intn(3) == 0}
		dtype := []data.DType{data.F16, data.BF16, data.F32}[rnd.Intn(3)]
		length := 1 + rnd.Intn(1<<rnd.Intn(12))
		row := RowBytes(dtype, length)
		tile, err := RowTile(int64(16+rnd.Intn(1<<rnd.Intn(16))), row)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Reserve(1+rnd.Intn(64), tile); err != nil {
			t.Fatal(err)
		}
		coll := &ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 1 + rnd.Intn(5)}
		geo := data.NewGeometry(coll, int64(rnd.Intn(1<<rnd.Intn(12))), int(row))
		replicas := o.EnoughRows(1+rnd.Intn(o.Replicas), geo.Chunk, row)
		p, err := o.RowParams(geo, dtype, data.Sum, length, replicas, int64(1+rnd.Intn(1<<16)))
		if err != nil {
			if o.OnePass && replicas == o.Replicas {
				continue // the chunk is too long
			}
			t.Fatal(err)
		}
		chunk, each := uint64(geo.Chunk)*uint64(row), uint64(row)
		if p.Share == 0 || p.Share%each != 0 || p.Tile == 0 || p.Tile%each != 0 || p.Tile > uint64(o.Tile) ||
			p.Share*uint64(replicas) < chunk || p.Passes*p.Tile < min(p.Share, chunk) || uint64(p.ElemSize) != each ||
			p.ScratchStride < p.Tile || p.PacketStride < 2*p.Tile || o.OnePass && p.Passes > 1 {
			t.Fatalf("%d rows of %d bytes in %d replicas: %+v", geo.Chunk, row, replicas, p)
		}
	}
	o := &OneImage{Depth: 1}
	if err := o.Reserve(1, 1024); err != nil {
		t.Fatal(err)
	}
	geo := data.NewGeometry(&ir.Collective{Kind: ir.AllReduce, Ranks: 2, Chunks: 1}, 1, 1026)
	if _, err := o.RowParams(geo, data.F16, data.Sum, 513, 1, 1024); err == nil {
		t.Error("a row longer than the memory of a tile is taken")
	}
}
