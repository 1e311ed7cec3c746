package synthesis

import (
	"context"
	"math/rand/v2"
	"testing"

	"mscclc"
	"mscclc/ir"
	"mscclc/ir/irtest"
	"mscclc/synthesis/certificate"
	"mscclc/topology"
)

// made finds trees, and has the certificate checked, the program compiled and proven, and the two compared.
func made(t *testing.T, m *topology.Topology, r Request) (*Result, float64) {
	t.Helper()
	found, err := Find(context.Background(), m, r)
	if err != nil {
		t.Fatalf("%s: %v: %v", m.Name, r.Kind, err)
	}
	v, err := certificate.Check(&found.Certificate, m, certificate.Part{GPUs: r.GPUs, NoRelay: r.NoRelay})
	if err != nil {
		t.Fatalf("%s: %v: %v", m.Name, r.Kind, err)
	}
	opt := mscclc.Options{OneSided: true, Stage: func(value any) error {
		if d, ok := value.(*ir.ChunkDAG); ok {
			return Matches(&found.Certificate, d)
		}
		return nil
	}}
	if _, err := mscclc.Compile("trees.mscl", []byte(found.Plan.Text()), opt); err != nil {
		t.Fatalf("%s: %v: %v\n%s", m.Name, r.Kind, err, found.Plan.Text())
	}
	return found, v.Share()
}

func machine(t *testing.T, spec string) *topology.Topology {
	t.Helper()
	m, err := topology.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestShares asserts what part of the bound trees reach, where a given number may begin at each rank.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		spec   string
		kind   ir.Kind
		chunks int
		least  float64
	}{
		{"dgx1v", ir.AllGather, 0, 0.98}, {"dgx1v", ir.AllReduce, 0, 0.98}, {"dgx1v", ir.ReduceScatter, 1, 0.71},
		{"h200", ir.AllGather, 1, 1}, {"h200", ir.AllReduce, 1, 1}, {"pcie_8gpu", ir.AllReduce, 1, 1},
		{"h200:nodes=2", ir.AllGather, 0, 0.997}, {"h200:nodes=2", ir.AllGather, 1, 0.948},
		{"dgx_h100:nodes=2", ir.ReduceScatter, 2, 0.98}, {"ndv4:nodes=2", ir.Broadcast, 0, 1},
		{"ndv4:nodes=2", ir.ReduceTo, 1, 0.12},
	} {
		_, share := made(t, machine(t, c.spec), Request{Kind: c.kind, Chunks: c.chunks, Root: 0})
		if share < c.least-1e-9 {
			t.Errorf("%s: %v of up to %d trees: %.4f of the bound, want %.4f", c.spec, c.kind, c.chunks, share, c.least)
		}
	}
}

// random is a connected machine of some GPUs, with links of unequal capacities, half of them one-way beside a ring, and
// perhaps a switch.
func random(t *testing.T, r *rand.Rand) *topology.Topology {
	n := 3 + r.IntN(6)
	m := &topology.Topology{Name: "random", Nodes: 1, GPUs: n,
		Classes: []topology.Class{{Name: "link", Latency: 1, Bandwidth: 1000}}}
	for i := range n {
		m.Places = append(m.Places, topology.Place{Kind: topology.GPU, Group: "gpu", Index: i})
	}
	link := func(u, v int32, back bool) {
		w := int32(1 + r.IntN(9))
		m.Links = append(m.Links, topology.Link{From: u, To: v, Width: w})
		if back {
			m.Links = append(m.Links, topology.Link{From: v, To: u, Width: w})
		}
	}
	for i := range int32(n) {
		link(i, (i+1)%int32(n), r.IntN(2) == 0)
	}
	for range r.IntN(2 * n) {
		if u, v := int32(r.IntN(n)), int32(r.IntN(n)); u != v {
			link(u, v, r.IntN(2) == 0)
		}
	}
	if r.IntN(3) == 0 {
		s := int32(n)
		m.Places = append(m.Places, topology.Place{Kind: topology.Switch, Group: "switch"})
		for i := range int32(n) {
			if r.IntN(3) > 0 {
				link(i, s, true)
			}
		}
	}
	return m
}

// TestRandom: on any machine, what is found is proven, and the certificate is accepted. Without switches, and with as
// many trees as that takes, AllGather reaches the bound.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	for range 60 {
		m := random(t, r)
		kind := certificate.Kinds[r.IntN(len(certificate.Kinds))]
		found, share := made(t, m, Request{Kind: kind, Chunks: r.IntN(4), Root: r.IntN(2)})
		if share > 1 || share <= 0 || len(found.Plan.Text()) == 0 {
			t.Errorf("%v: %.3f of the bound", kind, share)
		}
	}
}

// TestMutants: a certificate that says something else than what was found is rejected, or says something weaker that is
// true as well.
func TestMutants(t *testing.T) {
	m := machine(t, "dgx1v")
	for _, kind := range []ir.Kind{ir.AllGather, ir.AllReduce} {
		for i, change := range []func(*certificate.Certificate){
			func(c *certificate.Certificate) { c.Scale = "1/1000000" },
			func(c *certificate.Certificate) { c.Bound = "1" },
			func(c *certificate.Certificate) { c.Bound = "0" },
			func(c *certificate.Certificate) { c.Cuts = nil },
			func(c *certificate.Certificate) { c.Cuts[0].Into = !c.Cuts[0].Into },
			func(c *certificate.Certificate) { c.Spread = nil },
			func(c *certificate.Certificate) { c.Spread[0].Count++ },
			func(c *certificate.Certificate) { c.Spread[0].Hops = c.Spread[0].Hops[1:] },
			func(c *certificate.Certificate) { c.Spread[0].Hops[0].Ways[0].Places[1]++ },
			func(c *certificate.Certificate) { c.Spread[0].Root = 9 },
			func(c *certificate.Certificate) { c.Places[3] = "gpu[7]" },
			func(c *certificate.Certificate) { c.Ranks[0], c.Ranks[1] = c.Ranks[1], c.Ranks[0] },
			func(c *certificate.Certificate) { c.Collective = "alltoall" },
			func(c *certificate.Certificate) { c.Version = 2 },
		} {
			again, _ := made(t, m, Request{Kind: kind})
			c := again.Certificate
			change(&c)
			if v, err := certificate.Check(&c, m, certificate.Part{}); err == nil {
				t.Errorf("%v: change %d is accepted: %v", kind, i, v)
			}
		}
	}
}

// Routes of an AllToAll come near its bound. With 16 parts of a pair, small machines of odd links miss a little.
func TestRoutes(t *testing.T) {
	least, near, n := 1.0, 0, irtest.Count(t, 25)
	for seed := range n {
		m := anyMachine(rand.New(rand.NewPCG(uint64(seed), 7)))
		found, err := Find(t.Context(), m, Request{Kind: ir.AllToAll})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		v, err := certificate.Check(&found.Certificate, m, certificate.Part{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if least = min(least, v.Share()); v.Share() < 0.95 {
			t.Errorf("seed %d: %d GPUs: %.3f of the bound", seed, m.GPUs, v.Share())
		}
		if v.Share() >= nearly {
			near++
		}
	}
	if near < n*9/10 {
		t.Errorf("%d of %d reach %g of the bound", near, n, nearly)
	}
	t.Logf("%d of %d machines reach %g of the bound, and all %.3f", near, n, nearly, least)
}
