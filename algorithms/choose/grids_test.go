package choose

import (
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
)

// TestUnshaped holds that parameters of shape are read as they are written, and nothing else is.
func TestUnshaped(t *testing.T) {
	for _, c := range []struct {
		program, name string
		rows, nodes   int
		ok            bool
	}{
		{"allgather/swing", "allgather/swing", 0, 0, true},
		{"allgather/swing:rows=4", "allgather/swing", 4, 0, true},
		{"allreduce/hierarchical:gpus=2,nodes=8", "allreduce/hierarchical", 0, 8, true},
		{"allreduce/hierarchical:nodes=8,gpus=2", "allreduce/hierarchical", 0, 8, false},
		{"allgather/swing:rows=4,rows=4", "allgather/swing:rows=4,rows=4", 0, 0, false},
		{"allgather/swing:ranks=4", "allgather/swing:ranks=4", 0, 0, false},
		{"allgather/swing:", "allgather/swing:", 0, 0, false},
		{"allgather/swing:rows=04", "allgather/swing", 4, 0, false},
		{"allgather/swing:rows=3215674", "allgather/swing:rows=3215674", 0, 0, false},
		{"allgather/link_rings:first=3215674,second=1375462", "allgather/link_rings", 0, 0, true},
		{"allgather/link_rings:first=0", "allgather/link_rings:first=0", 0, 0, false},
	} {
		name, params, ok := Unshaped(c.program)
		if name != c.name || params["rows"] != c.rows || params["nodes"] != c.nodes || ok != c.ok {
			t.Errorf("%s: %s %v %v", c.program, name, params, ok)
		}
	}
}

// TestRows holds which grids the GPUs of topologies are.
func TestRows(t *testing.T) {
	const torus = "testdata/torus.topo"
	for _, c := range []struct {
		spec string
		want []int
	}{
		{torus, []int{4}}, {torus + ":rows=2,cols=8", []int{2}}, {torus + ":rows=8,cols=2", []int{8}},
		{torus + ":rows=8,cols=8", []int{8}}, {torus + ":rows=3,cols=5", []int{3}}, {"h200", nil}, {"dgx1v", []int{2}},
		{"h200:nodes=2", []int{2}}, {"pcie_8gpu", []int{2, 4}}, {"gb200_nvl72", nil},
	} {
		if got := selector(t, c.spec, "program").rows(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", c.spec, got, c.want)
		}
	}
}

// TestTorus holds that a large call on a torus runs a program of its rows, near the bound: 192 and 96 GB/s.
func TestTorus(t *testing.T) {
	for _, c := range []struct {
		kind    ir.Kind
		program string
		least   float64 // GB/s
	}{
		{ir.AllGather, "allgather/swing:rows=4", 187.6},
		{ir.ReduceScatter, "reducescatter/swing:rows=4", 185},
		{ir.AllReduce, "allreduce/", 93},
	} {
		s := selector(t, "testdata/torus.topo", "program")
		s.Call.Kind, s.Rough = c.kind, true
		const bytes = 1 << 30
		list, err := s.Sizes([]int64{bytes})
		if err != nil {
			t.Fatal(err)
		}
		if r := list[0]; !strings.HasPrefix(r.Program, c.program) || bytes/r.Latency/1e3 < c.least {
			t.Errorf("%v: %v at %.1f GB/s", c.kind, r.Form, bytes/r.Latency/1e3)
		}
		if _, err := s.Program(list[0].Form); err != nil {
			t.Error(err)
		}
	}
}

// TestLinkRings holds that large calls on directly joined GPUs run on rings of their links, near the bound: NVLink has
// 92 % of that of a DGX-1V. Where there is no ring, NoRing says so.
func TestLinkRings(t *testing.T) {
	for kind, least := range map[ir.Kind]float64{ir.AllGather: 150, ir.ReduceScatter: 142, ir.AllReduce: 75} {
		s := selector(t, "dgx1v", "program")
		s.Call.Kind, s.Rough = kind, true
		const bytes = 1 << 30
		list, err := s.Sizes([]int64{bytes})
		if err != nil {
			t.Fatal(err)
		}
		if r := list[0]; !strings.Contains(r.Program, "/link_rings:first=") || bytes/r.Latency/1e3 < least {
			t.Errorf("%v: %v at %.1f GB/s", kind, r.Form, bytes/r.Latency/1e3)
		}
		if _, err := s.Program(list[0].Form); err != nil || s.NoRing() != "" {
			t.Error(err, s.NoRing())
		}
	}
	for spec, none := range map[string]bool{"testdata/line.topo": true, "testdata/torus.topo": false, "h200": false} {
		s := selector(t, spec, "program")
		s.Call.Kind = ir.AllGather
		if (s.NoRing() != "") != none {
			t.Errorf("%s: %q", spec, s.NoRing())
		}
	}
}

// TestRingNumber holds that an order is the number by which the program has it: decimal for up to ten ranks.
func TestRingNumber(t *testing.T) {
	if n := ringNumber([]int32{0, 3, 2, 1, 5, 6, 7, 4}); n != 3215674 {
		t.Error(n)
	}
	s := selector(t, "testdata/torus.topo", "program")
	s.Call.Kind = ir.AllGather
	name := shapedName("allgather/link_rings", s.rings())
	chunks, err := s.Own.expand(name, s.Call)
	if err != nil {
		t.Fatal(err)
	}
	joined := newGrid(s.Topology).direct
	for i := range chunks.Ops {
		op := &chunks.Ops[i]
		src := chunks.Sources(op)[0]
		if src.Rank != op.Dst.Rank && !joined[[2]int32{src.Rank, op.Dst.Rank}] {
			t.Fatalf("%s sends from %d to %d", name, src.Rank, op.Dst.Rank)
		}
	}
}
