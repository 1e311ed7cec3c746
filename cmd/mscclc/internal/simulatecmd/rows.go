package simulatecmd

import (
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/executor/abi"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/simulate"
)

// wholeRows has a call of a program with an epilogue be of whole rows. A call of less than a row stays as it is.
func (f *Flags) wholeRows(p *either.Program, call *simulate.Call) error {
	if err := sizing.RowFits(p, f.row); err != nil || f.row == 0 {
		return err
	}
	if err := abi.CheckSums(call.DType); err != nil {
		return diag.List{diag.New(diag.Unsupported, diag.Span{}, "%v", err)}
	}
	m := sizing.Measure{Coll: p.Coll, DType: call.DType, Unit: int64(f.row)}
	if n := m.Elems(call.Bytes); n > 0 {
		call.Bytes = sizing.CallBytes(p.Coll, n, call.DType)
	}
	return nil
}
