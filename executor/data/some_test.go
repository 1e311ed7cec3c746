package data

import (
	"bytes"
	"testing"

	"mscclc/ir"
)

// TestNewFor has the buffers of some ranks be those that New makes of all, and their checks find the same.
func TestNewFor(t *testing.T) {
	for _, kind := range []ir.Kind{ir.AllReduce, ir.AllToAll, ir.AllGather} {
		for dt := range NumDTypes {
			c := &ir.Collective{Kind: kind, Ranks: 3, Chunks: 2}
			geo := NewGeometry(c, 40001, dt.Size())
			all, some := New(geo, dt, Sum, 5), NewFor([]int{1}, geo, dt, Sum, 5)
			if !bytes.Equal(all.Initial(1), some.Initial(1)) || some.Initial(0) != nil {
				t.Fatalf("%v %v: the inputs differ", kind, dt)
			}
			for range 2 { // with poison, and with rank 1's own input in place of results
				want, got := all.CheckRanks([]int{1}), some.CheckRanks([]int{1})
				if want.Wrong == 0 || want.Checked != got.Checked || want.Wrong != got.Wrong ||
					want.First.String() != got.First.String() {
					t.Errorf("%v %v: %+v and %+v", kind, dt, want, got)
				}
				for _, b := range []*Buffers{all, some} {
					copy(b.Output(1), b.Initial(1))
				}
			}
		}
	}
}
