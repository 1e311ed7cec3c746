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
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// finisher compiles a program of folder rows, with an epilogue.
func finisher(t *testing.T, name string, ranks int, protocol ir.Protocol, list string) *either.Program {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mscclc.Compile(name+".mscl", text, mscclc.Options{OneSided: true,
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
		p := finisher(t, "rows/onestep", 2, c.protocol, "residual, rms_norm(eps)")
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

// A rowsCall is a call of a program with an epilogue.
type rowsCall struct {
	name     string
	ranks    int
	protocol ir.Protocol
	list     string
	dtype    data.DType
	length   int
	rows     int64
	launch.Width
}

func randomRows(rnd *rand.Rand) rowsCall {
	pick := func(list ...int) int { return list[rnd.Intn(len(list))] }
	c := rowsCall{name: []string{"rows/onestep", "rows/onestep", "rows/after", "rows/before"}[rnd.Intn(4)],
		ranks: pick(2, 2, 4, 8), protocol: []ir.Protocol{ir.LL, ir.LL, ir.LL128, ir.Simple}[rnd.Intn(4)],
		dtype:  []data.DType{data.BF16, data.F32}[rnd.Intn(2)],
		length: pick(8, 100, 512, 2048, 4096, 4100, 8192, 16384), rows: int64(1 + rnd.Intn(pick(4, 40, 300)))}
	c.list = []string{"scale", "residual, rms_norm(eps)", "quantise(e4m3)", "residual, rms_norm(eps), quantise(e4m3, block = 8)",
		"quantise(i8, block = 24)", "rms_norm(eps), quantise(e4m3, block = 128)"}[rnd.Intn(6)]
	c.Width = launch.Width{Replicas: 1 << rnd.Intn(8), Threads: pick(0, 0, 128, 512), Tile: int64(pick(16, 32, 64, 512)) << 10}
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
	if err := one.Reserve(c.Replicas, max(c.Tile, abi.RowBytes(c.dtype, c.length))); err != nil {
		t.Fatal(err)
	}
	values := make([]float64, len(p.Then))
	rows, err := abi.NewRows(p.Then, c.dtype, c.length, values)
	if err != nil {
		t.Fatal(err)
	}
	geo := data.NewGeometry(p.Coll, c.rows, int(abi.RowBytes(c.dtype, c.length)))
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
	const calls = 2000
	for range calls {
		c := randomRows(rnd)
		key := fmt.Sprint(c.name, c.ranks, c.protocol, c.list)
		if made[key] == nil {
			made[key] = finisher(t, c.name, c.ranks, c.protocol, c.list)
		}
		p := made[key]
		r, err := simulate.Run(p, machine, costs, simulate.Call{Bytes: c.rows * abi.RowBytes(c.dtype, c.length),
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
