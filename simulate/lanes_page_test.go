package simulate_test

import (
	"fmt"
	"math"
	"testing"

	"mscclc/simulate"
	"mscclc/simulate/devices"
)

// manyCopies are the numbers of copies of scratch that are tried.
var manyCopies = []int{2, 3, 5, 6, 8}

// best looks for the fastest variant of these lanes: for each algorithm and number of lanes it climbs, with four
// copies of scratch, and goes on from the best with other numbers of copies. One lane has the copies that it has.
func (b *laneBench) best(t *testing.T, lanes ...int) (best laneVariant) {
	took := map[laneVariant]float64{}
	micros := func(v laneVariant) float64 {
		if _, ok := took[v]; !ok {
			took[v] = math.Inf(1)
			if r := b.run(t, v, nil); r != nil {
				took[v] = r.Micros
			}
		}
		return took[v]
	}
	least := math.Inf(1)
	try := func(v laneVariant) {
		v = climb(v, micros)
		if at := micros(v); at < least {
			best, least = v, at
		}
	}
	names, _ := b.tries()
	for _, name := range names {
		for _, n := range lanes {
			v := laneVariant{name, n, 4, 8, 64 << 10}
			if n == 1 {
				v = laneVariant{name, n, 0, 64, 512 << 10}
			}
			if b.program(t, v) != nil {
				try(v)
			}
		}
	}
	for _, c := range manyCopies {
		if v := best; v.copies > 0 {
			v.copies = c
			try(v)
		}
	}
	return best
}

// climb goes from a variant to neighbours, of half and twice the replicas and tile, as long as one is better.
func climb(v laneVariant, micros func(laneVariant) float64) laneVariant {
	for again := true; again; {
		again = false
		for _, by := range [][2]int{{1, -2}, {2, 1}, {-2, 1}, {1, 2}, {2, -2}, {-2, 2}} {
			next := v
			next.replicas, next.tile = scaled(v.replicas, by[0]), scaled(v.tile, int64(by[1]))
			if next.replicas < 1 || next.replicas > 128 || next.tile < 16<<10 || next.tile > 4<<20 {
				continue
			}
			if micros(next) < micros(v) {
				v, again = next, true
			}
		}
	}
	return v
}

// scaled is n times by, or where that is below 0, n divided by it.
func scaled[T int | int64](n, by T) T {
	if by < 0 {
		return n / -by
	}
	return n * by
}

// A laneGap says what part of the bound a variant reaches, and why not all, in per cent of it.
type laneGap struct {
	share, busy              float64 // and how long the busiest link is occupied, of the time
	bytes, messages, waiting float64
	link                     string
}

// gap simulates a variant with the device's costs, and again where messages cost the proxies and NICs nothing but their
// bytes. Were the busiest link always occupied, the algorithm's bytes there would be all that is missing.
func (b *laneBench) gap(t *testing.T, v laneVariant) (g laneGap) {
	free, err := devices.CostsOf(b.topo.Device)
	if err != nil {
		t.Error(err)
		return g
	}
	free.Network = devices.NetworkCosts{}
	share := func(r *simulate.Result) float64 { return 100 * laneBytes / r.Micros / b.bound() }
	r, without := b.run(t, v, nil), b.run(t, v, free)
	if r == nil || without == nil {
		t.Errorf("there is no room for %v", v)
		return g
	}
	g.share, g.busy = share(r), 100*r.Occupied
	g.link = b.topo.Classes[b.topo.Links[r.Link].Class].Name
	g.bytes = max(100-g.share/r.Occupied, 0)
	g.messages = min(max(share(without)-g.share, 0), max(100-g.share-g.bytes, 0))
	g.waiting = max(100-g.share-g.bytes-g.messages, 0)
	return g
}

// target returns what a variant is to reach, in per cent of the bound.
func (r *laneRow) target() float64 {
	switch {
	case r.collective == "alltoall":
		return 97
	case r.machine == "dgx1v":
		return 95
	case r.machine == "mi300x":
		return 88 // what a wire's overhead leaves
	}
	return 90
}

