package synthesis

import (
	"context"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// ring is six GPUs in a ring of wires of 25 GB/s.
const ring = `topology ring
class wire 1us 200Gb/s
node {
    gpu 6
    link gpu[i] gpu[(i + 1) % 6] wire
}`

func without(t *testing.T, m *topology.Topology, names ...string) *topology.Topology {
	t.Helper()
	less, err := m.Without(names)
	if err != nil {
		t.Fatal(err)
	}
	return less
}

func ringOf(t *testing.T) *topology.Topology {
	t.Helper()
	m, err := topology.Read("ring.topo", strings.NewReader(ring), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestParts makes programs for machines with broken links, and for some GPUs of a machine.
func TestParts(t *testing.T) {
	dgx, six := machine(t, "dgx1v"), ringOf(t)
	for name, c := range map[string]struct {
		m     *topology.Topology
		r     Request
		least float64
	}{
		"a link less":      {without(t, dgx, "0-4", "pcie"), Request{Kind: ir.AllReduce, Chunks: 2}, 0.72},
		"a broken ring":    {without(t, six, "5-0"), Request{Kind: ir.AllGather, Chunks: 1}, 1},
		"one direction":    {without(t, six, "2>3"), Request{Kind: ir.Broadcast, Chunks: 1, Root: 2}, 1},
		"in another order": {dgx, Request{Kind: ir.AllReduce, Chunks: 1, GPUs: []int32{7, 2, 5, 6}, NoRelay: true}, 0.4},
		"of a ring":        {six, Request{Kind: ir.ReduceTo, Chunks: 1, GPUs: []int32{1, 2, 3}, NoRelay: true, Root: 1}, 1},
		"one GPU less": {without(t, dgx, "3"), Request{Kind: ir.ReduceScatter, Chunks: 1,
			GPUs: []int32{0, 1, 2, 4, 5, 6, 7}}, 0.4},
		"of two nodes": {machine(t, "h200:nodes=2"), Request{Kind: ir.AllGather, Chunks: 1, NoRelay: true,
			GPUs: []int32{0, 1, 8, 9}}, 0.9},
	} {
		if _, share := made(t, c.m, c.r); share < c.least-1e-9 {
			t.Errorf("%s: %.4f of the bound, want %.4f", name, share, c.least)
		}
	}
}

// TestRelay: trees that forward data through a GPU that takes no part are an error, and so is a certificate of them.
func TestRelay(t *testing.T) {
	six := ringOf(t)
	_, err := Find(context.Background(), six, Request{Kind: ir.AllGather, Chunks: 1, GPUs: []int32{0, 1, 2}})
	if err == nil || !strings.Contains(err.Error(), "which takes no part") {
		t.Errorf("trees through GPUs that take no part: %v", err)
	}
	r := Request{Kind: ir.Broadcast, Chunks: 1, GPUs: []int32{0, 1, 2}, NoRelay: true}
	found, _ := made(t, six, r)
	way := &found.Certificate.Spread[0].Hops[1].Ways[0]
	way.Places = []int{1, 0, 5, 4, 3, 2}
	_, err = certificate.Check(&found.Certificate, six, certificate.Part{GPUs: r.GPUs})
	if err == nil || !strings.Contains(err.Error(), "goes through GPU 0") {
		t.Errorf("a way through a GPU: %v", err)
	}
}

// TestOtherPart: a certificate is of its machine and its ranks, which are not the certificate's to say.
func TestOtherPart(t *testing.T) {
	six := ringOf(t)
	less, gpus := without(t, six, "5-0"), []int32{0, 1, 2, 3}
	broken, _ := made(t, less, Request{Kind: ir.AllGather, Chunks: 1})
	some, _ := made(t, six, Request{Kind: ir.AllGather, Chunks: 1, GPUs: gpus, NoRelay: true})
	moved := slices.Clone(gpus)
	moved[1], moved[2] = 2, 1
	for want, c := range map[string]struct {
		of *Result
		m  *topology.Topology
		p  certificate.Part
	}{
		"more than the bound":                {broken, six, certificate.Part{}},
		"no link leads from place 2 to 3":    {broken, without(t, six, "2-3"), certificate.Part{}},
		"it has 6 ranks: 4 GPUs":             {broken, less, certificate.Part{GPUs: gpus}},
		"it has 4 ranks: 6 GPUs":             {some, six, certificate.Part{}},
		"rank 1 is on GPU 1: it is GPU 2":    {some, six, certificate.Part{GPUs: moved, NoRelay: true}},
		"200000/3 MB/s, more than the bound": {some, six, certificate.Part{GPUs: gpus}},
	} {
		if _, err := certificate.Check(&c.of.Certificate, c.m, c.p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
