package data

import (
	"bytes"
	"testing"

	"mscclc/ir"
	"mscclc/ir/epilogue"
)

// TestRenew: rows get other data, which is checked as other data, and what was written beside them is still seen.
func TestRenew(t *testing.T) {
	then, err := epilogue.Parse("residual, layer_norm(eps), quantise(i8)")
	if err != nil {
		t.Fatal(err)
	}
	geo := NewGeometry(&ir.Collective{Kind: ir.AllReduce, Ranks: 3, Chunks: 1}, 5, 7*BF16.Size())
	d, fresh := NewRows(geo, then, 7, BF16, 1), NewRows(geo, then, 7, BF16, 2)
	first, second := d.Operands(1)
	was := bytes.Clone(first[0])
	d.rank[2].guarded[1][0]++
	second[2][0]++
	d.Renew(2)
	if rep := d.Check(); len(rep.Broken) != 1 {
		t.Errorf("%d places beside buffers were written, of 1", len(rep.Broken))
	}
	other, _ := fresh.Operands(1)
	if bytes.Equal(first[0], was) || !bytes.Equal(first[0], other[0]) || !bytes.Equal(d.Initial(0), fresh.Initial(0)) {
		t.Error("the data is not that of the other seed")
	}
	if bytes.Equal(second[2], make([]byte, len(second[2]))) {
		t.Error("the scales are not spoiled")
	}
	d.Reset()
	if rep := d.Check(); len(rep.Broken) != 0 || rep.Wrong == 0 {
		t.Errorf("after a reset %d places are broken, and %d elements of poison are wrong", len(rep.Broken), rep.Wrong)
	}
	few := NewRowsFor([]int{1}, geo, then, 7, BF16, 2)
	if rep := few.CheckRanks([]int{1}); rep.Checked != 35 || rep.Wrong == 0 || len(rep.Broken) != 0 {
		t.Errorf("of one rank: %+v", rep)
	}
}
