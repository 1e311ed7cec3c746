package selection

import (
	"io"
	"math"
	"slices"
	"strconv"

	"mscclc/internal/strictjson"
	"mscclc/ir/diag"
)

// Version is the version of the files that Write writes. Read reads those of version 1, too: tables with entries, and
// files of rules for bundles, whose rules have the fields of entries.
const Version = 2

// MostRanks is how many ranks an entry may be for.
const MostRanks = 1024

// MaxBytes bounds a file, and maxOn the field "on".
const (
	MaxBytes = 16 << 20
	maxOn    = MostRanks * 5
)

// Words are the names that a file may have beside those of package ir.
type Words struct {
	What        string // what messages call such a file
	Collectives []string
}

// A Judge says what of an entry is wrong beside its form, which starts at start. Where whole is false, some field is
// wrong already. What it says of a rule it says in t.Rule.
type Judge func(t *Reader, e *Entry, start strictjson.Pos, whole bool)

// A Reader reads a file, for a Judge.
type Reader struct {
	*strictjson.Reader
	words Words
	judge Judge
	table *Table
	flat  bool // rules have the fields of their entries, as in files of version 1
	entry fieldsAt
	rules []fieldsAt // of the entry
}

// fieldsAt says where the fields of an object are.
type fieldsAt struct {
	start strictjson.Pos
	at    []fieldAt
	good  bool // none is wrong
}

type fieldAt struct {
	key  string
	at   strictjson.Pos
	span diag.Span
}

// Read reads a table, whose file messages call name, and refuses one of which it would misread or pass over a part. The
// error is a diag.List that names fields as the JSON does.
func Read(name string, r io.Reader, words Words, judge Judge) (*Table, error) {
	opt := strictjson.Options{What: words.What, MaxBytes: MaxBytes, MaxMemory: math.MaxInt64}
	t := &Reader{Reader: strictjson.NewReader(name, r, opt), words: words, judge: judge, table: &Table{}}
	t.read()
	if err := t.Finish(); err != nil {
		return nil, err
	}
	return t.table, nil
}

// Bad notes that a value at at is wrong.
func (t *Reader) Bad(at strictjson.Pos, format string, args ...any) *diag.Diagnostic {
	return t.Say(diag.Malformed, at, format, args...)
}

// At returns where rule k of the entry has a field, or where its entry has it; ok is false where none does.
func (t *Reader) At(k int, key string) (at strictjson.Pos, ok bool) {
	for _, list := range [][]fieldAt{t.rules[k].at, t.entry.at} {
		if i := slices.IndexFunc(list, func(f fieldAt) bool { return f.key == key }); i >= 0 {
			return list[i].at, true
		}
	}
	return t.rules[k].start, false
}

// SpanOf returns the text of a field of rule k, or nowhere.
func (t *Reader) SpanOf(k int, key string) (span diag.Span) {
	for _, f := range t.rules[k].at {
		if f.key == key {
			span = f.span
		}
	}
	return span
}

// Rule has do judge rule k of the entry, which starts at start. good is false where a field of it is wrong already.
func (t *Reader) Rule(k int, do func(start strictjson.Pos, good bool)) {
	if t.flat {
		do(t.rules[k].start, t.rules[k].good)
		return
	}
	t.Within("rules", k, func() { do(t.rules[k].start, t.rules[k].good) })
}

func (t *Reader) read() {
	device, entries := "", false
	start := t.Here()
	t.Fields(
		strictjson.Field{Key: "version", Must: true, Read: func() {
			at := t.Here()
			if t.table.Version = number(t.Reader, 0, math.MaxInt32); t.table.Version < 1 || t.table.Version > Version {
				t.Bad(at, "is %d, and this mscclc reads up to %d", t.table.Version, Version)
			}
		}},
		strictjson.Field{Key: "entries", Read: func() { entries = true; t.List(func(int) { t.readEntry() }) }},
		strictjson.Field{Key: "device", Read: func() { device = t.Text(maxName) }},
		strictjson.Field{Key: "rules", Read: func() {
			entries = true
			t.List(func(int) { t.readFlat() })
		}},
		// What search --json has beside the table.
		strictjson.Field{Key: "schema", Read: t.Skip},
		strictjson.Field{Key: "output", Read: t.Skip},
		strictjson.Field{Key: "problems", Read: t.Skip},
		strictjson.Field{Key: "notes", Read: t.Skip})
	if !entries && t.Errors() == 0 {
		t.Bad(start, "key \"entries\" is missing")
	}
	if t.table.Device = device; t.flat {
		for i := range t.table.Entries {
			t.table.Entries[i].Device = device
		}
	}
	t.table.Version = Version
}

