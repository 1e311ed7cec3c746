package ir

import (
	"io"
	"strings"
	"testing"

	"gonum.org/v1/gonum/graph"
	"gonum.org/v1/gonum/graph/topo"
	"pgregory.net/rapid"

	"mscclc/ir/diag"
)

var _ graph.Directed = (*Graph)(nil)

func TestGraphOfInsts(t *testing.T) {
	g := insts(t, twoRanks).Graph()
	order, err := topo.Sort(g)
	if err != nil || len(order) != 6 {
		t.Fatal(order, err)
	}
	if !g.HasEdgeFromTo(0, 1) || g.HasEdgeFromTo(1, 0) || !g.HasEdgeBetween(1, 0) || g.Edge(3, 4) == nil || g.Edge(4, 3) != nil {
		t.Error("edges do not lead from what comes first to what needs it")
	}
	for _, id := range []int64{-1, 6} {
		if g.Node(id) != nil || g.From(id).Len() != 0 || g.To(id).Len() != 0 || g.HasEdgeFromTo(id, 0) {
			t.Errorf("there is a node %d", id)
		}
	}
	text := written(t, func(w io.Writer) error { return g.WriteDOT(w) })
	for _, want := range []string{`digraph "two" {`, `label="0 | i4 re scratch[0] => input[0]"`, "0 -> 1 [style=bold];", "3 -> 4;"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
}

func TestGraphOfChunks(t *testing.T) {
	n := 4
	d := ringChunks(n)
	g := d.Graph()
	order, err := topo.Sort(g)
	if err != nil || len(order) != len(d.Ops) {
		t.Fatal(order, err)
	}
	// The hops of a chunk are a path, and the paths of different chunks do not touch.
	if parts := topo.ConnectedComponents(graph.Undirect{G: g}); len(parts) != n {
		t.Errorf("%d parts", len(parts))
	}
	hops := int64(2*n - 2)
	for i := range hops - 1 {
		if !g.HasEdgeFromTo(i, i+1) || g.HasEdgeFromTo(i, i+hops) {
			t.Errorf("operation %d", i)
		}
	}
	if text := written(t, func(w io.Writer) error { return g.WriteDOT(w) }); !strings.Contains(text, `1 | 0: 1:input[0] = 1:input[0] + 0:input[0]`) {
		t.Error(text)
	}
}

// gonum finds a cycle where the checker does, and the checker's witness lies in
// one strongly connected part.
func TestAcyclicAgainstGonum(t *testing.T) {
	cyclic := 0
	rapid.Check(t, func(t *rapid.T) {
		n := int(small(t, 2, 8))
		d := &InstDAG{Header: Header{Name: "x", Coll: &Collective{Kind: AllReduce, Ranks: 1, Chunks: 1}}, Hints: []Hint{NoHint}}
		d.Deps.Start = []int32{0}
		for i := range n {
			d.Insts = append(d.Insts, Inst{Op: Copy, SrcBuf: Input, DstBuf: Input, Count: 1, SendPeer: -1, RecvPeer: -1, SendMate: -1, RecvMate: -1, Seq: int32(i), SendSeq: int32(i), Pos: -1})
			for range small(t, 0, 2) {
				d.Deps.To = append(d.Deps.To, small(t, 0, n-1))
			}
			d.Deps.Start = append(d.Deps.Start, int32(len(d.Deps.To)))
		}
		g := d.Graph()
		_, err := topo.Sort(g)
		self := false
		for i := range n {
			self = self || g.HasEdgeFromTo(int64(i), int64(i))
		}
		_, stuck := d.freeSchedule().Run()
		if (err != nil || self) != (len(stuck) > 0) {
			t.Fatalf("gonum says %v, the checker %v", err, stuck)
		}
		if len(stuck) == 0 {
			return
		}
		cyclic++
		for k, w := range stuck {
			next := stuck[(k+1)%len(stuck)]
			if w.At != next.Step || w.On != w.At || !g.HasEdgeFromTo(int64(w.On), int64(w.Step)) {
				t.Fatalf("%v is no cycle", stuck)
			}
		}
		if list := checkAcyclic(d, nil); len(list) != 1 || list[0].Code != diag.Deadlock {
			t.Fatal(list)
		}
	})
	if cyclic < 10 {
		t.Errorf("only %d graphs with cycles", cyclic)
	}
}
