package simulate_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// A form is a program of a comparison: an algorithm of the catalog, or a file of testdata, lowered in one of the two
// ways.
type form struct {
	file      string // allreduce/ring, or testdata/ and a file
	params    string // nodes=2,gpus=8
	onesided  bool
	protocols []ir.Protocol
	instances []int
	lanes     []int // of a one-sided program, over nodes of 8 ranks, in place of one; each with copies of scratch
	copies    []int
	p2p       int   // messages as NCCL sends them, in place of MSCCL's, and how many are in flight
	nccl      int   // channels that NCCL has at most, in place of instances
	or        *form // where that is faster
}

// A comparison is a figure of a paper: ours against base, of which each is a sequence of launches one after the other,
// each launch in the fastest of its protocols and instances for the size.
type comparison struct {
	title, source string
	topology      string
	ranks         int
	ours, base    []form
	baseline      string // what base is
	from, to      int64
	figure        simulate.Figure // that times are
	published     string
	why           string // of what differs
	vary          []variation
	long          bool // not in CI
}

// A variation is another baseline, to see whether it explains a difference.
type variation struct {
	what string
	base []form
}

var all = []ir.Protocol{ir.LL, ir.LL128, ir.Simple}

// perChannel returns the least of a call that NCCL 2.8 gives to each channel of a ring, its threads by its threshold a
// thread (getAlgoInfo in its enqueue.cc): 512 by 8 bytes a rank, 640 by 8, and 512 by 64.
func perChannel(p ir.Protocol, ranks int) int64 {
	switch p {
	case ir.LL:
		return 512 * 8 * int64(ranks)
	case ir.LL128:
		return 640 * 8
	}
	return 512 * 64
}

// A papers has what comparisons share: programs that are compiled, and topologies.
type papers struct {
	programs map[string]*either.Program
	machines map[string]*topology.Topology
}

func (x *papers) machine(t *testing.T, spec string) *topology.Topology {
	if x.machines[spec] == nil {
		topo, err := topology.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		if x.machines == nil {
			x.machines = map[string]*topology.Topology{}
		}
		x.machines[spec] = topo
	}
	return x.machines[spec]
}

func (x *papers) program(t *testing.T, f form, proto ir.Protocol, w way) *either.Program {
	key := fmt.Sprint(f.file, f.params, f.onesided, proto, w.instances, w.in.Lanes, w.in.Copies)
	if p := x.programs[key]; p != nil {
		return p
	}
	text, err := algorithms.Open(f.file)
	if strings.HasPrefix(f.file, "testdata/") {
		text, err = os.ReadFile(f.file + ".mscl")
	}
	if err != nil {
		t.Fatal(err)
	}
	opt := mscclc.Options{OneSided: f.onesided, Lang: lang.Options{Params: lang.Params{}, Protocol: &proto,
		Open: algorithms.Open}, Core: w.in}
	if w.in.Lanes > 1 {
		opt.Nodes = func(ranks int) ([]int32, error) { return nodesOf8(ranks), nil }
	}
	opt.Passes.Instances = w.instances
	for _, p := range strings.Split(f.params, ",") {
		name, value, _ := strings.Cut(p, "=")
		opt.Lang.Params[name] = value
	}
	p, err := mscclc.Compile(f.file+".mscl", text, opt)
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	if x.programs == nil {
		x.programs = map[string]*either.Program{}
	}
	x.programs[key] = p
	return p
}

// nodesOf8 returns the nodes of ranks, 8 on each.
func nodesOf8(ranks int) []int32 {
	node := make([]int32, ranks)
	for r := range node {
		node[r] = int32(r / 8)
	}
	return node
}

// A way is how a form is compiled: in a given number of instances, or in lanes with copies of scratch.
type way struct {
	instances int
	in        core.Options
}

// ways returns those that a form is tried in, for a call of a given number of bytes among ranks.
func (f *form) ways(proto ir.Protocol, ranks int, bytes int64) (list []way) {
	instances := f.instances
	if f.nccl > 0 {
		instances = []int{int(min(max(bytes/perChannel(proto, ranks), 1), int64(f.nccl)))}
	}
	for _, n := range instances {
		list = append(list, way{instances: n})
	}
	for _, lanes := range f.lanes {
		for _, copies := range f.copies {
			list = append(list, way{1, core.Options{Lanes: lanes, Copies: copies}})
		}
	}
	return list
}

