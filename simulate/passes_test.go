package simulate_test

import (
	"math"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// TestPasses holds that passes that are not simulated cost what those cost that are.
func TestPasses(t *testing.T) {
	topo := machine(t, nil)
	for _, onesided := range []bool{false, true} {
		p := compile(t, "allreduce/ring", onesided, ir.Simple, ranks("4"))
		call := simulate.Call{Bytes: 40 << 20, Width: launch.Width{Replicas: 1, Tile: 256 << 10}}
		once := run(t, p, topo, free(), call)
		call.Bytes *= 8
		long := run(t, p, topo, free(), call)
		if long.Simulated == long.Passes || once.Simulated != once.Passes {
			t.Fatalf("%d of %d, and %d of %d passes", once.Simulated, once.Passes, long.Simulated, long.Passes)
		}
		near(t, "eight times as much", long.Micros, 8*once.Micros, 0.05)
	}
}

// TestOccupied: a chain of three links, each of which is occupied for 1,000 us a pass, also of the passes that are not
// simulated. The first comes to the last link late, which is less of a long call.
func TestOccupied(t *testing.T) {
	p := compile(t, "reduce/chain", true, ir.Simple, ranks("4"))
	for _, passes := range []int64{4, 24, 480} {
		r := run(t, p, machine(t, nil), free(), simulate.Call{Bytes: passes * 1_000_000, DType: data.F32,
			Width: launch.Width{Replicas: 1, Tile: 1_000_000}})
		if r.Passes != passes || (passes > 48) != (r.Simulated < r.Passes) {
			t.Fatalf("%d of %d passes", r.Simulated, r.Passes)
		}
		near(t, "that a link is occupied", r.Micros*r.Occupied, float64(passes)*1000, 0.002)
	}
}

// TestContinuous: one pass more adds as much to a call's latency as any other, and to an interval as much as each of
// its passes takes: also where more of a launch, or fewer launches, are simulated.
func TestContinuous(t *testing.T) {
	topo, err := topology.Open("h200")
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf(topo.Device)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"reduce/chain", "broadcast/chain", "gather/direct", "allreduce/ring"} {
		p := compile(t, name, true, ir.Simple, ranks("8"))
		took := func(passes int64, figure simulate.Figure) float64 {
			r := run(t, p, topo, costs, simulate.Call{Bytes: passes * 32 * 64 << 10 * int64(p.Coll.Divisor()), DType: data.F32,
				Width: launch.Width{Replicas: 32}, Figure: figure})
			if r.Passes != passes {
				t.Fatalf("%s: %d passes, not %d", name, r.Passes, passes)
			}
			return r.Micros
		}
		alone := [2]float64{took(12, simulate.Latency), took(13, simulate.Latency)}
		first := took(14, simulate.Latency) - alone[0] // two passes, each of which has its own copy of scratch
		each := took(13, simulate.Interval) / 13
		for passes := int64(14); passes <= 96; passes++ {
			now, next := took(passes, simulate.Latency), took(passes, simulate.Interval)/float64(passes)
			if more := now - alone[0]; math.Abs(more/first-1) > 0.05 {
				t.Errorf("%s: the last two of %d passes add %.2f us to the latency, and the first ones %.2f", name, passes,
					more, first)
			}
			if math.Abs(next/each-1) > 0.02 {
				t.Errorf("%s: a pass of %d takes %.2f us of the interval, and of one fewer %.2f", name, passes, next, each)
			}
			alone, each = [2]float64{alone[1], now}, next
		}
	}
}

// ringOfLanes returns a one-sided ring of 4 ranks with several lanes, whose messages take turns.
func ringOfLanes(t *testing.T) *either.Program {
	text, err := algorithms.Open("allreduce/ring")
	if err != nil {
		t.Fatal(err)
	}
	simple := ir.Simple
	p, err := mscclc.Compile("ring.mscl", text, mscclc.Options{OneSided: true, Core: core.Options{Lanes: 4},
		Lang: lang.Options{Params: ranks("4"), Protocol: &simple, Open: algorithms.Open}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A rough result that is not marked as one is what a simulation of all passes says.
func TestRough(t *testing.T) {
	topo, c := machine(t, nil), free()
	rough := 0
	for _, p := range []*either.Program{compile(t, "allreduce/ring", false, ir.Simple, ranks("4")),
		compile(t, "allreduce/ring", true, ir.Simple, ranks("4")), ringOfLanes(t)} {
		for bytes := int64(1 << 10); bytes <= 1<<30; bytes *= 8 {
			call := simulate.Call{Bytes: bytes, DType: data.F32, Rough: true}
			few := run(t, p, topo, c, call)
			call.Rough = false
			all := run(t, p, topo, c, call)
			if few.Rough {
				rough++
			} else if few.Micros != all.Micros || all.Rough {
				t.Errorf("%d bytes: %g us of %d passes, and %g of %d", bytes, few.Micros, few.Simulated, all.Micros, all.Simulated)
			}
		}
	}
	if rough == 0 {
		t.Error("nothing is rough")
	}
}
