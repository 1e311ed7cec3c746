package topology

import (
	"math/rand/v2"
	"testing"
)

// carried returns how many rings the busiest edge carries for each unit of its bandwidth. It fails if one is no ring.
func carried(t *testing.T, m *Topology, rings [][]int32) (most float64) {
	t.Helper()
	caps, load := map[[2]int32]float64{}, map[[2]int32]float64{}
	for i, l := range m.Links {
		caps[[2]int32{l.From, l.To}] += m.Bandwidth(int32(i))
	}
	for _, ring := range rings {
		seen := map[int32]bool{}
		for i, u := range ring {
			v := ring[(i+1)%len(ring)]
			seen[u] = true
			for _, e := range [][2]int32{{u, v}, {v, u}} {
				if caps[e] == 0 {
					t.Fatalf("%s: no link from %d to %d, in ring %v", m.Name, u, v, ring)
				}
				load[e]++
				most = max(most, load[e]/caps[e])
			}
		}
		if len(seen) != m.Ranks() || len(ring) != m.Ranks() {
			t.Fatalf("%s: ring %v is not through all GPUs", m.Name, ring)
		}
	}
	return most
}

// TestRings: a DGX-1V has a ring of double links and one of single links, which NCCL uses as three rings.
func TestRings(t *testing.T) {
	for _, c := range []struct {
		spec  string
		rings int
		rate  float64 // rings in the time of one over a link, of the narrowest bandwidth
	}{{"dgx1v", 3, 3}, {"mi300x", 3, 3}, {"h200", 0, 0}, {"dgx1v:nodes=2", 0, 0}} {
		m, err := Open(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		rings := m.Rings()
		if len(rings) != c.rings {
			t.Errorf("%s: %v", c.spec, rings)
			continue
		}
		if len(rings) == 0 {
			continue
		}
		narrow := 0.0
		for i, l := range m.Links {
			if b := m.Bandwidth(int32(i)); max(l.From, l.To) < int32(m.Ranks()) && (narrow == 0 || b < narrow) {
				narrow = b
			}
		}
		if got := float64(len(rings)) / carried(t, m, rings) / narrow; got < c.rate-1e-6 {
			t.Errorf("%s: %v rings in the time of one", c.spec, got)
		}
	}
}

// hasCycle reports whether links in both directions make a cycle through all GPUs, by trying all orders.
func hasCycle(m *Topology) bool {
	n, joined := m.Ranks(), map[[2]int32]bool{}
	for _, l := range m.Links {
		joined[[2]int32{l.From, l.To}] = true
	}
	var from func(last int32, used uint, count int) bool
	from = func(last int32, used uint, count int) bool {
		for v := range int32(n) {
			there := joined[[2]int32{last, v}] && joined[[2]int32{v, last}]
			if there && (count == n && v == 0 || used>>v&1 == 0 && from(v, used|1<<v, count+1)) {
				return true
			}
		}
		return false
	}
	return from(0, 1, 1)
}

// TestRingsRandom: on random machines a ring is found where there is one.
func TestRingsRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 39))
	for range 200 {
		m := &Topology{Name: "random", Nodes: 1, GPUs: 3 + r.IntN(5), Classes: []Class{{Name: "wire", Bandwidth: 10}}}
		for i := range m.GPUs {
			m.Places = append(m.Places, Place{Kind: GPU, Group: "gpu", Index: i})
		}
		for range m.GPUs + r.IntN(2*m.GPUs) {
			u, v, w := r.Int32N(int32(m.GPUs)), r.Int32N(int32(m.GPUs)), 1+r.Int32N(3)
			if u == v {
				continue
			}
			m.Links = append(m.Links, Link{From: u, To: v, Width: w})
			if r.IntN(4) > 0 {
				m.Links = append(m.Links, Link{From: v, To: u, Width: w})
			}
		}
		rings := m.Rings()
		carried(t, m, rings)
		if (len(rings) > 0) != hasCycle(m) {
			t.Errorf("%+v: %v", m.Links, rings)
		}
	}
}
