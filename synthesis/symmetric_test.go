package synthesis

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// torus is a topology of rows times columns GPUs, each with four neighbours.
func torus(rows, columns int) *topology.Topology {
	m := &topology.Topology{Name: "torus", Nodes: 1, GPUs: rows * columns,
		Classes: []topology.Class{{Name: "link", Latency: 1, Bandwidth: 1000}}}
	for i := range m.GPUs {
		m.Places = append(m.Places, topology.Place{Kind: topology.GPU, Group: "gpu", Index: i})
	}
	link := func(u, v int) {
		m.Links = append(m.Links, topology.Link{From: int32(u), To: int32(v), Width: 1},
			topology.Link{From: int32(v), To: int32(u), Width: 1})
	}
	for x := range rows {
		for y := range columns {
			link(x*columns+y, (x+1)%rows*columns+y)
			link(x*columns+y, x*columns+(y+1)%columns)
		}
	}
	return m
}

// TestAlike holds that trees of a machine that looks alike from all ranks are written once, in at most 25 lines of
// program, and that the program is the certificate's. A machine without symmetries has none.
func TestAlike(t *testing.T) {
	h100, err := topology.Open("dgx_h100:nodes=2")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m     *topology.Topology
		least float64
	}{{torus(4, 4), 0.93}, {torus(3, 5), 0.85}, {h100, 0.9}} {
		for _, kind := range []ir.Kind{ir.AllGather, ir.ReduceScatter, ir.AllReduce} {
			found, err := Find(t.Context(), c.m, Request{Kind: kind, Alike: true, Chunks: 2})
			if err != nil {
				t.Fatalf("%s: %v: %v", c.m.Name, kind, err)
			}
			v, err := certificate.Check(&found.Certificate, c.m, certificate.Part{})
			if err != nil {
				t.Fatalf("%s: %v: %v", c.m.Name, kind, err)
			}
			if v.Share() < c.least {
				t.Errorf("%s: %v: %.3f of the bound", c.m.Name, kind, v.Share())
			}
			p := compiledPlan(t, c.m.Name, found)
			if lines := strings.Count(found.Plan.Text(), "\n"); found.Plan.Shifts == nil || lines > 40 {
				t.Errorf("%s: %v: %d lines\n%s", c.m.Name, kind, lines, found.Plan.Text())
			}
			if n := wrong(t, p, 1); n != 0 {
				t.Errorf("%s: %v: %d elements are wrong", c.m.Name, kind, n)
			}
		}
	}
	dgx, err := topology.Open("dgx1v")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), dgx, Request{Kind: ir.AllGather, Alike: true}); !errors.Is(err, ErrNoFit) {
		t.Errorf("%v", err)
	}
}

// TestShifts holds that shifts of all dimensions take rank 0 to each rank once, and never two ranks to one.
func TestShifts(t *testing.T) {
	for n := 2; n <= 24; n++ {
		for _, dims := range factors(n) {
			s := Shifts{dims}
			for by := range n {
				var to []int
				for r := range n {
					to = append(to, s.At(r, by))
				}
				if s.At(0, by) != by {
					t.Errorf("%v takes 0 by %d to %d", dims, by, s.At(0, by))
				}
				slices.Sort(to)
				if len(slices.Compact(to)) != n {
					t.Errorf("%v by %d: %v", dims, by, to)
				}
			}
		}
	}
}
