package choose

import (
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"sync"

	"mscclc/algorithms"
	"mscclc/internal/strictjson"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// MostRanks is how many ranks a program is chosen for: all variants are expanded for that.
const MostRanks = 1024

// maxTable bounds a table's file, which is JSON whatever it is called, maxName the names in it, and maxOn "on".
const (
	maxTable = 16 << 20
	maxName  = 1 << 10
	maxOn    = MostRanks * 5
)

// ReadTable reads a table, whose file messages call name, and refuses one of which it would
// misread or pass over a part. The error is a diag.List that names fields as the JSON does.
func ReadTable(name string, r io.Reader) (*Table, error) { return Shelf(nil).ReadTable(name, r) }

// ReadTable reads a table whose rules may also name the user's programs.
func (s Shelf) ReadTable(name string, r io.Reader) (*Table, error) {
	opt := strictjson.Options{What: "table", MaxBytes: maxTable, MaxMemory: math.MaxInt64}
	t := &tableReader{Reader: strictjson.NewReader(name, r, opt), table: &Table{}, own: s, known: map[entryKey]diag.Span{}}
	t.read()
	if err := t.Finish(); err != nil {
		return nil, err
	}
	return t.table, nil
}

// A tableReader reads a table, and judges what one field says of another.
type tableReader struct {
	*strictjson.Reader
	table *Table
	own   Shelf
	known map[entryKey]diag.Span // entries, by the calls that they are for
}

// An entryKey is what no two entries of a table have in common.
type entryKey struct {
	device, collective, on string
	ranks, nodes, element  int
	inplace                bool
}

// bad notes that a value at at, whose path is known, is wrong.
func (t *tableReader) bad(at strictjson.Pos, format string, args ...any) *diag.Diagnostic {
	return t.Say(diag.Malformed, at, format, args...)
}

func (t *tableReader) read() {
	t.Fields(
		strictjson.Field{Key: "version", Must: true, Read: func() {
			at := t.Here()
			if t.table.Version = t.whole(0, math.MaxInt32); t.table.Version != TableVersion {
				t.bad(at, "is %d, of which only %d is known", t.table.Version, TableVersion)
			}
		}},
		strictjson.Field{Key: "entries", Must: true, Read: func() { t.List(func(int) { t.entry() }) }},
		// What bench --tune --json has beside the table.
		strictjson.Field{Key: "schema", Read: t.Skip},
		strictjson.Field{Key: "output", Read: t.Skip},
		strictjson.Field{Key: "problems", Read: t.Skip})
}

func (t *tableReader) whole(least, most uint64) int { return int(t.Uint(least, most)) }

// entry reads an entry.
func (t *tableReader) entry() {
	var e Entry
	var programs []strictjson.Pos // of its rules
	start, before := t.Here(), t.Errors()
	t.Fields(
		strictjson.Field{Key: "device", Must: true, Read: func() {
			at, before := t.Here(), t.Errors()
			if e.Device = t.Text(maxName); e.Device == "" && t.Errors() == before {
				t.bad(at, "is empty")
			}
		}},
		strictjson.Field{Key: "ranks", Must: true, Read: func() { e.Ranks = t.whole(1, MostRanks) }},
		strictjson.Field{Key: "nodes", Read: func() {
			if e.Nodes = t.whole(1, MostRanks); e.Nodes == 1 {
				e.Nodes = 0
			}
		}},
		strictjson.Field{Key: "on", Read: func() {
			at, before := t.Here(), t.Errors()
			e.On = t.Text(maxOn)
			if _, ok := ReadOn(e.On); !ok && t.Errors() == before {
				t.bad(at, "must have the node of each rank, as \"0,0,0,1\" has")
			}
		}},
		strictjson.Field{Key: "collective", Must: true, Read: func() { e.Collective = t.OneOf(kinds()...) }},
		strictjson.Field{Key: "inplace", Read: func() { e.Inplace = t.Bool() }},
		strictjson.Field{Key: "element_bytes", Read: func() {
			at := t.Here()
			if e.Element = t.whole(0, 8); e.Element&(e.Element-1) != 0 {
				t.bad(at, "is %d, and no type's elements have so many", e.Element)
			}
		}},
		strictjson.Field{Key: "unmeasured", Read: func() { e.Unmeasured = t.Bool() }},
		strictjson.Field{Key: "simulated", Read: func() { e.Simulated = t.Text(64) }},
		strictjson.Field{Key: "rules", Must: true, Read: func() {
			at := t.Here()
			t.List(func(int) { programs = append(programs, t.rule(&e)) })
			if len(e.Rules) == 0 && t.Errors() == before {
				t.bad(at, "is empty")
			}
		}})
	if t.Full() || t.Errors() > before {
		return
	}
	t.judge(&e, start, programs)
	t.table.Entries = append(t.table.Entries, e)
}

// judge says what of the fields of an entry, which begins at start, does not go together. programs are where its rules
// name their programs.
func (t *tableReader) judge(e *Entry, start strictjson.Pos, programs []strictjson.Pos) {
	kind, _ := ir.KindByName(e.Collective)
	if e.Inplace && (kind == ir.AllToAll || kind == ir.SendRecv) {
		t.bad(start, "%v has no in-place form, and \"inplace\" is true", kind)
	}
	if nodes := max(e.Nodes, 1); e.On != "" {
		t.judgeOn(e, start)
	} else if e.Ranks%nodes != 0 {
		t.bad(start, "\"nodes\" is %d, and so many nodes cannot have equally many of %d ranks", nodes, e.Ranks)
	}
	key := entryKey{e.Device, e.Collective, e.On, e.Ranks, e.Nodes, e.Element, e.Inplace}
	if first, twice := t.known[key]; twice {
		d := t.bad(start, "is for the same calls as another entry: %q, %d ranks of %q, and the same \"nodes\", \"on\", \"inplace\" and \"element_bytes\"",
			e.Collective, e.Ranks, diag.Clip([]byte(e.Device)))
		*d = d.WithNote(first, "which is here")
	}
	t.known[key] = t.Span(start)
	for k, r := range e.Rules {
		bad := func(format string, args ...any) {
			t.bad(programs[k], "rules[%d].program is %q, %s", k, r.Program, fmt.Sprintf(format, args...))
		}
		bare, params, _ := Unshaped(r.Program)
		switch {
		case t.own.own(r.Program) != nil:
		case path.Dir(bare) != e.Collective:
			bad("and \"collective\" %q", e.Collective)
		case !slices.Contains(chosenOfNodes()[e.Collective], bare):
			bad("which takes more than a number of ranks, or the switch's memory")
		case e.Nodes < 2 && params["nodes"] == 0 && !slices.Contains(chosen()[e.Collective], bare):
			bad("which takes nodes and their GPUs, and the entry has no \"nodes\" from 2")
		case r.Via != ir.ViaAny && (&ir.Collective{Kind: kind}).Reduces():
			bad("with \"via\": %q, and a port cannot reduce", r.Via)
		}
	}
}

// judgeOn says where "on" of an entry does not go with its other fields.
func (t *tableReader) judgeOn(e *Entry, start strictjson.Pos) {
	node, _ := ReadOn(e.On)
	nodes := int(slices.Max(node)) + 1
	switch call := (Call{Ranks: e.Ranks, Nodes: nodes, On: e.On}); {
	case len(node) != e.Ranks || nodes != e.Nodes:
		t.bad(start, "\"on\" has %d ranks on %d nodes, \"ranks\" is %d, and \"nodes\" %d", len(node), nodes, e.Ranks,
			max(e.Nodes, 1))
	case call.blocks():
		t.bad(start, "\"on\" puts equal blocks of ranks on the nodes, as \"nodes\": %d alone does: leave \"on\" out", nodes)
	}
}

// rule reads a rule of e, and returns where it names its program.
func (t *tableReader) rule(e *Entry) (program strictjson.Pos) {
	var r Rule
	start, before := t.Here(), t.Errors()
	upTo := start
	at := map[string]strictjson.Pos{} // of the fields, by key
	fields := append(r.Choice.Fields(t.Reader),
		strictjson.Field{Key: "up_to", Read: func() { upTo = t.Here(); r.UpTo = int64(t.Uint(1, math.MaxInt64)) }},
		strictjson.Field{Key: "us", Read: func() { r.Micros = t.Float(0) }})
	for i, f := range fields {
		fields[i].Must = f.Key == "program" || f.Key == "protocol"
		fields[i].Read = func() {
			at[f.Key] = t.Here()
			f.Read()
		}
	}
	fields[0].Read = func() {
		program = t.Here()
		r.Program = t.program()
		r.at = t.Span(program)
	}
	t.Fields(fields...)
	if t.Full() || t.Errors() > before {
		e.Rules = append(e.Rules, r)
		return program
	}
	if n := len(e.Rules); n > 0 {
		switch last := e.Rules[n-1]; {
		case last.UpTo == 0:
			t.bad(start, "is never reached: the rule before it has no \"up_to\", and is for all sizes")
		case r.UpTo > 0 && r.UpTo <= last.UpTo:
			t.bad(upTo, "is never reached: \"up_to\" is %d, and the rule before it is for sizes up to %d", r.UpTo, last.UpTo)
		}
	}
	switch key, why := r.Unfit(); {
	case r.Placement != selection.AsCalled:
		t.bad(at["placement"], "is %q, and rules of tables are for calls in place or out of place", r.Placement)
	case why != "":
		if at, ok := at[key]; ok {
			start = at
		}
		t.bad(start, "%s", why)
	case r.Several() && t.own.Compiled(r.Program):
		t.bad(start, "has \"lanes\": %d, and %q is compiled already", r.Lanes, r.Program)
	}
	e.Rules = append(e.Rules, r)
	return program
}

// program reads the name of a program of the catalog, or of a user's.
func (t *tableReader) program() string {
	at, before := t.Here(), t.Errors()
	name := t.Text(maxName)
	bare, _, _ := Unshaped(name)
	if _, there := slices.BinarySearch(catalog(), bare); t.Errors() == before && !there && t.own.own(name) == nil {
		hint := "mscclc list shows the catalog; names are like allreduce/ring"
		if path.Dir(name) == "." && path.Ext(name) != "" {
			hint = "give the file of your own beside the collective: mscclc run (or bench) COLLECTIVE " +
				string(diag.Clip([]byte(name))) + " --table TABLE"
		}
		t.bad(at, "is %q, which the catalog does not have", diag.Clip([]byte(name))).Hint = hint
		return ""
	}
	return name
}

// catalog has the sorted names of all programs.
var catalog = sync.OnceValue(func() []string { return slices.Sorted(slices.Values(algorithms.Names())) })

// kinds has the names of the collectives.
var kinds = sync.OnceValue(func() []string {
	var list []string
	for _, k := range Collectives() {
		list = append(list, k.String())
	}
	return list
})

// chosen are the programs that are chosen among where the ranks are in one node, by the name of their collective.
var chosen = sync.OnceValue(func() map[string][]string { return programsOf(1) })

// chosenOfNodes are those where they are in several.
var chosenOfNodes = sync.OnceValue(func() map[string][]string { return programsOf(2) })

func programsOf(nodes int) map[string][]string {
	programs := map[string][]string{}
	for _, k := range Collectives() {
		for _, v := range append(candidates(k, nodes), ringed(k)...) {
			programs[k.String()] = append(programs[k.String()], v.Program)
		}
	}
	return programs
}
