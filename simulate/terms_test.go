package simulate_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/simulate"
	"mscclc/simulate/devices"
)

// These hold the terms of the model that lanes share: resident CTAs, what a CTA moves over a link, and what messages
// cost a NIC. Each is worked out by hand, as in pinned_test.go.

// TestResident: 32 replicas of one block on a GPU that holds 16 CTAs have half the threads each, of which twice as many
// move 1.6 times as much. On a GPU that holds one, there is room for 8 of 64 threads. Where the call says how many
// replicas or threads there are, there is none.
func TestResident(t *testing.T) {
	const bytes = 3_200_000
	p := compile(t, "broadcast/direct", true, ir.Simple, ranks("2"))
	took := func(resident float64, width launch.Width) (float64, error) {
		costs := free()
		costs.OneSided.Resident, costs.OneSided.Protocol[ir.Simple].Block = resident, 10
		width.Tile = bytes
		r, err := simulate.Run(p, mesh(t), costs, simulate.Call{Bytes: bytes, DType: data.F32, Width: width})
		if err != nil {
			return 0, err
		}
		return r.Micros, nil
	}
	rate := func(threads float64) float64 { return 10 * math.Pow(threads/512, 0.7) }
	for _, c := range []struct {
		resident float64
		width    launch.Width
		ctas     float64 // that the launch has, and their threads
		threads  float64
	}{
		{0, launch.Width{}, 32, 512}, {32, launch.Width{}, 32, 512}, {31, launch.Width{}, 32, 256},
		{16, launch.Width{}, 32, 256}, {1, launch.Width{}, 8, 64}, {16, launch.Width{Replicas: 64}, 64, 128},
		{16, launch.Width{Threads: 512}, 16, 512},
	} {
		got, err := took(c.resident, c.width)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "resident", got, bytes/(c.ctas*rate(c.threads)), 0.01)
	}
	for _, width := range []launch.Width{{Replicas: 129}, {Replicas: 17, Threads: 512}} {
		if _, err := took(16, width); !errors.Is(err, simulate.ErrNoWay) || !strings.Contains(err.Error(), "at once") {
			t.Errorf("%+v: %v", width, err)
		}
	}
}

