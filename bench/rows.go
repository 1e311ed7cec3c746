package bench

import (
	"mscclc/executor"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/ir/epilogue"
)

// This file has calls of programs with an epilogue. Their data is on the host first, which also checks it.

// Rows are those of the calls of a program with an epilogue.
type Rows struct {
	Length int // elements
	Then   epilogue.List
}

// unit returns the bytes of what a tile has whole: of a row, or of an element.
func (c *Call) unit() int64 {
	if c.Rows != nil {
		return abi.RowBytes(c.DType, c.Rows.Length)
	}
	return int64(c.DType.Size())
}

// newRows makes the data of a call with Rows, of some ranks.
func (c *Call) newRows(ranks []int) (*data.Rows, error) {
	values := make([]float64, len(c.Rows.Then)) // of any kind
	if _, err := executor.NewRows(c.Rows.Then, c.DType, c.Rows.Length, values); err != nil {
		return nil, err
	}
	geo := data.NewGeometry(c.Coll, c.Elems/int64(c.Rows.Length), int(c.unit()))
	return data.NewRowsFor(ranks, geo, c.Rows.Then, c.Rows.Length, c.DType, seedOf(First)), nil
}

// seedOf returns the seed of the data of a round.
func seedOf(r Round) uint64 { return 1 + uint64(r) }

// place gives rows the data of a round, as Site.Place says.
func (r Round) place(rows *data.Rows) {
	rows.Renew(seedOf(r))
	if r == First {
		rows.Reset()
	}
}

// foundIn returns what a check of rows found.
func foundIn(rep data.Report) Found {
	return Found{rep.Checked, rep.Wrong, int64(len(rep.Broken) + len(rep.Changed))}
}

// ranks returns the numbers of the ranks.
func (h *Host) ranks() (list []int) {
	for r := range h.buffer {
		list = append(list, r)
	}
	return list
}
