package choose

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
)

func call(kind ir.Kind, ranks int) Call { return Call{Kind: kind, Ranks: ranks, Inplace: true} }

// The shapes of programs whose cost is known.
func TestShape(t *testing.T) {
	for _, c := range []struct {
		program string
		kind    ir.Kind
		ranks   int
		want    Shape
	}{
		{"allreduce/ring", ir.AllReduce, 4, Shape{6, 1.5, 1, 0, 0}},
		{"allreduce/allpairs", ir.AllReduce, 8, Shape{2, 1.75, 7, 0, 1}},
		{"allreduce/allpairs_onestep", ir.AllReduce, 4, Shape{1, 3, 3, 0, 4}},
		{"allgather/ring", ir.AllGather, 4, Shape{3, 0.75, 1, 0, 0}},
		{"reducescatter/allpairs", ir.ReduceScatter, 4, Shape{1, 0.75, 3, 0, 1}},
		{"broadcast/binomial", ir.Broadcast, 8, Shape{3, 3, 3, 0, 0}},
	} {
		got, err := new(Chooser).Shape(c.program, call(c.kind, c.ranks))
		if err != nil {
			t.Fatal(err)
		}
		if got.Moved == 0 {
			t.Errorf("%s moves nothing", c.program)
		}
		if got.Moved = 0; got != c.want {
			t.Errorf("%s: %+v, not %+v", c.program, got, c.want)
		}
	}
}

// Where nothing was measured, small calls go by one round of packets, and large ones by what sends least, without packets.
func TestSimulated(t *testing.T) {
	c := &Chooser{Device: "Some GPU"}
	for _, ranks := range []int{2, 4, 8} {
		small, measured, err := c.Choose(call(ir.AllReduce, ranks), 1<<10, 2)
		if err != nil || measured {
			t.Fatal(measured, err)
		}
		large, _, err := c.Choose(call(ir.AllReduce, ranks), 1<<30, 2)
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := c.Shape(small.Program, call(ir.AllReduce, ranks)); small.Protocol != "LL" || s.Rounds != 1 {
			t.Errorf("%d ranks, small: %v", ranks, small)
		}
		if s, _ := c.Shape(large.Program, call(ir.AllReduce, ranks)); large.Protocol != "Simple" || s.Volume > 2 || large.Columns < small.Columns {
			t.Errorf("%d ranks, large: %v, %+v", ranks, large, s)
		}
	}
	if _, _, err := c.Choose(call(ir.Custom, 4), 1, 2); err == nil || !strings.Contains(err.Error(), "no custom") {
		t.Errorf("got %v", err)
	}
	if _, _, err := c.Choose(call(ir.AllToAll, 4), 1, 2); !errors.Is(err, ErrNotInPlace) {
		t.Errorf("an alltoall in place: %v", err)
	}
	for _, own := range []*Chooser{{Device: "cpu"}, {Device: "Some GPU", Shared: true}} {
		if v, _, err := own.Choose(call(ir.AllGather, 4), 1<<20, 4); err != nil || v.Width() != "" {
			t.Errorf("%v, %v: the width is the executor's", v, err)
		}
	}
}

// What was measured to be the fastest is not far from it in the simulation, but for one in twenty.
func TestSimulatedMeasured(t *testing.T) {
	c, rules, far := &Chooser{Device: "NVIDIA H200"}, 0, 0
	for _, e := range DefaultTable().Entries {
		kind, _ := ir.KindByName(e.Collective)
		call := Call{Kind: kind, Ranks: e.Ranks, Inplace: e.Inplace}
		for _, r := range e.Rules {
			bytes := r.UpTo / 2
			if bytes == 0 {
				bytes = 1 << 30
			}
			if r.Via != "" { // nothing but a table chooses it
				continue
			}
			ranked, micros, err := c.Ranked(call, bytes, 2)
			if err != nil {
				t.Fatal(err)
			}
			rules++
			for i, v := range ranked {
				if v.Program == r.Program && v.Protocol == r.Protocol && micros[i] > 1.35*micros[0] {
					far++
					t.Logf("%v of %d, in place %v, %d bytes: %v was the fastest, and is simulated at %.2f us, %v at %.2f", kind, e.Ranks, e.Inplace, bytes, r.Variant, micros[i], ranked[0], micros[0])
				}
			}
		}
	}
	if rules < 100 || 20*far > rules {
		t.Errorf("%d of %d", far, rules)
	}
}

