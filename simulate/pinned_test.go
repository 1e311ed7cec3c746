package simulate_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"mscclc"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/simulate"
	"mscclc/topology"
)

// These hold parts of the model one by one to what is worked out by hand, on links of 1 us and 1,000 bytes a
// microsecond, and devices that take nothing but what a test gives them.

// source compiles a text, two-sided.
func source(t *testing.T, proto ir.Protocol, text string) *either.Program {
	t.Helper()
	p, err := mscclc.Compile("pinned.mscl", []byte(text), mscclc.Options{Lang: lang.Options{Protocol: &proto}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// exact is near to what rounding and free's rates leave.
func exact(t *testing.T, what string, got, want float64) {
	t.Helper()
	near(t, what, got, want, 1e-4)
}

// pairs has rank s of each pair send its input to rank d.
func pairs(ranks int, list ...[2]int) string {
	var require, copies strings.Builder
	for _, p := range list {
		fmt.Fprintf(&require, "    require chunk(%d, output, 0) == chunk(%d, input, 0)\n", p[1], p[0])
		fmt.Fprintf(&copies, "chunk(%d, input, 0).copy(%d, output, 0)\n", p[0], p[1])
	}
	return fmt.Sprintf("algorithm pairs()\ncollective custom(%d, input = 1, output = 1) {\n%s}\n%s", ranks,
		require.String(), copies.String())
}

// chain has rank 0's input go from rank to rank.
func chain(ranks int) string {
	return fmt.Sprintf("algorithm chain()\ncollective broadcast(%d, root = 0)\nlet c = chunk(0, input, 0).copy(0, output, 0)\nfor r in 1..%d { c = c.copy(r, output, 0) }\n", ranks, ranks)
}

// calls returns a call of a given number of bytes in messages of a tile each.
func calls(bytes, tile int64, slots int) simulate.Call {
	return simulate.Call{Bytes: bytes, DType: data.F32, Width: launch.Width{Tile: tile}, SlotBytes: tile, Slots: slots}
}

// TestSharedNIC: two flows from two GPUs of a NIC to two of another take twice what one takes, latency apart; with a
// NIC each, as long as one. The way is 0 + 2 + 2 + 0 us.
func TestSharedNIC(t *testing.T) {
	const bytes, way = 100_000, 4
	one := source(t, ir.Simple, pairs(8, [2]int{0, 4}))
	two := source(t, ir.Simple, pairs(8, [2]int{0, 4}, [2]int{1, 5}))
	for _, c := range []struct {
		p    *either.Program
		nics int
		want float64
	}{{one, 1, 100}, {two, 1, 200}, {two, 4, 100}} {
		got := run(t, c.p, machine(t, map[string]int{"nodes": 2, "nics": c.nics}), free(), calls(bytes, bytes, 2)).Micros
		exact(t, fmt.Sprintf("%d NICs", c.nics), got, way+c.want)
	}
}

// TestTiles: a chain of n hops with T tiles takes n + T - 1 tiles' times, and the latency of n links.
func TestTiles(t *testing.T) {
	for _, hops := range []int{1, 2, 3} {
		p := source(t, ir.Simple, chain(hops+1))
		for _, tiles := range []int64{1, 5, 40} {
			got := run(t, p, mesh(t), free(), calls(tiles*1000, 1000, 64)).Micros
			exact(t, fmt.Sprintf("%d hops, %d tiles", hops, tiles), got, float64(hops)+float64(hops)-1+float64(tiles))
		}
	}
}

// TestCutThrough: packets are sent on as they come, so that a chain of n hops takes one time of its data, and n links'
// latency.
func TestCutThrough(t *testing.T) {
	p := source(t, ir.LL, chain(4))
	exact(t, "three hops of packets", run(t, p, mesh(t), free(), calls(10_000, 10_000, 8)).Micros, 3+10)
}

// TestWire: what a protocol's flags take of a link is taken for every byte.
func TestWire(t *testing.T) {
	p := source(t, ir.LL, pairs(4, [2]int{0, 1}))
	costs := free()
	costs.TwoSided.Protocol[ir.LL].Wire = 2
	exact(t, "10,000 bytes in packets", run(t, p, mesh(t), costs, calls(10_000, 10_000, 8)).Micros, 1+20)
}

// TestStep: each message costs both blocks a step, a call a launch, and a message between nodes the network's.
func TestStep(t *testing.T) {
	costs := free()
	costs.TwoSided.Launch, costs.TwoSided.Network, costs.TwoSided.Protocol[ir.Simple].Step = 7, 11, 3
	within, between := source(t, ir.Simple, pairs(4, [2]int{0, 1})), source(t, ir.Simple, pairs(8, [2]int{0, 4}))
	exact(t, "within a node", run(t, within, mesh(t), costs, calls(5000, 5000, 2)).Micros, 7+3+1+5+3)
	exact(t, "between nodes", run(t, between, machine(t, map[string]int{"nodes": 2}), costs, calls(5000, 5000, 2)).Micros,
		7+3+11+4+5+3)
}

// TestRate: a block that moves half of what a link does takes twice as long to send, and as long again to receive what
// is then there.
func TestRate(t *testing.T) {
	costs := free()
	costs.TwoSided.Protocol[ir.Simple].Block = 500
	p := source(t, ir.Simple, pairs(4, [2]int{0, 1}))
	exact(t, "one message", run(t, p, mesh(t), costs, calls(5000, 5000, 2)).Micros, 10+1+10)
}

// TestCredit: with one slot a sender waits for each credit: its own message, the way there, what a receiver takes, and
// the way back.
func TestCredit(t *testing.T) {
	costs := free()
	costs.TwoSided.Credit = 0.5
	p := source(t, ir.Simple, pairs(4, [2]int{0, 1}))
	const messages = 10
	exact(t, "ten messages in one slot", run(t, p, mesh(t), costs, calls(messages*1000, 1000, 1)).Micros,
		messages*2+(messages-1)*(1+0.5))
}

// TestMemory: a GPU's memory is read and written once for each byte that it sums, and read for the other operand.
func TestMemory(t *testing.T) {
	costs := free()
	costs.Memory = 100
	p := source(t, ir.Simple,
		"algorithm local()\ncollective custom(1, input = 2, output = 1) {\n    require chunk(0, output, 0) == chunk(0, input, 0)\n}\nchunk(0, input, 0).copy(0, output, 0)\n")
	exact(t, "a copy", run(t, p, mesh(t), costs, calls(2000, 1000, 2)).Micros, 2*1000/100)
}

// TestQueue: messages queue at a link when they are there, so that ranks that all send to all at once, and each to rank
// 0 first, finish no later than if the links were shared: three messages of each, and one more where the first ones
// met.
func TestQueue(t *testing.T) {
	var all [][2]int
	topo := star(t)
	for r := range 4 {
		for p := range 4 {
			if p != r {
				all = append(all, [2]int{r, p})
			}
		}
	}
	text := "algorithm all()\ncollective alltoall(4)\nfor r in 0..4, p in 0..4 { chunk(r, input, p).copy(p, output, r) }\n"
	got := run(t, source(t, ir.Simple, text), topo, free(), calls(4*1000, 1000, 2)).Micros
	if got < 3+2 || got > 4+2.01 {
		t.Errorf("%d messages of 1 us through 4 links take %.2f us", len(all), got)
	}
}

// TestEven: replicas share links and memory evenly. 100,000 bytes take 100 us to store, and a sum of them 100 us of
// memory. In a ReduceScatter of two ranks sums begin when both ranks have stored all, so that its latency is its
// interval. In a Reduce the root sums what the other has stored, which takes both times; of calls that follow each
// other, the other stores what the next one reduces meanwhile. All wait a link's latency or two.
func TestEven(t *testing.T) {
	costs := free()
	costs.Memory = 3000
	for _, c := range []struct {
		name   string
		bytes  int64
		figure simulate.Figure
		want   float64
	}{
		{"reducescatter/allpairs", 200_000, simulate.Latency, 201.5}, {"reducescatter/allpairs", 200_000, simulate.Interval, 201.5},
		{"reduce/direct", 100_000, simulate.Latency, 202}, {"reduce/direct", 100_000, simulate.Interval, 101.5},
	} {
		p := compile(t, c.name, true, ir.Simple, ranks("2"))
		call := simulate.Call{Bytes: c.bytes, DType: data.F32, Width: launch.Width{Replicas: 2, Tile: 50_000},
			Figure: c.figure}
		near(t, fmt.Sprintf("%s, %v", c.name, c.figure), run(t, p, mesh(t), costs, call).Micros, c.want, 0.01)
	}
}

// TestFigures: a chain of n hops passes one message on in n times, one-sided or two-sided, and its latency is that. Its
// ranks are in other calls at once, so that of calls which follow each other one ends each time that a rank takes for
// its own part: a step and its data, which grow with no hop.
func TestFigures(t *testing.T) {
	costs := free()
	for p := range ir.NumProtocols {
		costs.OneSided.Protocol[p].Step, costs.TwoSided.Protocol[p].Step = 1, 1
	}
	text := "topology line()\nclass wire 1us 1GB/s\nnode {\n gpu 16\n link gpu[i] gpu[*] wire\n}\n"
	topo, err := topology.Read("line.topo", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	took := func(p *either.Program, figure simulate.Figure) float64 {
		return run(t, p, topo, costs, simulate.Call{Bytes: 2000, DType: data.F32, Width: launch.Width{Replicas: 1},
			Figure: figure}).Micros
	}
	for _, onesided := range []bool{false, true} {
		var latency, interval [2]float64
		for i, n := range []string{"8", "16"} {
			p := compile(t, "broadcast/chain", onesided, ir.LL, ranks(n))
			latency[i], interval[i] = took(p, simulate.Latency), took(p, simulate.Interval)
		}
		if more := latency[1] - latency[0]; math.Abs(more-8*(1+1)) > 0.01 { // eight hops of a step and a link
			t.Errorf("one-sided %v: eight hops more add %.2f us to a latency of %.2f", onesided, more, latency[0])
		}
		if interval[0] < 2 || interval[0] > 6 || math.Abs(interval[1]-interval[0]) > 0.01 {
			t.Errorf("one-sided %v: intervals of 8 and of 16 ranks are %.2f us and %.2f", onesided, interval[0], interval[1])
		}
	}
}

// TestSwitch: by multicast a sum of four ranks' 100,000 bytes goes up each rank's link and comes down one, and is
// written up one and down each: 400 us and 100 of each direction, of which some overlap. Rank by rank three are read
// and three written, one after the other: 600 us of each direction.
func TestSwitch(t *testing.T) {
	p := compile(t, "allreduce/switch", true, ir.Simple, ranks("4"))
	call := simulate.Call{Bytes: 400_000, DType: data.F32, Width: launch.Width{Replicas: 1, Tile: 100_000},
		Trace: true} // one launch
	if got := run(t, p, star(t), free(), call).Micros; got < 600 || got > 600*4/3.+20 {
		t.Errorf("rank by rank: %.0f us", got)
	}
	call.Multicast = true
	if got := run(t, p, star(t), free(), call).Micros; got < 500 || got > 800 {
		t.Errorf("by multicast: %.0f us", got)
	}
}

// mesh has a link for each pair of GPUs, and star a switch in their middle.
func mesh(t *testing.T) *topology.Topology { return small(t, "link gpu[i] gpu[*] wire") }
func star(t *testing.T) *topology.Topology { return small(t, "switch s\n link gpu[i] s wire") }

func small(t *testing.T, links string) *topology.Topology {
	t.Helper()
	topo, err := topology.Read("small.topo",
		strings.NewReader("topology small()\nclass wire 1us 1GB/s\nnode {\n gpu 4\n "+links+"\n}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}
