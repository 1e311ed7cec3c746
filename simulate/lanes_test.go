package simulate_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// A laneRow is one row of LANES.md: a collective of 1 GB on a machine, and the best that was found for it with one lane
// and with several.
type laneRow struct {
	machine    string // of 8 GPUs a node
	nodes      int
	collective string
	one, many  laneVariant
}

// A laneVariant is an algorithm of the catalog, for ranks on several nodes, and the launch of it.
type laneVariant struct {
	name                    string
	lanes, copies, replicas int
	tile                    int64
}

func (v laneVariant) String() string {
	return fmt.Sprintf("%s, lanes %d, copies %d, replicas %d, tile %s", v.name, v.lanes, v.copies, v.replicas,
		size(v.tile))
}

const laneBytes = 1 << 30

// packedTrees are the algorithms that only a DGX-1V runs, beside those of the catalog.
const packedTrees = "examples/dgx1v"

// laneNames are the algorithms that are tried, of those that the collective has.
var laneNames = []string{"hierarchical", "multinode_allpairs", "twophase_hierarchical", "two_step"}

// laneRows returns all rows, without what is found for them.
func laneRows() (rows []laneRow) {
	for _, m := range []struct {
		name  string
		nodes []int
	}{{"dgx_h100", []int{2, 4, 8}}, {"ndv4", []int{2, 4}}, {"mi300x", []int{2}}} {
		for _, nodes := range m.nodes {
			for _, c := range []string{"allgather", "reducescatter", "allreduce", "alltoall"} {
				rows = append(rows, laneRow{machine: m.name, nodes: nodes, collective: c})
			}
		}
	}
	for _, c := range []string{"allgather", "reducescatter", "allreduce"} {
		rows = append(rows, laneRow{machine: "dgx1v", nodes: 1, collective: c})
	}
	return rows
}

// tries returns the algorithms and the numbers of lanes that are tried.
func (r laneRow) tries() (names []string, lanes []int) {
	if r.machine == "dgx1v" {
		return []string{packedTrees}, []int{24, 32, 40}
	}
	return laneNames, []int{4, 8, 16, 32}
}

// A laneBench simulates variants of one row.
type laneBench struct {
	laneRow
	topo     *topology.Topology
	programs map[string]*either.Program
}

func newLaneBench(t testing.TB, r laneRow) *laneBench {
	topo, err := topology.Open(fmt.Sprintf("%s:nodes=%d", r.machine, r.nodes))
	if err != nil {
		t.Fatal(err)
	}
	return &laneBench{r, topo, map[string]*either.Program{}}
}

// program compiles a variant as the executor takes it over nodes, without its proof, or returns nil where the catalog
// has none.
func (b *laneBench) program(t testing.TB, v laneVariant) *either.Program {
	key := fmt.Sprint(v.name, v.lanes, " ", v.copies)
	if p, ok := b.programs[key]; ok {
		return p
	}
	file, open := b.collective+"/"+v.name, algorithms.Open
	if v.name == packedTrees {
		file, open = "../"+packedTrees+"/"+b.collective+".mscl", os.ReadFile
	} else if !slices.Contains(algorithms.Names(), file) {
		return nil
	}
	text, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	simple := ir.Simple
	opt := mscclc.Options{OneSided: true, Unproven: true,
		Core: core.Options{Lanes: v.lanes, Copies: v.copies, Nodes: nodesOf8(8 * b.nodes)},
		Lang: lang.Options{Protocol: &simple, Open: open}}
	switch {
	case v.name == packedTrees:
	case bytes.Contains(text, []byte("(ranks")):
		opt.Lang.Params = lang.Params{"ranks": 8 * b.nodes}
	default:
		opt.Lang.Params = lang.Params{"nodes": b.nodes, "gpus": 8}
	}
	if b.programs[key], err = mscclc.Compile(file, text, opt); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return b.programs[key]
}

// run simulates a variant, one call alone, with the costs of the device or, where not nil, others. It returns nil where
// the GPUs have no room for its CTAs.
func (b *laneBench) run(t testing.TB, v laneVariant, costs *devices.Costs) *simulate.Result {
	r, err := simulate.Run(b.program(t, v), b.topo, costs,
		simulate.Call{Bytes: laneBytes, DType: data.BF16, Width: launch.Width{Replicas: v.replicas, Tile: v.tile}})
	if errors.Is(err, simulate.ErrNoWay) {
		return nil
	}
	if err != nil {
		t.Errorf("%v: %v", v, err)
		return nil
	}
	return r
}

