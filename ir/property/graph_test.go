package property

import (
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/graph"
	"mscclc/ir/irtest"

	"gonum.org/v1/gonum/graph/topo"
	"pgregory.net/rapid"
)

// gonum finds a cycle where the checker does, and the checker's counterexample lies in
// one strongly connected part.
func TestAcyclicAgainstGonum(t *testing.T) {
	cyclic := 0
	rapid.Check(t, func(t *rapid.T) {
		n := int(irtest.Small(t, 2, 8))
		d := &ir.InstDAG{Header: ir.Header{Name: "x", Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 1, Chunks: 1}},
			Hints: []ir.Hint{ir.NoHint}}
		d.Deps.Start = []int32{0}
		for i := range n {
			d.Insts = append(d.Insts, ir.Inst{Op: ir.Copy, SrcBuf: ir.Input, DstBuf: ir.Input, Count: 1, SendPeer: -1,
				RecvPeer: -1, SendMate: -1, RecvMate: -1, Seq: int32(i), SendSeq: int32(i), Pos: -1})
			for range irtest.Small(t, 0, 2) {
				d.Deps.To = append(d.Deps.To, irtest.Small(t, 0, n-1))
			}
			d.Deps.Start = append(d.Deps.Start, int32(len(d.Deps.To)))
		}
		g := graph.OfInsts(d)
		_, err := topo.Sort(g)
		self := false
		for i := range n {
			self = self || g.HasEdgeFromTo(int64(i), int64(i))
		}
		_, stuck := freeSchedule(d).Run()
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
