// This file is kernels/rows/abi.h in Go, field by field, and makes the rows of a launch.

package abi

import (
	"cmp"
	"fmt"
	"math"
	"structs"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/ir/epilogue"
)

// A RowStage is one stage of an epilogue. Type is the data.DType of the output if the stage is Quantise or Cast. Block
// is the elements that share a scale, 0 for a row's. Value is eps or the factor.
type RowStage struct {
	_                    structs.HostLayout
	Kind, Function, Type uint8
	_                    uint8
	Block                uint32
	Value                float64
}

// A RowMemory holds the addresses of what the stages of one rank read and write, by stage; 0 where there is nothing.
type RowMemory struct {
	_             structs.HostLayout
	First, Second [epilogue.MostStages]uint64
}

// Rows is what a launch of a program with an epilogue has beside OneParams. NewRows sets all but the memory. Ranks is
// the address of a RowMemory for each rank; if it is 0, Rank is that of FirstRank, and other ranks' is not reached.
type Rows struct {
	_                      structs.HostLayout
	Length, Stages         uint32
	OutputType, OutputSize uint32
	ScalesOfRow, FirstRank uint32
	Ranks                  uint64
	Stage                  [epilogue.MostStages]RowStage
	Rank                   RowMemory
}

// A RowsLaunch is one launch of a program with an epilogue.
type RowsLaunch struct {
	_    structs.HostLayout
	One  OneParams
	Rows Rows
}

// MostRow bounds the elements of a row.
const MostRow = 1 << 24

// FinishesRows reports whether kernels finish rows of sums of a type.
func FinishesRows(t data.DType) bool { return t == data.F16 || t == data.BF16 || t == data.F32 }

// CheckSums refuses a type of whose sums no kernel finishes rows.
func CheckSums(t data.DType) error {
	if !FinishesRows(t) {
		return fmt.Errorf("an epilogue takes sums of f16, bf16 or f32, and not of %v", t)
	}
	return nil
}

// NewRows returns the rows of a launch whose sums have the type t. values has a number for each stage: eps, the factor,
// or 0.
func NewRows(l epilogue.List, t data.DType, length int, values []float64) (r Rows, err error) {
	if err := cmp.Or(l.Check(), CheckSums(t)); err != nil {
		return r, err
	}
	switch {
	case length < 1 || length > MostRow:
		return r, fmt.Errorf("a row of %d elements is out of range: it has 1 to %d", length, MostRow)
	case len(values) != len(l):
		return r, fmt.Errorf("%d stages have %d values", len(l), len(values))
	}
	out := t
	for i, s := range l {
		if v := values[i]; math.IsNaN(v) || math.IsInf(v, 0) || s.Row().Value == "eps" && v < 0 {
			return r, fmt.Errorf("%s of %s is %v", s.Row().Value, s.Row().Name, v)
		}
		r.Stage[i] = RowStage{Kind: uint8(s.Kind), Function: uint8(s.Fn), Block: uint32(s.Block), Value: values[i]}
		if end := s.TypeOf(); end != nil {
			var ok bool
			if out, ok = data.DTypeByName(end.Name); !ok || out.Size() != end.Bytes {
				return r, fmt.Errorf("there is no element type %s", end.Name)
			}
			r.Stage[i].Type = uint8(out)
		}
	}
	r.Length, r.Stages, r.ScalesOfRow = uint32(length), uint32(len(l)), uint32(l.Scales(length))
	r.OutputType, r.OutputSize = uint32(out), uint32(out.Size())
	return r, nil
}

// RowBytes returns the bytes of a row of sums of type t.
func RowBytes(t data.DType, length int) int64 { return int64(t.Size()) * int64(length) }

// RowParams is Params of a call whose elements are rows: geo counts rows, each of `length` elements. Shares and tiles
// are whole rows. Memory is for tiles of a row at least, or it fails.
func (o *OneImage) RowParams(geo data.Geometry, t data.DType, op data.RedOp, length, replicas int,
	tile int64) (OneParams, error) {
	row := RowBytes(t, length)
	if row < 1 || o.Tile < row {
		return OneParams{}, fmt.Errorf("a row has %d bytes, and there is memory for tile iterations of %d", row, o.Tile)
	}
	return o.params(geo, t, op, replicas, tile, uint64(row))
}

// RowTile returns the bytes of a tile that memory is to be made for, where it is for `tile` bytes or a row of `row`
// bytes, whichever is longer.
func RowTile(tile, row int64) (int64, error) {
	if row < 1 || row > limits.Tile {
		return 0, fmt.Errorf("a row of %d bytes is out of range: it has 1 to %d", row, limits.Tile)
	}
	return max(tile, row, limits.TileAlign), nil
}

// EnoughRows is Enough of a chunk of a number of rows, of `row` bytes each.
func (o *OneImage) EnoughRows(replicas int, rows, row int64) int {
	if !o.OnePass || row < 1 || o.Tile < row {
		return replicas
	}
	pass := o.Tile / row
	return int(max(int64(replicas), min(int64(o.Replicas), (rows+pass-1)/pass)))
}

// Operand returns how many bytes an operand of a stage has for `rows` rows of an output, and those of an element of it,
// to which it is aligned. t is the type of the sums.
func (r *Rows) Operand(is epilogue.Operand, rows int64, t data.DType) (bytes, size int64) {
	size = int64(t.Size())
	switch is {
	case epilogue.Vector:
		return int64(r.Length) * size, size
	case epilogue.Rows:
		return rows * int64(r.Length) * size, size
	case epilogue.Scales:
		return rows * int64(r.ScalesOfRow) * 4, 4
	}
	return 0, size
}