// bound returns what no algorithm surpasses, in bytes a microsecond of algbw: what goes into each GPU, or into a node
// from others, takes the links there; of one node alone, the links between GPUs. For an AllReduce all goes in twice,
// since it must be summed up in between.
func (b *laneBench) bound() float64 {
	ranks, nodes := float64(8*b.nodes), float64(b.nodes)
	gpu, node, nic := 0., 0., map[int32]float64{}
	for l, k := range b.topo.Links {
		if b.topo.Places[k.To].Node == 0 && b.topo.Places[k.From].Node != 0 {
			node += b.topo.Bandwidth(int32(l))
			nic[k.To] += b.topo.Bandwidth(int32(l))
		}
	}
	for l, k := range b.topo.Links {
		if k.To == 0 && (b.nodes > 1 || b.topo.Places[k.From].Kind == topology.GPU) {
			in := b.topo.Bandwidth(int32(l))
			if most, ok := nic[k.From]; ok {
				in = min(in, most)
			}
			gpu += in
		}
	}
	part := 1. // of all that goes to other nodes; in an AllToAll of each GPU
	if b.collective == "alltoall" {
		part = 8
	}
	bound := min(gpu*ranks/(ranks-1), node*nodes/(nodes-1)/part)
	if b.collective == "allreduce" {
		bound /= 2
	}
	return bound
}

// found reads what a row of the page names.
func (b *laneBench) found(page string) bool {
	prefix := fmt.Sprintf("| %s:nodes=%d | %s |", b.machine, b.nodes, b.collective)
	row := between(page, prefix, "\n")
	if row == "" {
		return false
	}
	cells := strings.Split(row, " | ")
	for i, v := range []*laneVariant{&b.one, &b.many} {
		words := strings.NewReplacer(",", "").Replace(cells[4+2*i])
		unit, count := "", int64(0)
		if n, err := fmt.Sscanf(words, "%s lanes %d copies %d replicas %d tile %d %s", &v.name, &v.lanes, &v.copies,
			&v.replicas, &count, &unit); n < 6 || err != nil {
			return false
		}
		v.tile = count << map[string]int{"KB": 10, "MB": 20}[unit]
	}
	return true
}

// laneRowsAt returns the rows that are simulated: of two nodes, or of all with MSCCLC_PAPERS=full and for an update.
func laneRowsAt(update bool) []laneRow {
	return slices.DeleteFunc(laneRows(), func(r laneRow) bool {
		return r.nodes > 2 && !update && os.Getenv("MSCCLC_PAPERS") != "full"
	})
}

// TestLanes simulates the variants of LANES.md, of two nodes, or of all with MSCCLC_PAPERS=full. MSCCLC_UPDATE=1 looks
// for the best variants anew and writes the page.
func TestLanes(t *testing.T) {
	const file = "LANES.md"
	page, err := os.ReadFile(file)
	update := os.Getenv("MSCCLC_UPDATE") != ""
	if err != nil && !update {
		t.Fatal(err)
	}
	rows := laneRowsAt(update)
	text := make([]string, len(rows))
	each(len(rows), func(i int) {
		r := rows[i]
		b := newLaneBench(t, r)
		if update {
			_, lanes := r.tries()
			b.one, b.many = b.best(t, 1), b.best(t, lanes...)
		} else if !b.found(string(page)) {
			t.Errorf("%s has no row of %s on %s:nodes=%d", file, b.collective, b.machine, b.nodes)
			return
		}
		text[i] = b.text(t)
		if !update && !strings.Contains(string(page), text[i]) {
			t.Errorf("%s does not have what the simulator says now; MSCCLC_UPDATE=1 writes it:\n%s", file, text[i])
		}
	})
	if len(rows) < 12 {
		t.Errorf("%d rows were looked at", len(rows))
	}
	if update && !t.Failed() {
		if err := os.WriteFile(file, []byte(lanesHead+strings.Join(text, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// each does things at once, as many as there are cores.
func each(count int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(count, runtime.GOMAXPROCS(0)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(count); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	all.Wait()
}
