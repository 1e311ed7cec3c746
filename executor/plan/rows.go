package plan

import (
	"errors"
	"fmt"

	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir/epilogue"
)

// This file is what calls of programs with an epilogue have of their own (ir/epilogue).

// RowArgs are what a call of a program with an epilogue gives the stages. CallArgs.Elems then counts the rows of a
// piece, and CallArgs.DType is that of the sums.
type RowArgs struct {
	Length int             // elements of a row
	Values []float64       // by stage: eps or the factor, and 0 for a stage that has no value
	Memory []abi.RowMemory // by the order of Plan.Ranks, as executor.RowMemory has it
}

// check checks what a call is, beside memory.
func (c *Call) check(args *CallArgs) (err error) {
	of := executor.Args{DType: args.DType, RedOp: args.RedOp, Elems: args.Elems}
	if args.Rows != nil {
		of.Rows = &executor.RowArgs{Length: args.Rows.Length, Values: args.Rows.Values}
	}
	c.geo, c.rows, err = c.plan.checked.Geometry(&of)
	if err == nil && c.rows != nil && (args.Trace != nil || args.Switch != nil) {
		err = fmt.Errorf("a call with an epilogue is neither traced nor goes through NVLink's switch: %w",
			executor.ErrNotSupported)
	}
	return err
}

// sizes returns the bytes of an element of a call's input and output, where an element may be a row.
func (c *Call) sizes() (in, out int64) {
	in, out = int64(c.dtype.Size()), int64(c.dtype.Size())
	if c.rows != nil {
		in, out = in*int64(c.rows.Length), int64(c.rows.OutputSize)*int64(c.rows.Length)
	}
	return in, out
}

// rowMemory checks the addresses that a call gives the stages.
func (c *Call) rowMemory(args *CallArgs, geo data.Geometry) error {
	p := c.plan
	if args.Rows == nil {
		return nil
	}
	if len(args.Rows.Memory) != len(p.ranks) {
		return fmt.Errorf("rows have the memory of %d ranks, of %d", len(args.Rows.Memory), len(p.ranks))
	}
	var errs []error
	for i, rank := range p.ranks {
		_, out, _, _, _ := geo.Buffers(rank)
		m := args.Rows.Memory[i]
		for k, s := range p.program().Then {
			errs = append(errs, c.operand(rank, s, "first", m.First[k], out, s.Row().Reads),
				c.operand(rank, s, "second", m.Second[k], out, s.Row().Second()))
		}
	}
	return errors.Join(errs...)
}

// operand checks an operand of a stage, for an output of `out` rows.
func (c *Call) operand(rank int, s epilogue.Stage, which string, address uint64, out int64, is epilogue.Operand) error {
	bytes, size := c.rows.Operand(is, out, c.dtype)
	name := fmt.Sprintf("the %s operand of %s of rank %d", which, s.Row().Name, rank)
	switch {
	case is == epilogue.Nothing && address == 0:
		return nil
	case is == epilogue.Nothing || address == 0 && bytes > 0:
		return fmt.Errorf("%s: whether there is memory is not as the stage has it", name)
	case address%uint64(size) != 0:
		return fmt.Errorf("%s is not aligned to its elements", name)
	}
	if err := c.plan.of[rank].gpu.Owns(address, bytes); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// tabled puts the memory of ranks into a launch, and what has no room there into the call's table. It returns the rows
// of a launch with an epilogue.
func (p *oneSided) tabled(c *Call, s *seat, args *CallArgs, params *abi.OneParams, memory []abi.OneMemory) (*abi.Rows,
	error) {
	var table []byte
	if len(memory) <= abi.OneRanks {
		copy(params.Rank[:], memory)
	} else {
		table = raw(memory)
	}
	first, several := uint64(len(table)), false
	var rows *abi.Rows
	if c.rows != nil {
		own := *c.rows
		rows = &own
		list := c.ranksOfRows(s, args, rows, p.rowTable(s))
		table, several = append(table, raw(list)...), list != nil
	}
	if len(table) == 0 {
		return rows, nil
	}
	at, err := c.table(s, table)
	if first > 0 {
		params.Ranks = at
	}
	if several {
		rows.Ranks = at + first
	}
	return rows, err
}
