package simulate_test

import (
	"fmt"
	"math/rand"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/executor/abi"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/epilogue"
	"mscclc/lang"
	"mscclc/passes/core"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// scatter sends each rank other rows, in steps that are joint.
var scatter = []byte(`
algorithm scatter(ranks = 8)
collective reducescatter(ranks)
scratch gathered[ranks]
scratch total[1]

def part(r, peer) {
    if peer == r { return chunk(r, input, r) }
    return chunk(peer, input, r).copy(r, gathered, peer)
}

for r in 0..ranks {
    let parts = [part(r, peer) for peer in 0..ranks]
    reduce(parts, r, total, 0).then(residual, rms_norm(eps)).copy(r, output, 0)
}
`)

// finisher compiles scatter or a program of folder rows, with an epilogue. A plain one keeps in scratch what passes
// would not.
func finisher(t *testing.T, name string, ranks int, protocol ir.Protocol, list string, plain bool) *either.Program {
	t.Helper()
	text, err := scatter, error(nil)
	if name != "scatter" {
		text, err = algorithms.Open(name)
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile(name+".mscl", text, mscclc.Options{OneSided: true,
		Core: core.Options{Staged: name != "rows/before", Level0: plain},
		Lang: lang.Options{Params: lang.Params{"ranks": ranks}, Protocol: &protocol}})
	if err == nil {
		p.Then, err = epilogue.Parse(list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func h200(t *testing.T) (*topology.Topology, *devices.Costs) {
	t.Helper()
	machine, err := topology.Open("h200")
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf("h200")
	if err != nil {
		t.Fatal(err)
	}
	return machine, costs
}

// TestRowsMeasured holds that simulated times of finished rows of 8,192 bf16 are near those of two H200s
// (kernels/NOTES.md, "The short path of rows"), and near no general launch's.
func TestRowsMeasured(t *testing.T) {
	machine, costs := h200(t)
	for _, c := range []struct {
		protocol ir.Protocol
		rows     int64
		ctas     int
		micros   float64
	}{
		{ir.LL, 1, 16, 4.9}, {ir.LL, 8, 16, 5.2}, {ir.LL, 16, 16, 6.7}, {ir.LL, 32, 32, 8.1}, {ir.LL, 64, 64, 11.0},
		{ir.LL, 128, 128, 16.8}, {ir.LL, 256, 128, 29.1}, {ir.Simple, 512, 128, 51.0},
	} {
		p := finisher(t, "rows/onestep", 2, c.protocol, "residual, rms_norm(eps)", false)
		r, err := simulate.Run(p, machine, costs, simulate.Call{Bytes: c.rows * 8192 * 2, DType: data.BF16, Row: 8192,
			Width: launch.Width{Replicas: c.ctas, Tile: 32 << 10}, Figure: simulate.Interval})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v, %d rows: %.1f us measured, %.1f simulated", c.protocol, c.rows, c.micros, r.Micros)
		if off := r.Micros/c.micros - 1; off > 0.15 || off < -0.15 {
			t.Errorf("%v, %d rows: %.1f us measured, %.1f simulated", c.protocol, c.rows, c.micros, r.Micros)
		}
	}
}

// TestRowsInTurn holds that a CTA of a short launch finishes its rows one after the other.
func TestRowsInTurn(t *testing.T) {
	const finish, reduce, length = 500, 200, 64
	p := finisher(t, "rows/onestep", 2, ir.LL, "residual, rms_norm(eps)", false)
	costs := free()
	for i := range costs.OneSided.Protocol {
		costs.OneSided.Protocol[i].FewBlock = 1e12
	}
	took := func(rows int64, ctas int) float64 {
		return run(t, p, mesh(t), costs, simulate.Call{Bytes: rows * length * 2, DType: data.BF16, Row: length,
			Width: launch.Width{Replicas: ctas}}).Micros
	}
	for _, c := range []struct {
		rows  int64
		ctas  int
		turns float64
	}{{1, 1, 1}, {1, 8, 1}, {8, 8, 1}, {9, 8, 2}, {24, 8, 3}, {5, 1, 5}} {
		costs.OneSided.FewFinish, costs.OneSided.Row = 0, 0
		before := took(c.rows, c.ctas)
		costs.OneSided.FewFinish, costs.OneSided.Row = finish, reduce
		near(t, "rows in turn", took(c.rows, c.ctas)-before, c.turns*(finish+reduce), 0.01)
	}
}

// A rowsCall is a call of a program with an epilogue.
type rowsCall struct {
	name     string
	ranks    int
	protocol ir.Protocol
	list     string
	dtype    data.DType
	length   int
	rows     int64 // of a piece
	plain    bool
	launch.Width
}

func randomRows(rnd *rand.Rand) rowsCall {
	pick := func(list ...int) int { return list[rnd.Intn(len(list))] }
	c := rowsCall{name: []string{"rows/onestep", "rows/after", "rows/before", "scatter"}[rnd.Intn(4)],
		ranks: pick(2, 2, 4, 8), protocol: []ir.Protocol{ir.LL, ir.LL, ir.LL128, ir.Simple}[rnd.Intn(4)],
		dtype:  []data.DType{data.BF16, data.F32}[rnd.Intn(2)],
		length: pick(8, 100, 512, 2048, 4096, 4100, 8192, 16384), rows: int64(1 + rnd.Intn(pick(4, 40, 300, 3000)))}
	if rnd.Intn(3) > 0 { // in equal chunks
		c.rows *= int64(c.ranks)
	}
	c.plain = rnd.Intn(4) == 0
	c.list = []string{"scale", "residual, rms_norm(eps)", "quantise(e4m3)",
		"residual, rms_norm(eps), quantise(e4m3, block = 8)", "quantise(i8, block = 24)",
		"rms_norm(eps), quantise(e4m3, block = 128)"}[rnd.Intn(6)]
	c.Width = launch.Width{Replicas: 1 << rnd.Intn(8), Threads: pick(0, 0, 128, 512),
		Tile: int64(pick(16, 32, 64, 512)) << 10}
	return c
}

// short reports whether the executor makes launches of few packets for a call.
func (c *rowsCall) short(t *testing.T, p *either.Program) bool {
	t.Helper()
	img, err := abi.NewImage(p)
	if err != nil {
		t.Fatal(err)
	}
	one := img.One
	row := abi.RowBytes(c.dtype, c.length)
	if err := one.Reserve(c.Replicas, max(c.Tile, row)); err != nil {
		t.Fatal(err)
	}
	values := make([]float64, len(p.Then))
	rows, err := abi.NewRows(p.Then, c.dtype, c.length, values)
	if err != nil {
		t.Fatal(err)
	}
	geo := data.NewGeometry(p.Coll, c.rows, int(row))
	params, err := one.RowParams(geo, c.dtype, data.Sum, c.length, c.Replicas, c.Tile)
	if err != nil {
		t.Fatal(err)
	}
	part := one.Part(func(rank int) bool { return rank == 0 })
	part.Count(&params)
	for r := range c.ranks {
		at := uint64(100+r) << 32
		params.Rank[r] = abi.OneMemory{Scratch: at, Packets: at + 1<<30, Flags: at + 1<<31}
	}
	params.Rank[0].Input, params.Rank[0].Output = 6<<40, 7<<40
	return part.FewRows(&params, &rows, one.Lines, c.Threads) != nil
}

// TestRowsShort holds that a launch is simulated as short where the executor makes it short.
func TestRowsShort(t *testing.T) {
	machine, costs := h200(t)
	rnd := rand.New(rand.NewSource(1))
	made, shorts := map[string]*either.Program{}, 0
	const calls = 4000
	for i := range calls {
		c := randomRows(rnd)
		if i == 0 { // a chunk that is too long, whose steps are not
			c = rowsCall{name: "rows/onestep", ranks: 2, protocol: ir.LL128, list: "scale", dtype: data.BF16, length: 8192,
				rows: 1152, Width: launch.Width{Replicas: 128, Tile: 512 << 10}}
		}
		key := fmt.Sprint(c.name, c.ranks, c.protocol, c.list, c.plain)
		if made[key] == nil {
			made[key] = finisher(t, c.name, c.ranks, c.protocol, c.list, c.plain)
		}
		p := made[key]
		bytes := c.rows * abi.RowBytes(c.dtype, c.length)
		if p.Coll.Kind == ir.ReduceScatter {
			bytes *= int64(c.ranks)
		}
		r, err := simulate.Run(p, machine, costs, simulate.Call{Bytes: bytes,
			DType: c.dtype, Row: c.length, Width: c.Width, Rough: true})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		short := c.short(t, p)
		if got := r.Launch == costs.OneSided.Few; got != short || !got && r.Launch != costs.OneSided.Launch {
			t.Fatalf("%+v: a launch simulated as short: %v, and made short: %v", c, got, short)
		}
		if short {
			shorts++
		}
	}
	if shorts < calls/20 || shorts > calls*19/20 {
		t.Errorf("%d of %d launches are short", shorts, calls)
	}
}
