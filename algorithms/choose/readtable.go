package choose

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"sync"

	"mscclc/algorithms"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// MostRanks is how many ranks a program is chosen for: all variants are expanded for that.
const MostRanks = 1024

// What a rule may say of a width: more than any device has room for.
const (
	mostColumns = 1 << 12
	mostTile    = 1 << 30
)

// MostThreads is how many threads a block has that the kernel is built for, and of WarpThreads it has a multiple.
const (
	MostThreads = 512
	WarpThreads = 32
)

// A tableReader reads a table, and judges what one field says of another.
type tableReader struct {
	*scan
	table *Table
	own   Shelf
	known map[entryKey]diag.Span // entries, by the calls that they are for
}

// An entryKey is what no two entries of a table have in common.
type entryKey struct {
	device, collective    string
	ranks, nodes, element int
	inplace               bool
}

func (t *tableReader) read() {
	t.object("the table",
		field{"version", true, func(what string) {
			at := t.here()
			if v, ok := value[json.Number](t.scan, what, "a number"); ok {
				if n, err := v.Int64(); err != nil || n != TableVersion {
					t.fail(at, "%s is %s, of which only %d is known", what, short(v.String()), TableVersion)
				}
			}
			t.table.Version = TableVersion
		}},
		field{"entries", true, func(what string) { t.list(what, t.entry) }},
		// What bench --tune --json has beside the table.
		field{"schema", false, func(string) { t.skip() }},
		field{"output", false, func(string) { t.skip() }},
		field{"problems", false, func(string) { t.skip() }})
	if t.ended {
		return
	}
	if at := t.here(); at.Offset < len(t.text) {
		t.fail(at, "there is more behind the table's end")
	}
}

// entry reads entry i.
func (t *tableReader) entry(i int) {
	var e Entry
	at, before := t.here(), len(t.found)
	where := fmt.Sprintf("entries[%d]", i)
	t.object(where,
		field{"device", true, func(what string) {
			at := t.here()
			if e.Device, _ = value[string](t.scan, what, "a string"); e.Device == "" && !t.ended {
				t.fail(at, "%s is empty", what)
			}
		}},
		field{"ranks", true, func(what string) { e.Ranks = int(t.whole(what, 1, MostRanks)) }},
		field{"nodes", false, func(what string) {
			if e.Nodes = int(t.whole(what, 1, MostRanks)); e.Nodes == 1 {
				e.Nodes = 0
			}
		}},
		field{"collective", true, func(what string) { e.Collective = t.oneOf(what, kinds()) }},
		field{"inplace", false, func(what string) { e.Inplace, _ = value[bool](t.scan, what, "true or false") }},
		field{"element_bytes", false, func(what string) {
			at := t.here()
			if e.Element = int(t.whole(what, 0, 8)); e.Element != 0 && e.Element&(e.Element-1) != 0 {
				t.fail(at, "%s is %d, and no type's elements have so many", what, e.Element)
			}
		}},
		field{"rules", true, func(what string) {
			at := t.here()
			t.list(what, func(k int) { t.rule(&e, fmt.Sprintf("%s.rules[%d]", where, k)) })
			if len(e.Rules) == 0 && len(t.found) == before {
				t.fail(at, "%s is empty", what)
			}
		}})
	if t.ended || len(t.found) > before {
		return
	}
	t.judge(&e, where, at)
	t.table.Entries = append(t.table.Entries, e)
}

