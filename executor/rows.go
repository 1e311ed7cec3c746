package executor

import (
	"errors"
	"fmt"
	"unsafe"

	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/ir/epilogue"
)

// RowArgs are what a call of a program with an epilogue (ir.Header.Then) gives the stages. Args.Elems then counts the
// rows of a piece, and DType is that of the sums. An input has as many bytes as its rows of sums, and an output as its
// finished rows.
type RowArgs struct {
	Length int         // elements of a row
	Values []float64   // by stage: eps or the factor, and 0 for a stage that has no value
	Ranks  []RowMemory // by rank
}

// RowMemory is what the stages of one rank read and write, by stage; nil where a stage has no such operand. A vector
// has Length elements of DType. First of epilogue.Residual has as many rows of DType as the rank's output, and so has
// Second, which gets the updated residual and may be First. Second of epilogue.Quantise gets the scales, f32, of all
// rows of the output. No two ranks may write the same memory.
type RowMemory struct {
	First, Second [][]byte
}

// DataRows returns the Args of a call on d's memory, with all that DataArgs sets, and its rows.
func DataRows(d *data.Rows) Args {
	args := DataArgs(d.Buffers)
	args.Elems, args.Rows = d.RowGeo.Elems, &RowArgs{Length: d.Length, Values: d.Values}
	for rank := range d.RowGeo.Coll.Ranks {
		first, second := d.Operands(rank)
		args.Rows.Ranks = append(args.Rows.Ranks, RowMemory{first, second})
	}
	return args
}

// A RowDevice is a Device that runs programs with an epilogue.
type RowDevice interface {
	Device
	// TakesRows reports whether it does.
	TakesRows() bool
}

// CheckThen reports why p has an epilogue that a device cannot run; it is nil where p has none.
func (c *Checked) CheckThen(d Device) error {
	if rows, ok := d.(RowDevice); len(c.Image.Program.Then) > 0 && (!ok || !rows.TakesRows()) {
		return fmt.Errorf("a program with an epilogue: %w", ErrNotSupported)
	}
	return nil
}

// NewRows is abi.NewRows, and a type that no kernel takes is ErrNotSupported.
func NewRows(then epilogue.List, t data.DType, length int, values []float64) (abi.Rows, error) {
	if err := abi.CheckSums(t); err != nil {
		return abi.Rows{}, fmt.Errorf("%w: %w", err, ErrNotSupported)
	}
	return abi.NewRows(then, t, length, values)
}

// rows checks what args say of rows: nothing, or what the program's epilogue needs.
func (c *Checked) rows(args *Args) (*abi.Rows, error) {
	then := c.Image.Program.Then
	switch {
	case len(then) == 0 && args.Rows == nil:
		return nil, nil
	case len(then) == 0:
		return nil, errors.New("the program has no epilogue, and the call has Rows")
	case args.Rows == nil:
		return nil, fmt.Errorf("the program has the epilogue %v: the call must say its rows (Args.Rows)", then)
	case args.RedOp != data.Sum:
		return nil, fmt.Errorf("the reduction %v of a program with an epilogue: %w", args.RedOp, ErrNotSupported)
	case args.Watch != nil:
		return nil, fmt.Errorf("a launch with an epilogue cannot be watched: %w", ErrNotSupported)
	}
	rows, err := NewRows(then, args.DType, args.Rows.Length, args.Rows.Values)
	return &rows, err
}

// unit returns the bytes of an element of the launch: a row, or an element.
func unit(args *Args) int64 {
	if args.Rows != nil {
		return abi.RowBytes(args.DType, args.Rows.Length)
	}
	return int64(args.DType.Size())
}

// rowMemory checks what the stages of a call read and write. geo counts rows.
func rowMemory(then epilogue.List, rows *abi.Rows, geo data.Geometry, args *Args) error {
	if len(args.Rows.Ranks) != geo.Coll.Ranks {
		return fmt.Errorf("rows have the memory of %d ranks, of %d", len(args.Rows.Ranks), geo.Coll.Ranks)
	}
	for rank, m := range args.Rows.Ranks {
		for _, list := range [][][]byte{m.First, m.Second} {
			if len(list) > 0 && len(list) != len(then) {
				return fmt.Errorf("rows of rank %d have the memory of %d stages, of %d", rank, len(list), len(then))
			}
		}
		_, out, _, _, _ := geo.Buffers(rank)
		for i, s := range then {
			first, second := s.Row().Reads, s.Row().Second()
			if err := errors.Join(operand(then, i, "first", first, stage(m.First, i), rank, out, rows, args),
				operand(then, i, "second", second, stage(m.Second, i), rank, out, rows, args)); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage returns the memory of stage i, nil where there is none.
func stage(list [][]byte, i int) []byte {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// operand checks one operand of stage i, for an output of `out` rows.
func operand(then epilogue.List, i int, what string, is epilogue.Operand, buf []byte, rank int, out int64,
	rows *abi.Rows, args *Args) error {
	want, size := rows.Operand(is, out, args.DType)
	name := fmt.Sprintf("the %s operand of %s of rank %d", what, then[i].Row().Name, rank)
	switch {
	case int64(len(buf)) != want:
		return fmt.Errorf("%s has %d bytes, of %d", name, len(buf), want)
	case uintptr(unsafe.Pointer(unsafe.SliceData(buf)))%uintptr(size) != 0 && len(buf) > 0:
		return fmt.Errorf("%s is not aligned to its elements", name)
	}
	return nil
}

// room sees to memory for tile iterations of a row at least: a loaded program does not know how long rows are.
func (l *Loaded) room(args *Args) error {
	one := l.of.Image.One
	if args.Rows == nil || one == nil || one.Tile >= unit(args) {
		return nil
	}
	tile, err := abi.RowTile(one.Tile, unit(args))
	if err != nil {
		return diag.List{diag.New(diag.Limit, diag.Span{}, "%v", err)}
	}
	return l.reopen(one.Replicas, tile)
}