// TestSharedCTAs: four replicas of a lane that only sends share a CTA, and move as much as one where the lane bounds
// the call. So nine CTAs have room for four replicas of three lanes, and where no CTAs are shared they have not.
func TestSharedCTAs(t *testing.T) {
	const bytes = 1_200_000
	simple := ir.Simple
	text, err := algorithms.Open("allgather/multinode_allpairs")
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile("x.mscl", text, mscclc.Options{OneSided: true, Core: core.Options{Lanes: 4, Together: 4},
		Nodes: func(int) ([]int32, error) { return []int32{0, 1}, nil },
		Lang:  lang.Options{Protocol: &simple, Params: lang.Params{"nodes": 2, "gpus": 1}, Open: algorithms.Open}})
	if err != nil {
		t.Fatal(err)
	}
	topo := machine(t, map[string]int{"nodes": 2, "gpus": 1, "nics": 1})
	took := func(shares bool, resident float64) (float64, error) {
		costs := free()
		costs.OneSided.Resident, costs.OneSided.Shares, costs.OneSided.Protocol[ir.Simple].Block = resident, shares, 10
		call := simulate.Call{Bytes: bytes, DType: data.F32, Width: launch.Width{Replicas: 4, Threads: 512, Tile: bytes}}
		r, err := simulate.Run(p, topo, costs, call)
		if err != nil {
			return 0, err
		}
		return r.Micros, nil
	}
	own, err := took(false, 12)
	shared, failed := took(true, 9)
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	near(t, "the lane's own time", shared-own, bytes/2/10.*(1-1/4.), 0.05)
	for _, c := range []struct {
		shares   bool
		resident float64
	}{{false, 11}, {true, 8}} {
		if _, err := took(c.shares, c.resident); !errors.Is(err, simulate.ErrWide) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestLinkRate: a CTA that moves 10 bytes a microsecond and half of that over wires stores there at two thirds, since
// it loads from memory of its own.
func TestLinkRate(t *testing.T) {
	p := compile(t, "broadcast/direct", true, ir.Simple, ranks("2"))
	costs := free()
	costs.OneSided.Protocol[ir.Simple].Block = 10
	call := simulate.Call{Bytes: 100_000, DType: data.F32, Width: launch.Width{Replicas: 1, Tile: 100_000}}
	whole := run(t, p, mesh(t), costs, call).Micros
	costs.OneSided.Links = []devices.LinkCosts{{Class: "tunnel", Rate: 0.1}}
	exact(t, "another class", run(t, p, mesh(t), costs, call).Micros, whole)
	costs.OneSided.Links[0] = devices.LinkCosts{Class: "wire", Rate: 0.5}
	near(t, "over wires", run(t, p, mesh(t), costs, call).Micros, 20_000, 0.001)
}

// TestJointRate: a CTA that moves 10 bytes a microsecond moves what two joint steps do one after the other, though they
// begin together.
func TestJointRate(t *testing.T) {
	text := strings.Replace(pairs(3, [2]int{0, 1}, [2]int{0, 2}), "input = 1", "input = 2", 1)
	text = strings.ReplaceAll(strings.ReplaceAll(text, "== chunk(0, input, 0)\n}", "== chunk(0, input, 1)\n}"),
		"chunk(0, input, 0).copy(2", "chunk(0, input, 1).copy(2")
	simple := ir.Simple
	p, err := mscclc.Compile("pinned.mscl", []byte(text), mscclc.Options{OneSided: true, Lang: lang.Options{Protocol: &simple}})
	if err != nil {
		t.Fatal(err)
	}
	costs := free()
	costs.OneSided.Protocol[ir.Simple].Block = 10
	call := simulate.Call{Bytes: 100_000, DType: data.F32, Width: launch.Width{Replicas: 1, Tile: 100_000}}
	one := run(t, compile(t, "broadcast/direct", true, ir.Simple, ranks("2")), mesh(t), costs, call).Micros
	near(t, "two joint steps", run(t, p, mesh(t), costs, call).Micros, one, 0.001) // each moves half
}

// TestTurns: two lanes of rank 0 write 900,000 bytes and 100,000 over a wire of 1,000 bytes a microsecond, and take
// turns: the short one has ended when two of eight parts of the long one have, and both take as long as their bytes do.
func TestTurns(t *testing.T) {
	simple := ir.Simple
	p, err := mscclc.Compile("turns.mscl", []byte("algorithm turns()\ncollective custom(2, input = 10, output = 10) {\n"+
		"for i in 0..10 { require chunk(1, output, i) == chunk(0, input, i) }\n}\n"+
		"chunk(0, input, 0, 9).copy(1, output, 0, lane = 1)\nchunk(0, input, 9).copy(1, output, 9, lane = 2)\n"),
		mscclc.Options{OneSided: true, Core: core.Options{Lanes: 2}, Lang: lang.Options{Protocol: &simple}})
	if err != nil {
		t.Fatal(err)
	}
	call := simulate.Call{Bytes: 1_000_000, DType: data.F32, Width: launch.Width{Replicas: 1, Tile: 1 << 20}, Trace: true}
	r := run(t, p, mesh(t), free(), call)
	near(t, "both", r.Micros, 1003, 0.01)
	for _, s := range r.Trace.Spans {
		if step := &p.Steps[s.Step]; step.Op == ir.Move {
			end := float64(s.Begin+s.Length) / 1e3
			if short := step.Count == 1; short && (end < 150 || end > 350) || !short && (end < 990 || end > 1010) {
				t.Errorf("%d chunks have gone at %.0f us", step.Count, end)
			}
		}
	}
}

// TestMessagesOfNIC: a message occupies the links between nodes for a time beside its bytes, and those of a node not.
func TestMessagesOfNIC(t *testing.T) {
	const way, more = 4, 10
	costs := free()
	costs.Network.NIC = more
	topo := machine(t, map[string]int{"nodes": 2, "nics": 1})
	for _, c := range []struct {
		text string
		want float64
	}{
		{pairs(8, [2]int{0, 4}), way + 100 + more},
		{pairs(8, [2]int{0, 4}, [2]int{1, 5}), way + 200 + 2*more},
		{pairs(4, [2]int{0, 1}), 10},
	} {
		call := simulate.Call{Bytes: 100_000, DType: data.F32, Width: launch.Width{Replicas: 1, Tile: 100_000}}
		exact(t, c.text, run(t, lowered(t, c.text), topo, costs, call).Micros, c.want)
	}
}
