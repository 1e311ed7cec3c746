package mscclc_test

import (
	"bytes"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/irtest"
	"mscclc/lang"
	"mscclc/passes/core"
)

// plusOf compiles an algorithm of the catalog to a program for MSCCL++.
func plusOf(t testing.TB, name string, params lang.Params, protocol ir.Protocol) *either.Program {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	target, err := codegen.TargetByName("mscclpp")
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile(name+".mscl", text, mscclc.Options{Target: target, Unproven: true,
		Lang: lang.Options{Params: params, Protocol: &protocol, Open: algorithms.Open}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGoldenMSCCLPP: the plan of allreduce/allpairs of two ranks with packets is the one in testdata; MSCCLC_UPDATE=1
// writes it.
func TestGoldenMSCCLPP(t *testing.T) {
	f, _, err := mscclc.PlanMSCCLPP(plusOf(t, "allreduce/allpairs", lang.Params{"ranks": 2}, ir.LL),
		mscclc.PlanOptions{Params: []string{"ranks=2"}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := mscclpp.Write(&b, f); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "mscclpp", "allpairs.2.json")
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s is not what is written:\n%s", file, b.Bytes())
	}
}

// throughPorts has some copies between ranks go through ports.
func throughPorts(rnd *rand.Rand, c *ir.ChunkDAG) {
	port := ir.NoHint
	port.Via = ir.ViaPort
	c.Hints = append(c.Hints, port)
	for i := range c.Ops {
		if o := &c.Ops[i]; o.NSrc == 1 && c.Srcs[o.Src].Rank != o.Dst.Rank && rnd.Intn(2) == 0 {
			o.Hint = int32(len(c.Hints) - 1)
		}
	}
}

// TestRandomPlansMSCCLPP: plans of random legal programs, by several blocks an operation or in pipelines, for one node
// or two, are proven and read back, or refused with the reason.
func TestRandomPlansMSCCLPP(t *testing.T) {
	written, over := 0, 0
	n := irtest.Count(t, 150)
	for seed := range n {
		rnd := rand.New(rand.NewSource(int64(seed)))
		c := irtest.Random(rnd, irtest.Config{})
		c.Protocol = ir.Protocol(rnd.Intn(2))
		if rnd.Intn(2) == 0 {
			throughPorts(rnd, c)
		}
		passes := core.Options{OnePass: true, Off: map[string]bool{}}
		if n := c.Coll.Ranks; seed%3 == 0 && n%2 == 0 {
			passes.Nodes, passes.Ports = make([]int32, n), true
			for r := n / 2; r < n; r++ {
				passes.Nodes[r] = 1
			}
		}
		for i, pass := range core.Table {
			passes.Off[pass.Name] = !pass.Required && (seed>>i)%8 == 1
		}
		maps.DeleteFunc(passes.Off, func(_ string, off bool) bool { return !off })
		p, err := core.Lower(c, passes)
		if list, _ := err.(diag.List); passes.Nodes != nil && len(list) > 0 && list[0].Code == diag.Hint {
			continue // the switch, or a port that reduces
		} else if err != nil {
			t.Fatal(err)
		}
		opt := lower.Options{Instances: 1 + rnd.Intn(3), Nodes: passes.Nodes}
		if opt.Instances == 1 && c.Protocol == ir.Simple && rnd.Intn(2) == 0 {
			opt.Pipeline = 4096
		}
		f, _, err := mscclc.PlanMSCCLPP(either.OfOneSided(p), mscclc.PlanOptions{Options: opt})
		if list, _ := err.(diag.List); len(list) > 0 && (list[0].Code == diag.Unsupported || list[0].Code == diag.Limit) {
			t.Logf("seed %d: %v", seed, err)
			continue
		} else if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if passes.Nodes != nil {
			over++
		}
		var b bytes.Buffer
		if err := mscclpp.Write(&b, f); err != nil {
			t.Fatal(err)
		}
		if _, _, err := mscclpp.Read("random", &b, codegen.ReadOptions{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		written++
	}
	if t.Logf("%d of %d are written, %d for two nodes", written, n, over); written < n/4 || over < n/20 {
		t.Error("these are too few")
	}
}

// A countWriter counts what is written to it.
type countWriter struct{ n int64 }

func (w *countWriter) Write(b []byte) (int, error) {
	w.n += int64(len(b))
	return len(b), nil
}

// BenchmarkMSCCLPP writes plans of 128 ranks, from the text on and without a proof, which is asked in less than 0.5 s.
// MB is the plan's size.
func BenchmarkMSCCLPP(b *testing.B) {
	ranks, nodes := lang.Params{"ranks": 128}, lang.Params{"nodes": 16, "gpus": 8}
	for _, of := range []struct {
		name   string
		params lang.Params
	}{
		{"allreduce/ring", ranks}, {"allreduce/allpairs", ranks}, {"allreduce/hierarchical", nodes}, {"allgather/ring", ranks}, {"allgather/allpairs", ranks},
		{"reducescatter/ring", ranks}, {"reducescatter/allpairs", ranks}, {"alltoall/one_step", ranks}, {"alltoall/two_step", nodes},
	} {
		for _, protocol := range []ir.Protocol{ir.Simple, ir.LL} {
			b.Run(of.name+"/"+protocol.String(), func(b *testing.B) {
				var w countWriter
				for b.Loop() {
					f, _, err := mscclc.PlanMSCCLPP(plusOf(b, of.name, of.params, protocol), mscclc.PlanOptions{Unproven: true})
					if err != nil {
						b.Fatal(err)
					}
					if err := mscclpp.Write(&w, f); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(w.n)/float64(b.N)/1e6, "MB")
			})
		}
	}
}
