package simulate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// These hold how messages between nodes share links, worked out by hand on links of 1,000 bytes a microsecond.

// A letter is what a rank sends another: some chunks of 100,000 bytes, 100 us alone on a link.
type letter struct{ from, to, chunks int }

// letters returns a program of all, at most one to a rank, and a call of it.
func letters(t *testing.T, ranks int, list []letter) (*either.Program, simulate.Call) {
	t.Helper()
	most := 1
	for _, l := range list {
		most = max(most, l.chunks)
	}
	var require, copies strings.Builder
	for _, l := range list {
		fmt.Fprintf(&require, "    for i in 0..%d { require chunk(%d, output, i) == chunk(%d, input, i) }\n", l.chunks, l.to,
			l.from)
		fmt.Fprintf(&copies, "chunk(%d, input, 0, %d).copy(%d, output, 0)\n", l.from, l.chunks, l.to)
	}
	text := fmt.Sprintf("algorithm letters()\ncollective custom(%d, input = %d, output = %d) {\n%s}\n%s", ranks, most, most,
		require.String(), copies.String())
	return lowered(t, text), simulate.Call{Bytes: int64(most) * 100_000, DType: data.F32,
		Width: launch.Width{Replicas: 1, Tile: 100_000},
		Trace: true}
}

// came returns when each letter had come, by its receiver: when the receiver's last wait ended.
func came(p *either.Program, r *simulate.Result) map[int]float64 {
	at := map[int]float64{}
	for _, s := range r.Trace.Spans {
		if p.Steps[s.Step].Op != ir.Await {
			continue
		}
		for b := range p.Blocks {
			if tb := &p.Blocks[b]; s.Step >= tb.Steps.First && s.Step < tb.Steps.End {
				at[int(tb.Rank)] = max(at[int(tb.Rank)], float64(s.Begin+s.Length)/1e3)
			}
		}
	}
	return at
}

// TestShare: messages on a link share it. The short one of two is through when it has had half of the link for twice
// its own time, and the long one has all of it then. What a message leaves of a link, since another is fuller, the
// others there have. The way is 4 us.
func TestShare(t *testing.T) {
	const way = 4
	for _, c := range []struct {
		name  string
		nodes int
		list  []letter
		want  map[int]float64 // microseconds, by receiver
	}{
		{"alone", 2, []letter{{0, 4, 9}}, map[int]float64{4: 900}},
		{"a long one and a short one", 2, []letter{{0, 4, 9}, {1, 5, 1}}, map[int]float64{4: 1000, 5: 200}},
		{"of one rank", 2, []letter{{0, 4, 9}, {0, 5, 1}}, map[int]float64{4: 1000, 5: 200}},
		{"three", 2, []letter{{0, 4, 3}, {1, 5, 1}, {2, 6, 2}}, map[int]float64{4: 600, 5: 300, 6: 500}},
		{"into and out of", 2, []letter{{0, 4, 2}, {4, 0, 1}}, map[int]float64{4: 200, 0: 100}},
		// three into node 2 have a third each, so that the other one out of node 0 has two
		{"max-min", 3, []letter{{0, 4, 2}, {1, 8, 1}, {5, 9, 1}, {6, 10, 1}},
			map[int]float64{4: 300, 8: 300, 9: 300, 10: 300}},
	} {
		p, call := letters(t, 4*c.nodes, c.list)
		topo := machine(t, map[string]int{"nodes": c.nodes, "nics": 1})
		at := came(p, run(t, p, topo, free(), call))
		for rank, want := range c.want {
			exact(t, fmt.Sprintf("%s: to rank %d", c.name, rank), at[rank], way+want)
		}
	}
}

// TestShareAll: a link that messages want all the time is busy all the time, and not more. So the last of random
// messages through one NIC ends when the NIC has had the time for all bytes. Messages of 32 ranks to all, whose speeds
// are not set for each, end no sooner than the fullest link can carry them, and not much later.
func TestShareAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var list []letter
		sum := 0
		for to := 4; to < 8; to++ {
			l := letter{random.IntN(4), to, 1 + random.IntN(9)}
			list, sum = append(list, l), sum+l.chunks
		}
		p, call := letters(t, 8, list)
		r := run(t, p, machine(t, map[string]int{"nodes": 2, "nics": 1}), free(), call)
		exact(t, fmt.Sprint(list), r.Micros, 4+100*float64(sum))
		if r.Occupied < 0.95 || r.Occupied > 1 {
			t.Errorf("%v: a link is busy for %.3f of the time", list, r.Occupied)
		}
	}
	const ranks, chunk = 32, 10_000
	text := fmt.Sprintf("algorithm all()\ncollective alltoall(%d)\nfor r in 0..%d, p in 0..%d { chunk(r, input, p)"+
		".copy(p, output, r) }\n", ranks, ranks, ranks)
	call := simulate.Call{Bytes: ranks * chunk, DType: data.F32, Width: launch.Width{Replicas: 1, Tile: chunk}}
	got := run(t, lowered(t, text), machine(t, map[string]int{"nodes": 8, "nics": 1}), free(), call).Micros
	if least := 4. * 28 * chunk / 1000; got < least || got > 1.1*least {
		t.Errorf("all to all takes %.0f us, where a NIC has bytes for %.0f", got, least)
	}
}

// TestShareWithMoves: a link that leads to other ranks of the node and to the NIC has both kinds: 100 us that a block
// moves and 100 us of a message take 200 us together, and so do two of a message beside it.
func TestShareWithMoves(t *testing.T) {
	text := `topology mixed(nodes = 2)
class wire 0us 1GB/s
class fast 0us 100GB/s
class net 0us 100GB/s network
node {
    gpu 4
    nic 1
    switch s
    link gpu[i] s wire
    link nic[0] s fast
}
switch fabric
link nic[i] fabric net
`
	topo, err := topology.Read("mixed.topo", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		list []letter
		want float64
	}{
		{[]letter{{0, 1, 1}}, 100}, {[]letter{{0, 4, 1}}, 100}, {[]letter{{0, 4, 1}, {0, 1, 1}}, 200},
		{[]letter{{0, 1, 1}, {0, 4, 1}}, 200}, {[]letter{{0, 1, 1}, {0, 4, 1}, {0, 5, 1}}, 300},
		{[]letter{{1, 0, 1}, {0, 4, 1}}, 100},
	} {
		p, call := letters(t, 8, c.list)
		exact(t, fmt.Sprint(c.list), run(t, p, topo, free(), call).Micros, c.want)
	}
}

// TestShareCounts: messages of counts alone, which occupy nothing where a NIC costs nothing, do not hold up others that
// leave nothing of a link.
func TestShareCounts(t *testing.T) {
	b := newLaneBench(t, laneRow{machine: "dgx_h100", nodes: 8, collective: "reducescatter"})
	costs, err := devices.CostsOf(b.topo.Device)
	if err != nil {
		t.Fatal(err)
	}
	v := laneVariant{"multinode_allpairs", 8, 4, 16, 16 << 10}
	with := b.run(t, v, costs)
	costs.Network = devices.NetworkCosts{}
	if without := b.run(t, v, costs); without == nil || with == nil || without.Micros > with.Micros ||
		without.Micros < 0.9*with.Micros {
		t.Errorf("%+v, and where messages cost nothing %+v", with, without)
	}
}
