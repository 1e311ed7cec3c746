package choose

import (
	"testing"

	"mscclc/ir"
)

// The shapes of programs whose cost is known.
func TestShape(t *testing.T) {
	for _, c := range []struct {
		program string
		kind    ir.Kind
		ranks   int
		want    Shape
	}{
		{"allreduce/ring", ir.AllReduce, 4, Shape{6, 1.5, 1, 0, 0}},
		{"allreduce/allpairs", ir.AllReduce, 8, Shape{2, 1.75, 7, 0, 1}},
		{"allreduce/allpairs_onestep", ir.AllReduce, 4, Shape{1, 3, 3, 0, 4}},
		{"allgather/ring", ir.AllGather, 4, Shape{3, 0.75, 1, 0, 0}},
		{"reducescatter/allpairs", ir.ReduceScatter, 4, Shape{1, 0.75, 3, 0, 1}},
		{"broadcast/binomial", ir.Broadcast, 8, Shape{3, 3, 3, 0, 0}},
	} {
		got, err := new(Chooser).Shape(c.program, call(c.kind, c.ranks))
		if err != nil {
			t.Fatal(err)
		}
		if got.Moved == 0 {
			t.Errorf("%s moves nothing", c.program)
		}
		if got.Moved = 0; got != c.want {
			t.Errorf("%s: %+v, not %+v", c.program, got, c.want)
		}
	}
}
