package choose

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/selection"
)

const someTable = `{"version": 2, "entries": [
  {"device":"Some GPU","ranks":4,"collective":"allreduce","inplace":false,"rules":[
    {"up_to":2048,"program":"allreduce/allpairs_onestep","protocol":"LL16","replicas":2,"threads":512,"us":4.25},
    {"program":"allreduce/ring","protocol":"Simple","replicas":32,"threads":512,"tile":65536}]},
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
	for bytes, want := range map[int64]string{0: "allpairs_onestep LL16 2x512", 2048: "allpairs_onestep LL16 2x512",
		2049: "ring Simple 32x512/64K", 1 << 40: "ring Simple 32x512/64K"} {
		v, measured, err := c.Choose(out, bytes, 2)
		if err != nil || !measured || v.String() != want {
			t.Errorf("%d: %v %v %v", bytes, v, measured, err)
		}
	}
	// Only an entry for the placement and for such elements counts.
	for element, want := range map[int]bool{4: true, 2: false} {
		if v, measured, err := c.Choose(call(ir.AllReduce, 4), 1024, element); err != nil || measured != want || measured &&
			v.String() != "ring LL" {
			t.Errorf("in place, elements of %d bytes: %v, measured %v, %v", element, v, measured, err)
		}
	}
	c.Device = "Another GPU"
	if v, measured, err := c.Choose(out, 1024, 2); err != nil || measured {
		t.Errorf("%v by a table for another device, %v", v, err)
	}
}

// TestTableEnds holds that nothing is measured beyond a last rule that has an end, but where the table that this one is
// put over has more.
func TestTableEnds(t *testing.T) {
	some, _ := ReadTable("t", strings.NewReader(someTable))
	ending := &selection.Table{}
	e := some.Entries[0]
	e.Rules = e.Rules[:1]
	e.Rules[0].Program = "allreduce/allpairs"
	ending.Put(e)
	both, _ := ReadTable("t", strings.NewReader(someTable))
	both = both.With(ending)
	for _, c := range []struct {
		table    *selection.Table
		bytes    int64
		measured bool
		program  string
	}{
		{ending, 2048, true, "allreduce/allpairs"}, {ending, 2049, false, ""},
		{both, 2048, true, "allreduce/allpairs"}, {both, 2049, true, "allreduce/ring"},
	} {
		v, measured, err := (&Chooser{Table: c.table, Device: "Some GPU"}).Choose(Call{Kind: ir.AllReduce, Ranks: 4},
			c.bytes, 2)
		if err != nil || measured != c.measured || c.measured && v.Program != c.program {
			t.Errorf("%d bytes: %v, measured %v, %v", c.bytes, v, measured, err)
		}
	}
	if ending.Entries[0].End() != 2048 || both.Entries[0].End() != 0 {
		t.Errorf("they end at %d and %d", ending.Entries[0].End(), both.Entries[0].End())
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
	// An entry that ends keeps the old one's rules for larger calls.
	old, _ := ReadTable("t", strings.NewReader(someTable))
	e = old.Entries[0]
	e.Rules = []selection.Rule{{UpTo: 1024, Choice: selection.Choice{Program: "allreduce/allpairs"}},
		{UpTo: 4096, Choice: selection.Choice{Program: "allreduce/bruck"}}}
	for range 2 {
		old.Put(e)
		if rules := old.Entries[0].Rules; len(old.Entries) != 2 || len(rules) != 3 || rules[0] != e.Rules[0] ||
			rules[1] != e.Rules[1] || rules[2].UpTo != 0 || rules[2].Program != "allreduce/ring" {
			t.Errorf("an entry up to 4096 over the old one: %+v", old.Entries)
		}
	}
	both := DefaultTable().With(table)
	if len(both.Entries) != len(DefaultTable().Entries)+3 {
		t.Errorf("%d entries", len(both.Entries))
	}
}

// What a table may say wrong is refused.
func TestTableRejects(t *testing.T) {
	for old, wrong := range map[string]string{
		`"version": 2`:             `"version": 3`,
		`"ranks":4`:                `"ranks":0`,
		`"collective":"allreduce"`: `"collective":"allgather"`,
		`"up_to":2048`:             `"up_to":0`,
		`"protocol":"LL16"`:        `"protocol":"LL17"`,
		`allreduce/ring`:           `allreduce/rung`,
		`"replicas":2`:             `"replicas":-2`,
		`"tile":65536`:             `"tile":65536,"sided":"three"`,
		`{"program"`:               `{"up_to":1,"program"`,
		`4,"collective"`:           `4,"nodes":3,"collective"`,
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
// search writes.
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
			if _, err := c.Program(r.Choice, Call{Kind: kind, Ranks: e.Ranks, Inplace: e.Inplace}); err != nil {
				t.Errorf("%s, %d ranks, in place %v: %v: %v", e.Collective, e.Ranks, e.Inplace, r.Choice, err)
			}
		}
	}
}

// Where ranks are in several nodes, programs that go by nodes are among those that are chosen, for calls of as many
// nodes alone.
func TestTableOfNodes(t *testing.T) {
	text := `{"version": 2, "entries": [
  {"device":"Some GPU","ranks":16,"nodes":2,"collective":"allreduce","inplace":false,"rules":[
    {"program":"allreduce/twophase_hierarchical_ll","protocol":"LL","replicas":2}]}
]}
`
	table, err := ReadTable("t", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b); err != nil || b.String() != text {
		t.Errorf("%v\n%s", err, b.String())
	}
	c := &Chooser{Table: table, Device: "Some GPU"}
	v, measured, err := c.Choose(Call{Kind: ir.AllReduce, Ranks: 16, Nodes: 2}, 1<<10, 2)
	if err != nil || !measured || v.String() != "twophase_hierarchical_ll LL 2" {
		t.Errorf("%v, by the table %v, %v", v, measured, err)
	}
	for _, nodes := range []int{0, 1, 4} {
		if EntryFor(table, "Some GPU", Call{Kind: ir.AllReduce, Ranks: 16, Nodes: nodes}, 2) != nil {
			t.Errorf("an entry of 2 nodes is for calls of %d", nodes)
		}
	}
	alone := strings.Replace(text, `"nodes":2,`, "", 1)
	if _, err := ReadTable("t", strings.NewReader(alone)); err == nil ||
		!strings.Contains(err.Error(), "takes nodes and their GPUs") {
		t.Errorf("a program of nodes for one: %v", err)
	}
}

// TestTableOn: of the entries for a given number of nodes that for the nodes of the call's ranks counts, then that for
// equal blocks. What "on" says wrong is refused.
func TestTableOn(t *testing.T) {
	text := `{"version": 2, "entries": [
  {"device":"cpu","ranks":4,"nodes":2,"collective":"allreduce","inplace":false,"rules":[
    {"program":"allreduce/ring","protocol":"Simple"}]},
  {"device":"cpu","ranks":4,"nodes":2,"on":"0,0,0,1","collective":"allreduce","inplace":false,"rules":[
    {"program":"allreduce/allpairs","protocol":"Simple"}]}
]}
`
	table, err := ReadTable("t", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b); err != nil || b.String() != text {
		t.Errorf("%v\n%s", err, b.String())
	}
	for on, want := range map[string]string{"": "ring", "0,0,1,1": "ring", "0,1,0,1": "ring", "0,0,0,1": "allpairs"} {
		call := Call{Kind: ir.AllReduce, Ranks: 4, Nodes: 2, On: on}
		v, measured, err := (&Chooser{Table: table, Device: "cpu"}).Choose(call, 1<<10, 2)
		if err != nil || !measured || v.Program != "allreduce/"+want {
			t.Errorf("on %q: %v, by the table %v, %v", on, v, measured, err)
		}
		e := call.Entry("cpu")
		if i := slices.IndexFunc(table.Entries, func(o selection.Entry) bool { return o.Same(&e) }); (on == "0,1,0,1") != (i < 0) {
			t.Errorf("on %q: the entry is %+v, which is entry %d of the table", on, e, i)
		}
	}
	for wrong, want := range map[string]string{
		`"nodes":2,"on":"0,0,1,1"`: `"on" puts equal blocks of ranks on the nodes, as "nodes": 2 alone does`,
		`"nodes":2,"on":"0,0,1"`:   `"on" has 3 ranks on 2 nodes`,
		`"nodes":3,"on":"0,0,0,1"`: `"on" has 4 ranks on 2 nodes, "ranks" is 4, and "nodes" 3`,
		`"on":"0,0,0,1"`:           `"nodes" 1`,
		`"nodes":2,"on":"1,0,0,0"`: "must have the node of each rank",
		`"nodes":2,"on":"0,0,0,0"`: "must have the node of each rank",
		`"nodes":2,"on":"0,0,0,2"`: "must have the node of each rank",
		`"nodes":2,"on":"0,0,0,x"`: "must have the node of each rank",
	} {
		_, err := ReadTable("t", strings.NewReader(strings.Replace(text, `"nodes":2,"on":"0,0,0,1"`, wrong, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", wrong, err)
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
