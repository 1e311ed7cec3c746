package simulate_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"mscclc"
	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/lang"
	"mscclc/simulate"
	"mscclc/simulate/devices"
	"mscclc/topology"
)

// plain has links of 1 us and 1,000 bytes a microsecond, two GPUs of a node on a NIC.
const plain = `# Plain.
topology plain(nodes = 1, gpus = 4, nics = 2)
class wire 1us 1GB/s
class net 2us 1GB/s network
class slot 0us 10GB/s
node {
    gpu gpus
    nic nics
    link gpu[i] gpu[*] wire
    link gpu[i] nic[i * nics / gpus] slot
}
switch fabric
link nic[i] fabric net
`

func machine(t *testing.T, params map[string]int) *topology.Topology {
	t.Helper()
	topo, err := topology.Read("plain.topo", strings.NewReader(plain), params)
	if err != nil {
		t.Fatal(err)
	}
	return topo
}

// free are costs of a device that takes nothing: what is left is α and β.
func free() *devices.Costs {
	c := &devices.Costs{Device: "free", Memory: 1e12}
	c.OneSided.Threads = 512
	for p := range ir.NumProtocols {
		m := devices.MoveCosts{Block: 1e12, Wire: 1}
		c.OneSided.Protocol[p], c.TwoSided.Protocol[p] = m, m
	}
	return c
}

func run(t *testing.T, p *either.Program, topo *topology.Topology, c *devices.Costs,
	call simulate.Call) *simulate.Result {
	t.Helper()
	r, err := simulate.Run(p, topo, c, call)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.Abs(got-want) > part*want {
		t.Errorf("%s: %.2f us, not %.2f", what, got, want)
	}
}

func ranks(n string) lang.Params { return lang.Params{"ranks": n} }

// TestFloors holds simulations against what arithmetic says where nothing but α and β costs.
func TestFloors(t *testing.T) {
	topo := machine(t, nil)
	for _, c := range []struct {
		name     string
		onesided bool
		bytes    int64
		call     simulate.Call
		want     float64
	}{
		// 6 hops of a link and a quarter of the buffer each.
		{"allreduce/ring", false, 4000, simulate.Call{}, 6 * (1 + 1)},
		// Everyone sends a quarter to everyone at once; links are apart.
		{"allgather/allpairs", false, 4000, simulate.Call{}, 1 + 1},
		{"allgather/allpairs", true, 4000, simulate.Call{}, 1 + 1 + 1 + 1}, // they meet, and signal it
		{"sendrecv/direct", true, 100_000, simulate.Call{Width: launch.Width{Replicas: 1, Tile: 100_000}}, 1 + 100 + 1 + 1},
	} {
		p := compile(t, c.name, c.onesided, ir.Simple, ranks("4"))
		c.call.Bytes, c.call.DType = c.bytes, data.F32
		near(t, c.name, run(t, p, topo, free(), c.call).Micros, c.want, 0.25)
	}
}

// TestNICs holds that GPUs that share a NIC share its bandwidth.
func TestNICs(t *testing.T) {
	p := compile(t, "alltoall/one_step", false, ir.Simple, ranks("8"))
	shared := run(t, p, machine(t, map[string]int{"nodes": 2, "nics": 1}), free(), simulate.Call{Bytes: 8 << 20})
	own := run(t, p, machine(t, map[string]int{"nodes": 2, "nics": 4}), free(), simulate.Call{Bytes: 8 << 20})
	near(t, "shared by four against own", shared.Micros, 4*own.Micros, 0.1)
	if shared.Occupied < 0.9 {
		t.Errorf("the NIC's link is occupied %.2f of the time", shared.Occupied)
	}
}

// TestOrder holds that a block's steps stay in order: tiles of a ring follow each other no faster than links allow, and
// no slower than one after the other.
func TestOrder(t *testing.T) {
	p := compile(t, "allreduce/ring", false, ir.Simple, ranks("4"))
	if got := run(t, p, machine(t, nil), free(), simulate.Call{Bytes: 400_000,
		Width: launch.Width{Tile: 1000}}).Micros; got < 100*6 ||
		got > 100*12 {
		t.Errorf("100 tiles of 1,000 bytes take %.0f us", got)
	}
}

// TestSlots holds that a connection of one slot waits for each credit: a message, its latency, and that of the credit.
func TestSlots(t *testing.T) {
	topo := machine(t, nil)
	p := compile(t, "sendrecv/direct", false, ir.Simple, ranks("4"))
	call := simulate.Call{Bytes: 100_000, Width: launch.Width{Tile: 1000}, SlotBytes: 1000}
	many := run(t, p, topo, free(), call)
	call.Slots = 1
	if one := run(t, p, topo, free(), call); many.Micros < 100 || many.Micros > 200 || one.Micros < 280 ||
		one.Micros > 320 {
		t.Errorf("100 messages take %.0f us with many slots, %.0f with one", many.Micros, one.Micros)
	}
}

// TestBusiest holds that passes that are not simulated cost no less than what their busiest link takes for its bytes,
// also where blocks drift apart, so that the last passes that are simulated end close together: those of four nodes
// with a NIC for each GPU of 23,500 bytes a microsecond.
func TestBusiest(t *testing.T) {
	const bytes = 4 << 30
	topo, err := topology.Open("ndv4:nodes=4")
	if err != nil {
		t.Fatal(err)
	}
	costs, err := devices.CostsOf(topo.Device)
	if err != nil {
		t.Fatal(err)
	}
	p := (&papers{}).program(t, form{file: "testdata/one_step", params: "ranks=32"}, ir.Simple, way{instances: 1})
	r := run(t, p, topo, costs, simulate.Call{Bytes: bytes, DType: data.F32})
	if least := bytes * 24. / 32 / 23_500; r.Micros < least || r.Micros > 1.02*least {
		t.Errorf("%.0f us, where a NIC takes %.0f for its bytes", r.Micros, least)
	}
}