// verdict reports whether a row meets its target, or the busiest link is occupied for 95 % of the time, or else what is
// the most of what is missing.
func (g laneGap) verdict(target float64) string {
	most, why := 0., ""
	for _, part := range []struct {
		of   float64
		name string
	}{{g.bytes, "the algorithm's bytes on " + g.link}, {g.messages, "messages"}, {g.waiting, "waiting"}} {
		if part.of > most {
			most, why = part.of, part.name
		}
	}
	switch {
	case math.Round(g.share*10)/10 >= target:
		return "met"
	case math.Round(g.busy) >= 95:
		return fmt.Sprintf("link busy; %.0f %% missed, most by %s", target, why)
	}
	return fmt.Sprintf("%.0f %% missed, most by %s", target, why)
}

// text returns the row of the page.
func (b *laneBench) text(t *testing.T) string {
	one, many := b.gap(t, b.one), b.gap(t, b.many)
	return fmt.Sprintf("| %s:nodes=%d | %s | %.1f | %.1f %% | %s | %.1f %% | %s | %.0f %% of %s | ", b.machine, b.nodes,
		b.collective, b.bound()/1e3, one.share, b.one, many.share, b.many, many.busy, many.link) +
		fmt.Sprintf("%.1f, %.1f, %.1f | %s |\n", many.bytes, many.messages, many.waiting, many.verdict(b.target()))
}

const lanesHead = `# What lanes fill, simulated

This page simulates calls of 1 GB of bf16 on machines of topology/machines, with the costs of simulate/devices. Each is
one call alone, in protocol Simple, compiled for its nodes (--nodes), as the executor runs it.

The bound is a rate that no algorithm surpasses, in GB/s of algbw. It is the rate of all links into a GPU, or of all
links into a node from others, whichever is less. For an AllReduce it is half of that. A share is a share of the bound.

The columns "by" have the best program of one lane, and of several lanes. The search tried:

* four algorithms of the catalog (hierarchical, multinode_allpairs, twophase_hierarchical and two_step) and
  examples/dgx1v;
* lanes (4 to 40), copies of scratch (2 to 8), replicas (1 to 128) and tiles (16 KB to 4 MB), whatever sizes the files
  declare.

The search goes from neighbour to neighbour, so there may be better ones. Memory is made for the replicas and the tile
of the call, so that tiles of all replicas go as one message (transport/PROXY.md). TestLanes writes this page, and
checks it.

All programs here are compiled one-sided, also those of one lane. Programs that are lowered from two-sided ones may
reach more in one lane: rail_rings has 90.4 % for the AllGather of dgx_h100:nodes=2 (CHOICES.md).

All numbers are simulated. Some costs are guesses, such as what a message takes of the proxies and NICs (see "source" in
each file). Nothing here was run on GPUs of several nodes.

"Busiest link" is the link that is occupied for the longest time, with its part of the time.

"Missing" is what the share is short of 100 %, in three parts:

* **Bytes**: the part that would still be missing if that link were always occupied. The algorithm and the protocol send
  more bytes over it than the bound does.
* **Messages**: the part that would not be missing if messages cost the proxies and NICs nothing but their bytes.
* **Waiting**: the rest. Lanes wait for signals, and for the first and last tiles.

The rows of dgx1v are of packed trees (examples/dgx1v), and the bound is that of NVLink alone.

The targets are:

| calls | target |
|---|---|
| AllToAll | 97 % |
| others on mi300x, where the wire's overhead bounds it | 88 % |
| others on dgx1v | 95 % |
| all others | 90 % |

If a row misses its target, the last column says whether the busiest link is occupied for 95 % of the time, and what is
missing most.

| machine | collective | bound | one lane | by | several lanes | by | busiest link | missing: bytes, messages, waiting | target |
|---|---|---|---|---|---|---|---|---|---|
`
