package bound_test

import (
	"context"
	"errors"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/topology"
	"mscclc/topology/bound"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// random returns a topology whose GPUs reach each other, and its links; half have links of unequal directions, and a
// third switches.
func random(r *rand.Rand, most int) (*topology.Topology, []line, int) {
	gpus := 2 + r.IntN(most-2)
	switches := 0
	if r.IntN(3) == 0 {
		switches = r.IntN(most - gpus + 1)
	}
	n := int32(gpus + switches)
	unequal := r.IntN(2) == 0
	caps := map[[2]int32]int32{}
	join := func(u, v int32) {
		c := 1 + r.Int32N(12)
		caps[[2]int32{u, v}] = c
		if unequal {
			c = r.Int32N(13)
		}
		if c > 0 {
			caps[[2]int32{v, u}] = c
		}
	}
	for v := int32(1); v < n; v++ {
		join(r.Int32N(v), v)
	}
	for range r.IntN(2 * int(n)) {
		if u, v := r.Int32N(n), r.Int32N(n); u != v {
			join(u, v)
		}
	}
	var lines []line
	for u := range n {
		for v := range n {
			if c := caps[[2]int32{u, v}]; c > 0 {
				lines = append(lines, line{u, v, c})
			}
		}
	}
	return direct(gpus, switches, lines), lines, int(n)
}

// leaving returns the capacity of the lines from a set of vertices to the rest.
func leaving(lines []line, set uint) (sum int64) {
	for _, l := range lines {
		if set>>l.from&1 == 1 && set>>l.to&1 == 0 {
			sum += int64(l.cap)
		}
	}
	return sum
}

// worst returns the least rate that any cut of n vertices allows, by the definition of each collective.
func worst(kind ir.Kind, lines []line, n, gpus, root int, weights []int64) *big.Rat {
	var least *big.Rat
	total := int64(0)
	for _, w := range weights {
		total += w
	}
	for set := range uint(1) << n {
		inside, outside, weight := bits.OnesCount(set&(1<<gpus-1)), 0, int64(0)
		outside = gpus - inside
		for i, w := range weights {
			if set>>i&1 == 1 {
				weight += w
			}
		}
		hasRoot := set>>root&1 == 1
		moved, times := int64(0), total
		switch kind {
		case ir.AllGather:
			if outside > 0 {
				moved = weight
			}
		case ir.ReduceScatter:
			if inside > 0 {
				moved = total - weight
			}
		case ir.Broadcast:
			if times = 1; hasRoot && outside > 0 {
				moved = 1
			}
		case ir.ReduceTo:
			if times = 1; !hasRoot && inside > 0 {
				moved = 1
			}
		case ir.Scatter:
			if hasRoot {
				moved = total - weight
			}
		case ir.Gather:
			if !hasRoot {
				moved = weight
			}
		case ir.AllReduce:
			if times = 1; inside > 0 && outside > 0 {
				moved = 1
			}
		case ir.AllToAll:
			times, moved = int64(gpus), int64(inside)*int64(outside)
		}
		if moved == 0 {
			continue
		}
		if r := big.NewRat(leaving(lines, set)*times, moved); least == nil || r.Cmp(least) < 0 {
			least = r
		}
	}
	return least
}

// TestRandom compares bounds of random topologies with all their cuts.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	solved := 0
	for range 60 {
		on, lines, n := random(r, 12)
		gpus := on.GPUs
		for _, kind := range bound.Kinds {
			q := bound.Question{Kind: kind, Root: r.IntN(gpus)}
			weights := make([]int64, gpus)
			for i := range weights {
				weights[i] = 1
			}
			if kind == ir.AllGather || kind == ir.ReduceScatter || kind == ir.Gather || kind == ir.Scatter {
				for i := range weights {
					weights[i] = r.Int64N(4)
				}
				weights[(q.Root+1)%gpus] = 1
				q.Weights = weights
			}
			want := worst(kind, lines, n, gpus, q.Root, weights)
			b, err := bound.Of(context.Background(), on, q)
			if list := (diag.List)(nil); errors.As(err, &list) && (want.Sign() == 0 || kind == ir.Gather || kind == ir.Scatter ||
				kind == ir.AllGather || kind == ir.ReduceScatter) {
				continue // some rank is not reached, even if it has no weight
			}
			if err != nil {
				t.Fatalf("%v of %v: %v", kind, lines, err)
			}
			solved++
			if !b.Exact {
				t.Errorf("%v of %d GPUs, %v: not exact: %s, reached %s", kind, gpus, lines, b.Rate, b.Reached)
			}
			switch order := b.Rate.Cmp(want); {
			case kind == ir.AllReduce || kind == ir.AllToAll:
				if order > 0 {
					t.Errorf("%v of %d GPUs, %v: %s is above what a cut allows, %s", kind, gpus, lines, b.Rate, want)
				}
			case order != 0:
				t.Errorf("%v of %d GPUs, root %d, weights %v, %v: %s, want %s", kind, gpus, q.Root, weights, lines, b.Rate, want)
			}
			if b.Cut == "" {
				t.Errorf("%v of %v: no cut is named", kind, lines)
			}
		}
	}
	if solved < 300 {
		t.Errorf("only %d bounds were compared", solved)
	}
}