// Machines are those of the devices; what nobody knows is taken for H200s.
func TestMachine(t *testing.T) {
	for _, c := range []struct {
		device string
		ranks  int
		want   string
	}{
		{"NVIDIA H200", 4, "h200"}, {"NVIDIA H100 80GB HBM3", 8, "dgx_h100"}, {"NVIDIA A100-SXM4-80GB", 8, "ndv4"}, {"Tesla V100-SXM3-32GB", 16, "dgx2"},
		{"AMD Instinct MI300X", 8, "mi300x"}, {"cpu", 17, "cpu"}, {"stand-in 0", 3, "h200"}, {"NVIDIA A100-SXM4-80GB", 9, "h200"},
	} {
		topo, costs, err := Machine(c.device, c.ranks)
		if err != nil || topo.Name != c.want || topo.Ranks() < c.ranks || costs.Device != topo.Device {
			t.Errorf("%s: %+v, %v", c.device, topo, err)
		}
	}
}

// The simulation has programs of all packets in common.
func TestPacketsLowerAlike(t *testing.T) {
	for _, kind := range Collectives() {
		call := Call{Kind: kind, Ranks: 4}
		for _, v := range Candidates(kind) {
			if v.Protocol != ir.LL.String() {
				continue
			}
			others := []ir.Protocol{ir.LL16, ir.LL128}
			if v.Sided != "" {
				others = others[1:]
			}
			first, err := v.Compile(call)
			if err != nil {
				continue
			}
			for _, name := range others {
				v.Protocol = name.String()
				other, err := v.Compile(call)
				if err != nil {
					t.Fatal(err)
				}
				p := *other
				p.Protocol = first.Protocol
				if !reflect.DeepEqual(p, *first) {
					t.Errorf("%v is another program than in LL", v)
				}
			}
		}
	}
}

func TestCandidates(t *testing.T) {
	for _, kind := range Collectives() {
		list := Candidates(kind)
		if len(list) == 0 {
			t.Errorf("%v has no candidates", kind)
		}
		for _, v := range list {
			if strings.Contains(v.Program, "hierarchical") || strings.Contains(v.Program, "switch") {
				t.Errorf("%s takes nodes, or the switch's memory", v.Program)
			}
		}
	}
	if !IsCollective("allreduce") || IsCollective("ring") || IsCollective("custom") {
		t.Error("collectives are mistaken")
	}
}

const someTable = `{"version": 1, "entries": [
  {"device":"Some GPU","ranks":4,"collective":"allreduce","inplace":false,"rules":[
    {"up_to":2048,"program":"allreduce/allpairs_onestep","protocol":"LL16","columns":2,"threads":512,"us":4.25},
    {"program":"allreduce/ring","protocol":"Simple","columns":32,"threads":512,"tile":65536}]},
  {"device":"Some GPU","ranks":4,"collective":"allreduce","inplace":true,"element_bytes":4,"rules":[
    {"program":"allreduce/ring","protocol":"LL"}]}
]}
`

func TestTable(t *testing.T) {
	table, err := ReadTable("t", strings.NewReader(someTable))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b); err != nil || b.String() != someTable {
		t.Errorf("%v\n%s", err, b.String())
	}
	c := &Chooser{Table: table, Device: "Some GPU"}
	out := Call{Kind: ir.AllReduce, Ranks: 4}
	for bytes, want := range map[int64]string{0: "allpairs_onestep LL16 2x512", 2048: "allpairs_onestep LL16 2x512", 2049: "ring Simple 32x512/64K", 1 << 40: "ring Simple 32x512/64K"} {
		v, measured, err := c.Choose(out, bytes, 2)
		if err != nil || !measured || v.String() != want {
			t.Errorf("%d: %v %v %v", bytes, v, measured, err)
		}
	}
	// The entry for such elements counts, else that of the other placement.
	for element, want := range map[int]string{4: "ring LL", 2: "allpairs_onestep LL16 2x512"} {
		if v, _, _ := c.Choose(call(ir.AllReduce, 4), 1024, element); v.String() != want {
			t.Errorf("elements of %d bytes: %v", element, v)
		}
	}
	c.Device = "Another GPU"
	if v, measured, err := c.Choose(out, 1024, 2); err != nil || measured {
		t.Errorf("%v by a table for another device, %v", v, err)
	}
}

