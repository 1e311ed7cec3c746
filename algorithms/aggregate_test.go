package algorithms_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"mscclc"
	"mscclc/codegen"
	"mscclc/executor/data"
	"mscclc/internal/covering"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/fifo"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// TestAggregateTakesNoLonger simulates every program with and without aggregate, for the sizes that its file declares
// and for small ones, and two of testdata: one whose segments follow each other from rank to rank, and one of direct
// messages. Merging must not make any of them longer; on the CPU, whose ranks share the memory's rate, by no more than
// a tenth. It must make some calls shorter, or the pass has no use.
func TestAggregateTakesNoLonger(t *testing.T) {
	all := programs(t)
	for name, params := range map[string][]string{"segments": {"nodes", "gpus"}, "pieces": {"ranks"}} {
		file := "../testdata/" + name + ".mscl"
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, program{name: name, file: file, text: text, params: params})
	}
	compared, merged, shorter := 0, 0, 0
	for _, m := range []struct {
		spec        string
		nodes, gpus int
		longer      float64
	}{{"h200", 1, 8, 1e-9}, {"h200:nodes=3", 3, 8, 1e-9}, {"ndv4:nodes=2", 2, 8, 1e-9}, {"mi300x", 1, 8, 1e-9},
		{"cpu", 1, 4, 0.1}} {
		topo, costs := machineOf(t, m.spec)
		for i := range all {
			p := &all[i]
			for j, most := range []int64{0, 2 << 10, 16 << 10} {
				for k, protocol := range []ir.Protocol{ir.Simple, ir.LL, ir.LL128} {
					if (i+j+k)%3 > 0 && !covering.CI() {
						continue // each protocol is tried, and each range of sizes, but not with each other
					}
					with, n := p.aggregated(t, m.nodes, m.gpus, most, protocol, true)
					if compared++; n == 0 {
						continue
					}
					merged++
					without, _ := p.aggregated(t, m.nodes, m.gpus, most, protocol, false)
					for bytes := int64(1 << 10); bytes <= 256<<20 && (with.Sizes.Max == 0 || bytes < with.Sizes.Max); bytes *= 4 {
						ours, other := micros(t, with, topo, costs, bytes), micros(t, without, topo, costs, bytes)
						if ours > other*(1+m.longer) {
							t.Errorf("%s on %s, %v, sizes up to %d: %d bytes take %.2f us with aggregate and %.2f without",
								p.name, m.spec, protocol, with.Sizes.Max, bytes, ours, other)
						} else if ours < 0.9*other {
							shorter++
						}
					}
				}
			}
		}
	}
	t.Logf("%d programs, %d of them have merged transfers, %d calls are 10 %% shorter", compared, merged, shorter)
	if merged < 10 || shorter < 10 {
		t.Errorf("too few merged transfers, or none that matters")
	}
}

func machineOf(t *testing.T, spec string) (*topology.Topology, *devices.Costs) {
	topo, err := topology.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf(topo.Device)
	if err != nil {
		t.Fatal(err)
	}
	return topo, costs
}

func micros(t *testing.T, p *either.Program, topo *topology.Topology, costs *devices.Costs, bytes int64) float64 {
	r, err := simulate.Run(p, topo, costs, simulate.Call{Bytes: bytes, DType: data.BF16})
	if err != nil {
		t.Fatal(err)
	}
	return r.Micros
}

// aggregated compiles p two-sided for calls of at most a given number of bytes (0: those that the file is for), and
// says how many transfers were merged. Where the file asserts against a given number of ranks, there is no program.
func (p *program) aggregated(t *testing.T, nodes, gpus int, most int64, protocol ir.Protocol,
	on bool) (c *either.Program, merged int) {
	text := p.text
	if most > 0 {
		text = regexp.MustCompile(`(?m)^sizes .*$`).ReplaceAll(text, nil)
		text = regexp.MustCompile(`(?m)^algorithm .*$`).ReplaceAll(text, fmt.Appendf(nil, "$0\nsizes 0..%d", most+1))
	}
	params := lang.Params{"ranks": nodes * gpus, "nodes": nodes, "gpus": gpus}
	for name := range params {
		if !slices.Contains(p.params, name) {
			delete(params, name)
		}
	}
	opt := mscclc.Options{Lang: lang.Options{Params: params, Protocol: &protocol, Open: p.open}, Unproven: true}
	opt.Target, _ = codegen.TargetByName("program")
	opt.Passes.Off = map[string]bool{"aggregate": !on}
	opt.Passes.Trace = func(pass *fifo.Pass, rewrites int, _ time.Duration) {
		if pass.Name == "aggregate" {
			merged = rewrites
		}
	}
	compiled, err := mscclc.Compile(p.file, text, opt)
	if err != nil && codeOf(err) != diag.AssertFailed {
		t.Fatal(err)
	}
	return compiled, merged
}
