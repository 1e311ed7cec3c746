package synthesis

import (
	"context"
	"math/big"
	"testing"
	"time"
)

func both(m *Machine, u, v int32, c int64) {
	m.Arcs = append(m.Arcs, Arc{u, v, c}, Arc{v, u, c})
}

func dgx() *Machine {
	m := &Machine{Vertices: 8, Ranks: 8}
	for _, e := range [][2]int32{{0, 3}, {0, 4}, {1, 2}, {1, 5}, {2, 3}, {4, 7}, {5, 6}, {6, 7}} {
		both(m, e[0], e[1], 50)
	}
	for _, e := range [][2]int32{{0, 1}, {0, 2}, {1, 3}, {2, 6}, {3, 7}, {4, 5}, {4, 6}, {5, 7}} {
		both(m, e[0], e[1], 25)
	}
	return m
}

func rails(nodes int) *Machine {
	r := nodes * 8
	m := &Machine{Vertices: r + nodes + 8, Ranks: r}
	for v := range int32(r) {
		both(m, v, int32(r)+v/8, 450)
		both(m, v, int32(r+nodes)+v%8, 50)
	}
	return m
}

func TestPack(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *Machine
		rate *big.Rat // per root
		k    int64
	}{
		{"dgx", dgx(), big.NewRat(150, 7), 6},
		{"dgx", dgx(), big.NewRat(150, 7), 1},
		{"rails2", rails(2), big.NewRat(100, 3), 2},
		{"rails2", rails(2), big.NewRat(100, 3), 1},
		{"rails4", rails(4), big.NewRat(450+50, 28), 1},
	} {
		counts := make([]int64, c.m.Ranks)
		for i := range counts {
			counts[i] = c.k
		}
		begin := time.Now()
		rate := new(big.Rat).Quo(c.rate, big.NewRat(c.k, 1))
		f, err := Pack(context.Background(), c.m, counts, rate)
		if err != nil {
			t.Fatal(err)
		}
		h := 0
		for _, tr := range f.Trees {
			h = max(h, tr.Height())
		}
		x, _ := new(big.Rat).Quo(big.NewRat(c.k, 1), new(big.Rat).Mul(f.Scale, c.rate)).Float64()
		t.Logf("%s k=%d: %d trees, share %.4f, height %d, %v", c.name, c.k, len(f.Trees), x, h, time.Since(begin))
	}
}