// TestAllReduceByAllCuts compares with the linear program over all cuts of small topologies, by gonum's solver.
func TestAllReduceByAllCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 25 {
		on, lines, n := random(r, 5)
		b, err := bound.Of(context.Background(), on, bound.Question{Kind: ir.AllReduce})
		if err != nil {
			continue
		}
		if want := allCuts(t, lines, n, on.GPUs); b.MBs() < want*(1-1e-7) || b.MBs() > want*(1+1e-7) || !b.Exact {
			t.Errorf("%d GPUs, %v: %v (exact %v), want %v", on.GPUs, lines, b.MBs(), b.Exact, want)
		}
	}
}

// allCuts maximises the sum of w, where b1 and b2 of each line are at most its capacity together, w of each set is at
// most b1 into it and b2 out of it, and switches add nothing, in gonum's standard form: equations with a slack each.
func allCuts(t *testing.T, lines []line, n, gpus int) float64 {
	e := len(lines)
	var rows [][]float64
	var right []float64
	for set := range uint(1) << n {
		if in := set & (1<<gpus - 1); in == 0 || in == 1<<gpus-1 {
			continue
		}
		into, out := make([]float64, gpus+2*e), make([]float64, gpus+2*e)
		for i := range gpus {
			into[i], out[i] = float64(set>>i&1), float64(set>>i&1)
		}
		for k, l := range lines {
			switch from, to := set>>l.from&1, set>>l.to&1; {
			case from == 0 && to == 1:
				into[gpus+k] = -1
			case from == 1 && to == 0:
				out[gpus+e+k] = -1
			}
		}
		rows, right = append(rows, into, out), append(right, 0, 0)
	}
	for k, l := range lines {
		row := make([]float64, gpus+2*e)
		row[gpus+k], row[gpus+e+k] = 1, 1
		rows, right = append(rows, row), append(right, float64(l.cap))
	}
	for v := gpus; v < n; v++ { // as much of b1 leaves a switch as enters it
		for _, sign := range []float64{1, -1} {
			row := make([]float64, gpus+2*e)
			for k, l := range lines {
				if int(l.to) == v {
					row[gpus+k] += sign
				}
				if int(l.from) == v {
					row[gpus+k] -= sign
				}
			}
			rows, right = append(rows, row), append(right, 0)
		}
	}
	cols := gpus + 2*e
	a := mat.NewDense(len(rows), cols+len(rows), nil)
	c := make([]float64, cols+len(rows))
	for i, row := range rows {
		a.SetRow(i, append(row, make([]float64, len(rows))...))
		a.Set(i, cols+i, 1)
	}
	for i := range gpus {
		c[i] = -1
	}
	best, _, err := lp.Simplex(c, a, right, 1e-10, nil)
	if err != nil {
		t.Fatal(err)
	}
	return -best
}