func TestRefused(t *testing.T) {
	topo := machine(t, nil)
	p := compile(t, "allreduce/ring", false, ir.Simple, ranks("5"))
	if _, err := simulate.Run(p, topo, free(), simulate.Call{Bytes: 1000}); !errors.Is(err, simulate.ErrNoWay) {
		t.Errorf("five ranks on four GPUs: %v", err)
	}
	p = compile(t, "allreduce/ring", false, ir.Simple, ranks("4"))
	for i := range p.Steps { // a message that nobody sends
		if p.Steps[i].Op == ir.Send {
			p.Steps[i].Op = ir.Nop
		}
	}
	if _, err := simulate.Run(p, topo, free(), simulate.Call{Bytes: 1000}); err == nil ||
		!strings.Contains(err.Error(), "does not end") {
		t.Errorf("without sends: %v", err)
	}
}

// TestTrace holds that a trace has each step of each pass once, in its block's order.
func TestTrace(t *testing.T) {
	p := compile(t, "allreduce/allpairs", true, ir.Simple, ranks("4"))
	r := run(t, p, machine(t, nil), free(), simulate.Call{Bytes: 1 << 20,
		Width: launch.Width{Replicas: 1, Tile: 64 << 10}, Trace: true})
	if want := len(p.Steps) * int(r.Simulated); len(r.Trace.Spans) < want*8/10 || len(r.Trace.Spans) > want {
		t.Errorf("%d spans of %d steps in %d passes", len(r.Trace.Spans), len(p.Steps), r.Simulated)
	}
	for i := range r.Trace.Spans {
		if s := &r.Trace.Spans[i]; s.Length < 0 || s.Begin < 0 {
			t.Fatalf("span %d begins at %v and takes %v", i, s.Begin, s.Length)
		}
	}
}

// TestNothing holds that a call of less than an element is a launch and no more, and that a rough simulation is not far
// from a good one.
func TestNothing(t *testing.T) {
	for _, sided := range []bool{false, true} {
		p := compile(t, "allreduce/allpairs", sided, ir.Simple, ranks("4"))
		for _, bytes := range []int64{0, 1} {
			if r := run(t, p, machine(t, nil), free(), simulate.Call{Bytes: bytes, Trace: true}); r.Passes != 0 ||
				r.Micros > 10 || len(r.Trace.Spans) > 0 {
				t.Errorf("%d bytes: %+v", bytes, r)
			}
		}
		good := run(t, p, machine(t, nil), free(), simulate.Call{Bytes: 1 << 28})
		if rough := run(t, p, machine(t, nil), free(), simulate.Call{Bytes: 1 << 28,
			Rough: true}); rough.Events >= good.Events || math.Abs(rough.Micros/good.Micros-1) > 0.1 {
			t.Errorf("roughly %.2f us in %d events, well %.2f in %d", rough.Micros, rough.Events, good.Micros, good.Events)
		}
	}
}

// TestExchange holds that two ranks send each other at once, in the time of one way, though a connection does not hold
// all.
func TestExchange(t *testing.T) {
	const text = `algorithm exchange()
collective custom(2, input = 8, output = 8) { WAYS }
WAYS
`
	micros := func(require, copies string) float64 {
		source := strings.Replace(strings.Replace(text, "WAYS", require, 1), "WAYS", copies, 1)
		p, err := mscclc.Compile("exchange.mscl", []byte(source), mscclc.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return run(t, p, machine(t, nil), free(), simulate.Call{Bytes: 8 << 20, SlotBytes: 1 << 20}).Micros
	}
	one := micros("for i in 0..8 { require chunk(1, output, i) == chunk(0, input, i) }",
		"chunk(0, input, 0, 8).copy(1, output, 0)")
	both := micros("for i in 0..8, r in 0..2 { require chunk(1 - r, output, i) == chunk(r, input, i) }",
		"for r in 0..2 { chunk(r, input, 0, 8).copy(1 - r, output, 0) }")
	near(t, "both ways", both, one, 0.05)
}

// TestThereAndBack holds that tiles follow each other along a chain that ends where it began: a block that sent them
// off and received them again would begin each when the one before is back.
func TestThereAndBack(t *testing.T) {
	const text = `algorithm back()
collective custom(4, input = 1, output = 2) { require chunk(0, output, 1) == chunk(0, input, 0) }
let c = chunk(0, input, 0)
for r in 1..4 { c = c.copy(r, output, 0) }
for r in 2..-1 by -1 { c = c.copy(r, output, 1) }
`
	p, err := mscclc.Compile("back.mscl", []byte(text), mscclc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	micros := func(tiles int64) float64 {
		return run(t, p, machine(t, nil), free(), simulate.Call{Bytes: 4000 * tiles, Width: launch.Width{Tile: 2000},
			SlotBytes: 2000}).Micros
	}
	if one, many := micros(1), micros(40); many > 20*one {
		t.Errorf("40 tiles take %.0f us, and one %.0f", many, one)
	}
}
