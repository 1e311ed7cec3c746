package mscclpp

import (
	"slices"

	"mscclc/ir"
)

// row finds the operation that does o, and o with its operands as that has them: MSCCL++ has puts of pairs where ir
// also has a copy with several destinations, and copies of one where ir also has a list of pairs.
func (x *maker) row(o *ir.ChannelOp) (*opRow, *ir.ChannelOp) {
	if row := x.exactRow(o); row != nil {
		return row, o
	}
	n := *o
	switch {
	case o.Kind == ir.ChMove && len(o.Srcs) == 1 && len(o.Dsts) > 0:
		n.Kind, n.Srcs = ir.ChEach, slices.Repeat(o.Srcs, len(o.Dsts))
	case o.Kind == ir.ChEach && len(o.Srcs) == 1 && len(o.Dsts) == 1:
		n.Kind = ir.ChMove
	default:
		return nil, nil
	}
	return x.exactRow(&n), &n
}

func (x *maker) exactRow(o *ir.ChannelOp) *opRow {
	for i := range opRows {
		row := &opRows[i]
		if row.kind != o.Kind || row.types != 0 && (o.Type >= ir.NumChannelTypes || row.types&(1<<o.Type) == 0) {
			continue
		}
		if !row.moves() || x.hasShape(row.sources(o.Type), o.Srcs) && x.hasShape(row.dst, o.Dsts) &&
			(row.kind == ir.ChMove || len(o.Srcs) == len(o.Dsts)) {
			return row
		}
	}
	return nil
}

// hasShape reports whether operands of the rank are of a shape.
func (x *maker) hasShape(shape string, refs []ir.ChannelRef) bool {
	if len(refs) > ir.OpOperands || !shapeFits(shape, len(refs)) {
		return false
	}
	for i := range refs {
		if shapeAt(shape, i) != x.letter(&refs[i]) {
			return false
		}
	}
	return true
}

// letter returns the letter of an operand of the rank.
func (x *maker) letter(ref *ir.ChannelRef) byte {
	letters := "rq"
	switch {
	case ref.Of(x.rankID):
		letters = "lp"
	case ref.Rank == ir.AllRanks:
		letters = "mn"
	}
	if ref.Packets {
		return letters[1]
	}
	return letters[0]
}
