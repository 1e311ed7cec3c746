package fifo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/property"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/fifo"
)

// lowered returns the instructions of an algorithm of the catalog.
func lowered(t *testing.T, name string, params lang.Params, opt fifo.Options) *ir.InstDAG {
	t.Helper()
	file := filepath.Join("../../algorithms", name+".mscl")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := syntax.Parse(file, text)
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := lang.Expand(tree, lang.Options{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	d, err := fifo.Lower(chunks, opt)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestLimitsOfRanks: what no placement can mend is an error before the work of placing.
func TestLimitsOfRanks(t *testing.T) {
	for _, target := range []string{"msccl", "rccl"} {
		limits, err := codegen.TargetByName(target)
		if err != nil {
			t.Fatal(err)
		}
		opt := fifo.Options{Limits: limits.Limits, Dense: true}
		ran := ""
		opt.Trace = func(p *fifo.Pass, _ int, _ time.Duration) { ran += p.Name + " " }
		err = fifo.Run(lowered(t, "alltoall/one_step", lang.Params{"ranks": 256}, opt), opt)
		if err == nil || !strings.Contains(err.Error(), "thread blocks of a rank: 255, and "+target+" allows ") ||
			strings.Contains(ran, "place") {
			t.Errorf("%s: %v after %s", target, err, ran)
		}
	}
}

// TestLeast: the blocks and the elements that Least counts are never more than those that a program gets.
func TestLeast(t *testing.T) {
	for _, name := range []string{"alltoall/one_step", "alltoall/two_step", "allreduce/allpairs", "allreduce/ring",
		"allreduce/recursive_halving_doubling", "allgather/bruck", "reduce/chain"} {
		for _, instances := range []int{1, 3} {
			for _, tight := range []bool{false, true} {
				opt := fifo.Options{Instances: instances}
				if tight { // few channels
					opt.Limits = ir.Limits{Target: "tight", Blocks: 1 << 20, Channels: 4, Peers: 2}
				}
				least := ir.Limits{}
				opt.Dump = func(pass string, d *ir.InstDAG) error {
					if pass != "fuse" {
						return nil
					}
					least.Blocks, least.Nodes = 1, 2
					for len(property.Least(d, &ir.Limits{Blocks: least.Blocks})) > 0 {
						least.Blocks++
					}
					for len(property.Least(d, &ir.Limits{Nodes: least.Nodes})) > 0 {
						least.Nodes++
					}
					return nil
				}
				params := lang.Params{"ranks": 8}
				if name == "alltoall/two_step" {
					params = lang.Params{"nodes": 2, "gpus": 4}
				}
				d := lowered(t, name, params, opt)
				if err := fifo.Run(d, opt); err != nil {
					if tight {
						continue // there are too few channels for it
					}
					t.Fatalf("%s: %v", name, err)
				}
				got := ir.Limits{Blocks: 1, Nodes: 2}
				for excess := range 2 {
					for len(property.Excess(d, &[]ir.Limits{{Blocks: got.Blocks}, {Nodes: got.Nodes}}[excess])) > 0 {
						if excess == 0 {
							got.Blocks++
						} else {
							got.Nodes++
						}
					}
				}
				if least.Blocks > got.Blocks || least.Nodes > got.Nodes || least.Blocks < 2 && got.Blocks > 2 {
					t.Errorf("%s, %d instances: at least %d blocks and %d elements, and it has %d and %d", name, instances,
						least.Blocks, least.Nodes, got.Blocks, got.Nodes)
				}
			}
		}
	}
}