func TestTablePut(t *testing.T) {
	table, _ := ReadTable("t", strings.NewReader(someTable))
	e := table.Entries[0]
	e.Rules = e.Rules[1:]
	table.Put(e)
	e.Ranks = 2
	table.Put(e)
	var got []string
	for _, e := range table.Entries {
		got = append(got, fmt.Sprint(e.Ranks, e.Inplace, len(e.Rules)))
	}
	if want := []string{"2 false 1", "4 false 1", "4 true 1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	both := DefaultTable().With(table)
	if len(both.Entries) != len(DefaultTable().Entries)+3 {
		t.Errorf("%d entries", len(both.Entries))
	}
}

// What a table may say wrong is refused.
func TestTableRejects(t *testing.T) {
	for old, wrong := range map[string]string{
		`"version": 1`:             `"version": 2`,
		`"ranks":4`:                `"ranks":0`,
		`"collective":"allreduce"`: `"collective":"allgather"`,
		`"up_to":2048`:             `"up_to":0`,
		`"protocol":"LL16"`:        `"protocol":"LL17"`,
		`allreduce/ring`:           `allreduce/rung`,
		`"columns":2`:              `"columns":-2`,
		`"tile":65536`:             `"tile":65536,"sided":"three"`,
		`{"program"`:               `{"up_to":1,"program"`,
		"\n]}\n":                   "\n",
	} {
		if strings.Count(someTable, old) == 0 {
			t.Fatalf("%s is not there", old)
		}
		text := strings.Replace(someTable, old, wrong, 1)
		if table, err := ReadTable("t", strings.NewReader(text)); err == nil {
			t.Errorf("%s: %+v", wrong, table)
		}
	}
}

// The tables that are built in are of programs that compile, in the order that
// bench --tune writes.
func TestDefaultTable(t *testing.T) {
	table := DefaultTable()
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	again, err := ReadTable("t", &b)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Write(&b); err != nil || b.String() != text || len(again.Entries) == 0 {
		t.Errorf("%v\n%s", err, b.String())
	}
	c := &Chooser{Table: table}
	for _, e := range table.Entries {
		kind, _ := ir.KindByName(e.Collective)
		for _, r := range e.Rules {
			if _, err := c.Program(r.Variant, Call{Kind: kind, Ranks: e.Ranks, Inplace: e.Inplace}); err != nil {
				t.Errorf("%s, %d ranks, in place %v: %v: %v", e.Collective, e.Ranks, e.Inplace, r.Variant, err)
			}
		}
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add(someTable)
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ReadTable("t", strings.NewReader(text))
		if err != nil {
			return
		}
		for _, e := range table.Entries {
			e.Rule(1 << 20)
		}
	})
}

// Programs that only copy have a form whose copies a port makes, which nothing but a table chooses.
func TestPorted(t *testing.T) {
	for program, want := range map[string]bool{"allgather/allpairs": true, "alltoall/one_step": true, "broadcast/direct": true, "sendrecv/direct": true, "allreduce/ring": false} {
		v, ok := Variant{Program: program, Protocol: "Simple"}.Ported()
		if !ok {
			t.Fatal("Simple has packets")
		}
		kind, _ := ir.KindByName(strings.Split(program, "/")[0])
		p, err := v.Compile(Call{Kind: kind, Ranks: 4, Inplace: kind == ir.Broadcast})
		if (err == nil) != want {
			t.Errorf("%v: %v", v, err)
		}
		if err != nil {
			continue
		}
		for i, s := range p.Steps {
			rank, _, _ := p.Place(int32(i))
			for _, o := range p.OneSided.Dests(&s) {
				if s.Op == ir.Move && int(o.Rank) != rank && o.Via != ir.ViaPort {
					t.Errorf("%v: step %d of rank %d goes by way %d", v, i, rank, o.Via)
				}
			}
		}
	}
	if _, ok := (Variant{Program: "allgather/allpairs", Protocol: "LL"}).Ported(); ok {
		t.Error("a port takes packets")
	}
	if v, _, err := new(Chooser).Choose(Call{Kind: ir.AllGather, Ranks: 4}, 1<<30, 2); err != nil || v.Via != "" {
		t.Errorf("the simulation chose %v: %v", v, err)
	}
	const text = `{"version": 1, "entries": [
  {"device":"Some GPU","ranks":4,"collective":"allgather","inplace":false,"rules":[
    {"program":"allgather/allpairs","protocol":"Simple","via":"port"}]}
]}
`
	table, err := ReadTable("t", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	c := &Chooser{Table: table, Device: "Some GPU"}
	v, measured, err := c.Choose(Call{Kind: ir.AllGather, Ranks: 4}, 1<<30, 2)
	if err := table.Write(&b); err != nil || b.String() != text {
		t.Errorf("%v\n%s", err, b.String())
	}
	if err != nil || !measured || v.String() != "allpairs Simple port" || v.Ways() != ir.ViaPort {
		t.Errorf("by a table: %v %v %v", v, measured, err)
	}
	if _, err := ReadTable("t", strings.NewReader(strings.Replace(text, `"port"`, `"air"`, 1))); err == nil {
		t.Error("a table has a way that there is none of")
	}
}