// judge says what of an entry's fields does not go together.
func (t *tableReader) judge(e *Entry, where string, at diag.Span) {
	kind, _ := ir.KindByName(e.Collective)
	if e.Inplace && (kind == ir.AllToAll || kind == ir.SendRecv) {
		t.fail(at, "%s: %v has no in-place form, and \"inplace\" is true", where, kind)
	}
	if nodes := max(e.Nodes, 1); e.Ranks%nodes != 0 {
		t.fail(at, "%s: \"ranks\" is %d, and \"nodes\" %d, which would not have as many each", where, e.Ranks, nodes)
	}
	key := entryKey{e.Device, e.Collective, e.Ranks, e.Nodes, e.Element, e.Inplace}
	if first, twice := t.known[key]; twice {
		d := t.fail(at, "%s is for the same calls as another entry: %q, %d ranks of %q, and the same \"nodes\", \"inplace\" and \"element_bytes\"", where, e.Collective, e.Ranks, short(e.Device))
		*d = d.WithNote(first, "which is here")
	}
	t.known[key] = at
	for k, r := range e.Rules {
		what := fmt.Sprintf("%s.rules[%d]: \"program\"", where, k)
		switch {
		case r.Program == "": // it is no name
		case t.own.own(r.Program) != nil:
		case path.Dir(r.Program) != e.Collective:
			t.fail(r.at, "%s is %q, and \"collective\" %q", what, r.Program, e.Collective)
		case !slices.Contains(chosenOfNodes()[e.Collective], r.Program):
			t.fail(r.at, "%s is %q, which takes more than a number of ranks, or the switch's memory", what, r.Program)
		case e.Nodes < 2 && !slices.Contains(chosen()[e.Collective], r.Program):
			t.fail(r.at, "%s is %q, which takes nodes and their GPUs, and the entry has no \"nodes\" from 2", what, r.Program)
		case r.Via != "" && (&ir.Collective{Kind: kind}).Reduces():
			t.fail(r.at, "%s is %q with \"via\": %q, and a port cannot reduce", what, r.Program, r.Via)
		}
	}
}

// rule reads a rule of e, which where names.
func (t *tableReader) rule(e *Entry, where string) {
	var r Rule
	at, upTo := t.here(), t.here()
	t.object(where,
		field{"up_to", false, func(what string) { upTo = t.here(); r.UpTo = t.whole(what, 1, math.MaxInt64) }},
		field{"program", true, func(what string) { r.at = t.here(); r.Program = t.program(what) }},
		field{"sided", false, func(what string) {
			if r.Sided = t.oneOf(what, []string{"one", "two"}); r.Sided == "one" {
				r.Sided = ""
			}
		}},
		field{"protocol", true, func(what string) { r.Protocol = t.oneOf(what, ir.ProtocolNames()) }},
		field{"via", false, func(what string) { r.Via = t.oneOf(what, []string{viaPort}) }},
		field{"columns", false, func(what string) { r.Columns = int(t.whole(what, 0, mostColumns)) }},
		field{"threads", false, func(what string) {
			at := t.here()
			if r.Threads = int(t.whole(what, 0, MostThreads)); r.Threads%WarpThreads != 0 {
				t.fail(at, "%s is %d, and no multiple of %d", what, r.Threads, WarpThreads)
			}
		}},
		field{"tile", false, func(what string) { r.Tile = t.whole(what, 0, mostTile) }},
		field{"us", false, func(what string) {
			at := t.here()
			if n, ok := value[json.Number](t.scan, what, "a number"); ok {
				var err error
				if r.Micros, err = n.Float64(); err != nil || r.Micros < 0 {
					t.fail(at, "%s is %s, and no time", what, short(n.String()))
				}
			}
		}})
	if n := len(e.Rules); n > 0 && !t.ended {
		switch last := e.Rules[n-1]; {
		case last.UpTo == 0:
			t.fail(at, "%s is never reached: the rule before it has no \"up_to\", and is for all sizes", where)
		case r.UpTo > 0 && r.UpTo <= last.UpTo:
			t.fail(upTo, "%s is never reached: \"up_to\" is %d, and the rule before it is for sizes up to %d", where,
				r.UpTo, last.UpTo)
		}
	}
	switch {
	case r.Sided != "" && r.Columns > 1:
		t.fail(at, "%s has \"columns\": %d, and a two-sided program has no replicas", where, r.Columns)
	case r.Via != "" && (r.Sided != "" || r.Protocol != ir.Simple.String()) && r.Protocol != "":
		t.fail(at, "%s has \"via\": %q, which only one-sided programs of protocol Simple have", where, r.Via)
	}
	e.Rules = append(e.Rules, r)
}

// program reads the name of a program of the catalog, or of a user's.
func (t *tableReader) program(what string) string {
	at := t.here()
	name, ok := value[string](t.scan, what, "a string")
	if _, there := slices.BinarySearch(catalog(), name); ok && !there && t.own.own(name) == nil {
		hint := "mscclc list shows the catalog; names are like allreduce/ring"
		if path.Dir(name) == "." && path.Ext(name) != "" {
			hint = "give the file of your own beside the collective: mscclc run (or bench) COLLECTIVE " + short(name) +
				" --table TABLE"
		}
		t.fail(at, "%s is %q, which the catalog does not have", what, short(name)).Hint = hint
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
		for _, v := range candidates(k, nodes) {
			programs[k.String()] = append(programs[k.String()], v.Program)
		}
	}
	return programs
}
