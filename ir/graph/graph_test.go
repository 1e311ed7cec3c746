package graph_test

import (
	"io"
	"strings"
	"testing"

	"mscclc/ir/graph"
	"mscclc/ir/irtest"

	gonum "gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/topo"
)

var _ gonum.Directed = (*graph.Graph)(nil)

func TestGraphOfInsts(t *testing.T) {
	g := graph.OfInsts(irtest.Insts(t, irtest.TwoRanks))
	order, err := topo.Sort(g)
	if err != nil || len(order) != 6 {
		t.Fatal(order, err)
	}
	if !g.HasEdgeFromTo(0, 1) || g.HasEdgeFromTo(1, 0) || !g.HasEdgeBetween(1, 0) || g.Edge(3, 4) == nil ||
		g.Edge(4, 3) != nil {
		t.Error("edges do not lead from what comes first to what needs it")
	}
	for _, id := range []int64{-1, 6} {
		if g.Node(id) != nil || g.From(id).Len() != 0 || g.To(id).Len() != 0 || g.HasEdgeFromTo(id, 0) {
			t.Errorf("there is a node %d", id)
		}
	}
	text := irtest.Written(t, func(w io.Writer) error { return g.WriteDOT(w) })
	for _, want := range []string{`digraph "two" {`, `label="0 | i4 re scratch[0] => input[0]"`, "0 -> 1 [style=bold];",
		"3 -> 4;"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
}

func TestGraphOfChunks(t *testing.T) {
	n := 4
	d := irtest.RingChunks(n)
	g := graph.OfChunks(d)
	order, err := topo.Sort(g)
	if err != nil || len(order) != len(d.Ops) {
		t.Fatal(order, err)
	}
	// The hops of a chunk are a path, and the paths of different chunks do not touch.
	if parts := topo.ConnectedComponents(gonum.Undirect{G: g}); len(parts) != n {
		t.Errorf("%d parts", len(parts))
	}
	hops := int64(2*n - 2)
	for i := range hops - 1 {
		if !g.HasEdgeFromTo(i, i+1) || g.HasEdgeFromTo(i, i+hops) {
			t.Errorf("operation %d", i)
		}
	}
	if text := irtest.Written(t, func(w io.Writer) error { return g.WriteDOT(w) }); !strings.Contains(
		text, `1 | 0: 1:input[0] = 1:input[0] + 0:input[0]`) {
		t.Error(text)
	}
}
