package bound_test

import (
	"math/big"
	"slices"
	"testing"

	"mscclc/ir"
	"mscclc/topology"
	"mscclc/topology/bound"
)

// TestFigures asserts rates that were computed elsewhere: by ForestColl, by hand, or by cuts.
func TestFigures(t *testing.T) {
	dgx := direct(8, 0, dgx1v())
	broken := direct(8, 0, slices.DeleteFunc(dgx1v(), func(l line) bool { return l.from+l.to == 4 && l.from*l.to == 0 }))
	square := direct(16, 0, torus(4, 4))
	var chain []line
	for i := range int32(7) {
		chain = append(chain, line{i, i + 1, 1})
	}
	row := direct(8, 0, both(chain...))
	ring := direct(6, 0, []line{{0, 1, 10}, {1, 2, 10}, {2, 3, 10}, {3, 4, 10}, {4, 5, 10}, {5, 0, 10}, {0, 3, 5}})
	diamond := direct(4, 0, both(line{0, 3, 8}, line{1, 2, 5}, line{1, 3, 5}, line{2, 3, 7}))
	mi, h100, three := mi250s(t, 2), written(t, rails), written(t, boxes)
	for _, c := range []struct {
		name string
		on   *topology.Topology
		kind ir.Kind
		num  int64 // of algbw in MB/s
		den  int64
		cut  string
	}{
		{"DGX-1V", dgx, ir.AllGather, 8 * 150000, 7, "rank 0's links"},
		{"DGX-1V", dgx, ir.ReduceScatter, 8 * 150000, 7, "rank 0's links"},
		{"DGX-1V", dgx, ir.AllReduce, 4 * 150000, 7, "each rank's links"},
		{"DGX-1V", dgx, ir.AllToAll, 8 * 75000, 8, "the links between ranks 0-3 and ranks 4-7"},
		{"DGX-1V", dgx, ir.Broadcast, 150000, 1, "rank 1's links"},
		{"DGX-1V", dgx, ir.ReduceTo, 150000, 1, "rank 1's links"},
		{"DGX-1V", dgx, ir.Scatter, 8 * 150000, 7, "rank 0's links"},
		{"DGX-1V", dgx, ir.Gather, 8 * 150000, 7, "rank 0's links"},
		{"DGX-1V less 0-4", broken, ir.AllReduce, 550000, 7, "each rank's links"},
		{"DGX-1V less 0-4", broken, ir.AllGather, 8 * 100000, 7, "rank 0's links"},
		{"torus", square, ir.AllGather, 16 * 4, 15, "each rank's links"},
		{"torus", square, ir.AllToAll, 16, 8, "all links together, since paths have several"},
		{"line", row, ir.AllGather, 8, 7, "rank 0's links"},
		{"line", row, ir.AllReduce, 1, 1, "rank 7's links"},
		{"one-way ring", ring, ir.AllGather, 12, 1, "the links into rank 0"},
		{"full-duplex links", diamond, ir.AllReduce, 8, 1, "rank 0's links"},
		{"MI250 2x16", mi, ir.AllGather, 32 * 166000, 15, "the links between ranks 0-1 and ranks 2-31"},
		{"H100 2x8", h100, ir.AllGather, 16 * 100000, 3, "each rank's links"},
		{"H100 2x8", h100, ir.AllToAll, 16 * 6250, 1, "the links between node 0 and node 1"},
		{"H100 2x8", h100, ir.Broadcast, 400000, 1, "the links between node 0 and node 1"},
		{"3 boxes", three, ir.AllGather, 90000, 1, "each node's links"},
		{"h200", machine(t, "h200"), ir.AllGather, 8 * 370000, 7, "each rank's links"},
		{"h200:nodes=2", machine(t, "h200:nodes=2"), ir.AllGather, 16 * 83600, 3, "each rank's links"},
		{"dgx_h100:nodes=128", machine(t, "dgx_h100:nodes=128"), ir.AllReduce, 24576000, 127, "each node's links"},
		{"dgx_h100:nodes=8", machine(t, "dgx_h100:nodes=8"), ir.AllGather, 64 * 59000, 9, "each rank's links"},
	} {
		b := of(t, c.on, bound.Question{Kind: c.kind})
		want := big.NewRat(c.num, c.den)
		if b.Rate.Cmp(want) != 0 || !b.Exact {
			t.Errorf("%s: %v: %s (%.6g), exact %v, want %s", c.name, c.kind, b.Rate, b.MBs(), b.Exact, want)
			if b.Reached != nil {
				t.Logf("reached %s", b.Reached)
			}
		}
		if b.Cut != c.cut {
			t.Errorf("%s: %v: the cut is %q, want %q", c.name, c.kind, b.Cut, c.cut)
		}
	}
}
