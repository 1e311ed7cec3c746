package choose

import (
	"fmt"
	"io"
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
const MostRanks = selection.MostRanks

// ReadTable reads a table, whose file messages call name, and refuses one of which it would misread or pass over a
// part. The error is a diag.List that names fields as the JSON does. Entries with "when", which are for bundles, stay
// as they are: package bundle judges their rules.
func ReadTable(name string, r io.Reader) (*selection.Table, error) {
	return UserPrograms(nil).ReadTable(name, r)
}

// ReadTable reads a table whose rules may also name the user's programs.
func (s UserPrograms) ReadTable(name string, r io.Reader) (*selection.Table, error) {
	t := &tableJudge{own: s, known: map[entryKey]diag.Span{}}
	return selection.Read(name, r, selection.Words{What: "table", Collectives: kinds()}, t.entry)
}

// A tableJudge says what of a table cannot be, by what one field says of another.
type tableJudge struct {
	*selection.Reader
	own   UserPrograms
	known map[entryKey]diag.Span // entries, by the calls that they are for
}

// An entryKey is what no two entries of a table have in common.
type entryKey struct {
	device, collective, on string
	ranks, nodes, element  int
	inplace                bool
}

// entry judges an entry. Names of programs are judged whatever else is wrong.
func (t *tableJudge) entry(r *selection.Reader, e *selection.Entry, start strictjson.Pos, whole bool) {
	t.Reader = r
	if e.When != "" {
		return
	}
	named := true
	for k := range e.Rules {
		t.Rule(k, func(_ strictjson.Pos, good bool) { named = t.program(e, k) && named })
	}
	for k := range e.Rules {
		t.Rule(k, func(start strictjson.Pos, good bool) {
			if good && !t.Full() {
				t.rule(e, k, start)
			}
		})
	}
	if whole && named && !t.Full() {
		t.judge(e, start)
	}
}

// judge says what of the fields of an entry, which begins at start, does not go together.
func (t *tableJudge) judge(e *selection.Entry, start strictjson.Pos) {
	kind, _ := ir.KindByName(e.Collective)
	if e.Inplace && (kind == ir.AllToAll || kind == ir.SendRecv) {
		t.Bad(start, "%v has no in-place form, and \"inplace\" is true", kind)
	}
	if nodes := max(e.Nodes, 1); e.On != "" {
		t.judgeOn(e, start)
	} else if e.Ranks%nodes != 0 {
		t.Bad(start, "\"nodes\" is %d, and %d ranks cannot be split equally among that number of nodes", nodes, e.Ranks)
	}
	key := entryKey{e.Device, e.Collective, e.On, e.Ranks, e.Nodes, e.Element, e.Inplace}
	if first, twice := t.known[key]; twice {
		d := t.Bad(start, "is for the same calls as another entry: %q, %d ranks of %q, and the same \"nodes\", \"on\", \"inplace\" and \"element_bytes\"",
			e.Collective, e.Ranks, diag.Clip([]byte(e.Device)))
		*d = d.WithNote(first, "which is here")
	}
	t.known[key] = t.Span(start)
	for k, r := range e.Rules {
		at, _ := t.At(k, "program")
		bad := func(format string, args ...any) {
			t.Bad(at, "rules[%d].program is %q, %s", k, r.Program, fmt.Sprintf(format, args...))
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
func (t *tableJudge) judgeOn(e *selection.Entry, start strictjson.Pos) {
	node, ok := ReadOn(e.On)
	if !ok {
		t.Bad(start, "\"on\" must have the node of each rank, as \"0,0,0,1\" has")
		return
	}
	nodes := int(slices.Max(node)) + 1
	switch call := (Call{Ranks: e.Ranks, Nodes: nodes, On: e.On}); {
	case len(node) != e.Ranks || nodes != e.Nodes:
		t.Bad(start, "\"on\" has %d ranks on %d nodes, \"ranks\" is %d, and \"nodes\" %d", len(node), nodes, e.Ranks,
			max(e.Nodes, 1))
	case call.blocks():
		t.Bad(start, "\"on\" puts equal blocks of ranks on the nodes, as \"nodes\": %d alone does: leave \"on\" out", nodes)
	}
}

// rule judges rule k of e, which begins at start.
func (t *tableJudge) rule(e *selection.Entry, k int, start strictjson.Pos) {
	r := &e.Rules[k]
	if k > 0 {
		upTo, _ := t.At(k, "up_to")
		switch last := &e.Rules[k-1]; {
		case last.UpTo == 0:
			t.Bad(start, "is never reached: the rule before it has no \"up_to\", and is for all sizes")
		case r.UpTo > 0 && r.UpTo <= last.UpTo:
			t.Bad(upTo, "is never reached: \"up_to\" is %d, and the rule before it is for sizes up to %d", r.UpTo, last.UpTo)
		}
	}
	_, protocol := t.At(k, "protocol")
	key, why := r.Unfit()
	at, _ := t.At(k, key)
	switch {
	case !protocol:
		t.Bad(start, "key \"protocol\" is missing")
	case r.Placement != selection.AsCalled, r.Candidate, r.Only != selection.Only{}:
		t.Bad(start, "has what only rules of entries with \"when\" have, which are for bundles: \"placement\", \"candidate\", "+
			"\"windows\" or another restriction")
	case why != "":
		t.Bad(at, "%s", why)
	case r.Several() && t.own.Compiled(r.Program):
		t.Bad(start, "has \"lanes\": %d, and %q is compiled already", r.Lanes, r.Program)
	}
}

// program judges the name of the program of rule k, which is of the catalog, or of a user's. It is false where there is
// no such program.
func (t *tableJudge) program(e *selection.Entry, k int) (ok bool) {
	name := e.Rules[k].Program
	at, given := t.At(k, "program")
	e.Rules[k].Span = t.SpanOf(k, "program")
	bare, _, _ := Unshaped(name)
	if _, there := slices.BinarySearch(catalog(), bare); !given || there || t.own.own(name) != nil {
		return given
	}
	hint := "mscclc list shows the catalog; names are like allreduce/ring"
	if path.Dir(name) == "." && path.Ext(name) != "" {
		hint = "give the file of your own beside the collective: mscclc run (or bench) COLLECTIVE " +
			string(diag.Clip([]byte(name))) + " --table TABLE"
	}
	t.Within("program", -1, func() {
		t.Bad(at, "is %q, which the catalog does not have", diag.Clip([]byte(name))).Hint = hint
	})
	return false
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
