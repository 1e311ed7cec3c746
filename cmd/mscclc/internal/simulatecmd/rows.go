package simulatecmd

import (
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/ir/either"
	"mscclc/simulate"
)

// wholeRows has a call be of whole rows, if --row says how long they are. A call of less than a row stays as it is.
func (f *Flags) wholeRows(p *either.Program, call *simulate.Call) error {
	if f.row == 0 {
		return nil
	}
	if err := sizing.RowFits(p, f.row); err != nil {
		return err
	}
	m := sizing.Measure{Coll: p.Coll, DType: call.DType, Unit: int64(f.row)}
	if n := m.Elems(call.Bytes); n > 0 {
		call.Bytes = sizing.CallBytes(p.Coll, n, call.DType)
	}
	return nil
}