// noted has fields note in f where they are.
func (t *Reader) noted(f *fieldsAt, fields []strictjson.Field) {
	before := t.Errors()
	f.start = t.Here()
	for i := range fields {
		key, read := fields[i].Key, fields[i].Read
		fields[i].Read = func() {
			at := t.Here()
			read()
			f.at = append(f.at, fieldAt{key, at, t.Span(at)})
		}
	}
	t.Fields(fields...)
	f.good = !t.Full() && t.Errors() == before
}

// calls are the fields that say which calls an entry is for.
func (t *Reader) calls(e *Entry) []strictjson.Field {
	return []strictjson.Field{
		{Key: "ranks", Must: true, Read: func() { e.Ranks = number(t.Reader, 1, MostRanks) }},
		{Key: "nodes", Read: func() {
			if t.Peek() == '"' {
				e.Layout = t.Text(maxName)
				return
			}
			if e.Nodes = number(t.Reader, 1, MostRanks); e.Nodes == 1 {
				e.Nodes = 0
			}
		}},
		{Key: "collective", Must: true, Read: func() { e.Collective = t.OneOf(t.words.Collectives...) }},
		{Key: "when", Must: t.flat, Read: func() { e.When = t.OneOf(Eager, Captured) }},
	}
}

// readEntry reads an entry.
func (t *Reader) readEntry() {
	var e Entry
	t.entry, t.rules = fieldsAt{}, nil
	t.noted(&t.entry, append(t.calls(&e),
		strictjson.Field{Key: "device", Must: true, Read: func() {
			at, before := t.Here(), t.Errors()
			if e.Device = t.Text(maxName); e.Device == "" && t.Errors() == before {
				t.Bad(at, "is empty")
			}
		}},
		strictjson.Field{Key: "on", Read: func() { e.On = t.Text(maxOn) }},
		strictjson.Field{Key: "inplace", Read: func() { e.Inplace = t.Bool() }},
		strictjson.Field{Key: "element_bytes", Read: func() {
			at := t.Here()
			if e.Element = number(t.Reader, 0, 8); e.Element&(e.Element-1) != 0 {
				t.Bad(at, "is %d, and no type has elements of that size", e.Element)
			}
		}},
		strictjson.Field{Key: "unmeasured", Read: func() { e.Unmeasured = t.Bool() }},
		strictjson.Field{Key: "simulated", Read: func() { e.Simulated = t.Text(64) }},
		strictjson.Field{Key: "rules", Must: true, Read: func() {
			at, before := t.Here(), t.Errors()
			t.List(func(int) { t.readRule(&e, nil) })
			if len(e.Rules) == 0 && t.Errors() == before {
				t.Bad(at, "is empty")
			}
		}}))
	t.finish(&e)
}

// finish judges an entry and keeps it.
func (t *Reader) finish(e *Entry) {
	whole := t.entry.good
	at := func(key string) strictjson.Pos {
		i := slices.IndexFunc(t.entry.at, func(f fieldAt) bool { return f.key == key })
		return t.entry.at[max(i, 0)].at
	}
	switch {
	case e.When == "" && e.Layout != "" && whole:
		t.Bad(at("nodes"), "\"nodes\" is %q, and a number of nodes without \"when\"", diag.Clip([]byte(e.Layout)))
	case e.When != "" && e.Nodes > 0:
		e.Layout, e.Nodes = strconv.Itoa(e.Nodes), 0
	}
	t.judge(t, e, t.entry.start, whole)
	if whole && !t.Full() {
		t.table.Entries = append(t.table.Entries, *e)
	}
}

// readFlat reads a rule of a file for bundles of version 1, which has the fields of an entry.
func (t *Reader) readFlat() {
	e := Entry{}
	t.flat, t.entry, t.rules = true, fieldsAt{}, nil
	t.readRule(&e, t.calls(&e))
	t.entry.good = t.rules[0].good
	t.entry.start, t.entry.at = t.rules[0].start, t.rules[0].at
	t.finish(&e)
}

// readRule reads a rule of e, with more fields.
func (t *Reader) readRule(e *Entry, more []strictjson.Field) {
	var r Rule
	var is fieldsAt
	fields := append(append(r.Choice.Fields(t.Reader), more...),
		strictjson.Field{Key: "up_to", Read: func() { r.UpTo = int64(t.Uint(1, math.MaxInt64)) }},
		strictjson.Field{Key: "candidate", Read: func() { r.Candidate = t.Bool() }},
		strictjson.Field{Key: "us", Read: func() { r.Micros = t.Float(0) }},
		strictjson.Field{Key: "nccl_us", Read: func() { r.NCCLMicros = t.Float(0) }})
	fields = append(fields, r.Only.fields(t.Reader)...)
	fields[0].Must = true // the program
	start := t.Here()
	t.noted(&is, fields)
	r.Span = t.Span(start)
	t.rules, e.Rules = append(t.rules, is), append(e.Rules, r)
}
