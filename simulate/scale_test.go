package simulate_test

import (
	"fmt"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

func compile(tb testing.TB, name string, onesided bool, proto ir.Protocol, params lang.Params) *either.Program {
	tb.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := mscclc.Compile(name+".mscl", text,
		mscclc.Options{OneSided: onesided, Lang: lang.Options{Params: params, Protocol: &proto, Open: algorithms.Open}})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// BenchmarkRing is a program of two million steps: the ring of 1,024 ranks, a launch of many passes.
func BenchmarkRing(b *testing.B) {
	p := compile(b, "allreduce/ring", false, ir.Simple, lang.Params{"ranks": 1024})
	topo, err := topology.Open("fat_tree:nodes=128")
	if err != nil {
		b.Fatal(err)
	}
	costs, err := devices.CostsOf("h200")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := simulate.Run(p, topo, costs, simulate.Call{Bytes: 1 << 30})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(r.Events), "events")
		b.ReportMetric(r.Micros, "simulated-us")
	}
	b.ReportMetric(float64(len(p.Steps)), "steps")
}

// BenchmarkLanes simulates rows of LANES.md: programs of many lanes, whose ranks' proxies send messages all the time.
func BenchmarkLanes(b *testing.B) {
	for _, r := range []laneRow{
		{machine: "dgx_h100", nodes: 2, collective: "allreduce", many: laneVariant{"hierarchical", 16, 4, 64, 64 << 10}},
		{machine: "dgx_h100", nodes: 8, collective: "allgather", many: laneVariant{"hierarchical", 32, 3, 16, 16 << 10}},
		{machine: "ndv4", nodes: 4, collective: "alltoall", many: laneVariant{"two_step", 32, 8, 1, 128 << 10}},
		{machine: "ndv4", nodes: 8, collective: "alltoall", many: laneVariant{"one_step", 1, 0, 4, 64 << 10}},
		{machine: "fat_tree", nodes: 16, collective: "alltoall", many: laneVariant{"one_step", 1, 0, 4, 64 << 10}},
	} {
		b.Run(fmt.Sprintf("%s:nodes=%d/%s", r.machine, r.nodes, r.collective), func(b *testing.B) {
			bench := newLaneBench(b, r)
			bench.program(b, r.many)
			for b.Loop() {
				took := bench.run(b, r.many, nil)
				if took == nil {
					b.Fatal("the program has no room")
				}
				b.ReportMetric(float64(took.Events), "events")
				b.ReportMetric(took.Micros, "simulated-us")
			}
		})
	}
}
