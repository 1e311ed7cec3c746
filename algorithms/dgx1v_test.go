package algorithms_test

import (
	"os"
	"testing"

	"mscclc"
	"mscclc/executor"
	"mscclc/executor/cpu"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/topology"
)

// TestDGX1V proves the packed trees of examples/dgx1v with one lane and with many, runs them on the CPU, and holds that
// they load each NVLink of the machine equally, and nothing else.
func TestDGX1V(t *testing.T) {
	topo, err := topology.Open("dgx1v")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		loads int32 // chunks over each link
	}{{"allgather", 7}, {"reducescatter", 7}, {"allreduce", 14}} {
		file := "../examples/dgx1v/" + c.name + ".mscl"
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for turn, lanes := range []int{1, 24, core.MostLanes} {
			p, err := mscclc.Compile(file, text, mscclc.Options{OneSided: true, Core: core.Options{Lanes: lanes},
				Lang: lang.Options{Open: os.ReadFile}})
			if err != nil {
				t.Fatal(err)
			}
			loads := map[[2]int32]int32{}
			for b := range p.Blocks {
				eachSent(p, &p.Blocks[b], func(to, count int32) { loads[[2]int32{p.Blocks[b].Rank, to}] += count })
			}
			links := 0
			for _, l := range topo.Links {
				if int(max(l.From, l.To)) >= topo.GPUs {
					continue
				}
				if links++; loads[[2]int32{l.From, l.To}] != c.loads*l.Width {
					t.Errorf("%s, %d lanes: %d chunks go from %d to %d, by %d links", c.name, lanes,
						loads[[2]int32{l.From, l.To}], l.From, l.To, l.Width)
				}
			}
			if len(loads) != links {
				t.Errorf("%s, %d lanes: data goes between %d pairs of GPUs, of which %d have links", c.name, lanes, len(loads), links)
			}
			loaded, err := executor.Load(p, executor.Options{Device: cpu.Device(), Replicas: 2, TileBytes: 256})
			if err != nil {
				t.Fatal(err)
			}
			for k := range onesidedRuns {
				if err := runOneSided(loaded, p.Coll, 2, turn+7*k); err != nil {
					t.Errorf("%s, %d lanes, run %d: %v", c.name, lanes, k, err)
				}
			}
			loaded.Close()
		}
	}
}

// eachSent calls f with what a block writes to other ranks.
func eachSent(p *either.Program, b *ir.TB, f func(to, count int32)) {
	for i := b.Steps.First; i < b.Steps.End; i++ {
		s := &p.Steps[i]
		if s.Op != ir.Move {
			continue
		}
		for _, x := range p.OneSided.Dests(s) {
			if x.Rank != b.Rank {
				f(x.Rank, s.Count)
			}
		}
	}
}
