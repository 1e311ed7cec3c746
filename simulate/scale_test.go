package simulate_test

import (
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/lang"
	"mscclc/simulate"
	"mscclc/topology"
)

func compile(tb testing.TB, name string, onesided bool, proto ir.Protocol, params lang.Params) *ir.Program {
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
	costs, err := simulate.CostsOf("h200")
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