// calls are calls of f as runtimes have them. In Simple MSCCL posts a slice of 1 MiB at a time, of which a connection's
// 4 MiB have four (2 of 8 steps each), and mscclc 128 KiB of two; NCCL's sends and receives post 128 KiB over a
// network, 8 times (NCCL_P2P_NET_CHUNKSIZE). Programs with lanes are tried in some numbers of replicas.
func (f *form) calls(proto ir.Protocol, bytes int64, lanes int) []simulate.Call {
	ours := simulate.Call{Bytes: bytes, DType: data.F32}
	switch {
	case lanes > 1:
		few, more := ours, ours
		few.Replicas, more.Replicas = 4, 8
		return []simulate.Call{ours, few, more}
	case f.onesided || proto != ir.Simple:
		return []simulate.Call{ours}
	case f.p2p > 0:
		return []simulate.Call{calls(bytes, 128<<10, f.p2p)}
	}
	return []simulate.Call{ours, calls(bytes, 1<<20, 4)}
}

// micros is the time of a form for a size, in the fastest of its protocols, instances and lanes.
func (x *papers) micros(t *testing.T, f form, topo *topology.Topology, costs *devices.Costs, bytes int64,
	figure simulate.Figure) float64 {
	best := math.Inf(1)
	if f.or != nil {
		best = x.micros(t, *f.or, topo, costs, bytes, figure)
	}
	for _, proto := range f.protocols {
		for _, w := range f.ways(proto, topo.Ranks(), bytes) {
			for _, call := range f.calls(proto, bytes, w.in.Lanes) {
				call.Figure = figure
				r, err := simulate.Run(x.program(t, f, proto, w), topo, costs, call)
				if err != nil {
					t.Fatal(err)
				}
				best = min(best, r.Micros)
			}
		}
	}
	return best
}

// A row is one size of a comparison.
type row struct {
	bytes      int64
	ours, base float64
}

func (r row) ratio() float64 { return r.base / r.ours }

// sizes returns the sizes of a comparison, each four times the one before.
func (c *comparison) sizes() (list []int64) {
	for n := c.from; n <= c.to; n *= 4 {
		list = append(list, n)
	}
	return list
}

// times simulates forms of a comparison, one after the other, at each of its sizes.
func (x *papers) times(t *testing.T, c *comparison, forms []form) (list []float64) {
	topo := x.machine(t, c.topology)
	costs, err := devices.CostsOf(topo.Device)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range c.sizes() {
		us := 0.
		for _, f := range forms {
			us += x.micros(t, f, topo, costs, n, c.figure)
		}
		list = append(list, us)
	}
	return list
}

// TestPapers simulates the papers' comparisons and holds PAPERS.md: of the long ones only with MSCCLC_PAPERS=full or
// MSCCLC_UPDATE=1, which writes it, of those that -run names.
func TestPapers(t *testing.T) {
	const file = "PAPERS.md"
	page, err := os.ReadFile(file)
	update := os.Getenv("MSCCLC_UPDATE") != ""
	if err != nil && !update {
		t.Fatal(err)
	}
	x := papers{}
	rows, parts := make([]string, len(comparisons)), make([]string, len(comparisons))
	for i := range comparisons {
		c := &comparisons[i]
		if c.long && !update && os.Getenv("MSCCLC_PAPERS") != "full" {
			continue
		}
		t.Run(c.title, func(t *testing.T) {
			row, part := x.report(t, c)
			for _, now := range []string{row, part} {
				if !update && !strings.Contains(string(page), now) {
					t.Errorf("%s is not what the simulator says now; MSCCLC_UPDATE=1 writes it:\n%s", file, now)
				}
			}
			rows[i], parts[i] = row, part
		})
		if parts[i] == "" { // by -run
			rows[i], parts[i] = between(string(page), "| "+c.title, "\n")+"\n",
				between(string(page)+"\n## ", "\n## "+c.title, "\n## ")
		}
	}
	if update && !t.Failed() {
		if err := os.WriteFile(file, []byte(papersHead+strings.Join(rows, "")+strings.Join(parts, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
