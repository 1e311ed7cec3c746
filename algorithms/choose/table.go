package choose

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"sync"

	"mscclc/algorithms"
	"mscclc/ir"
)

// TableVersion is the version of the tables that ReadTable takes.
const TableVersion = 1

// A Table says which variant is fastest for calls of which sizes. It is what
// mscclc bench --tune measures, and knows each device by its name.
type Table struct {
	Version int     `json:"version"`
	Entries []Entry `json:"entries"`
}

// An Entry is a table for one collective on so many of one device. Rules go by
// size, each for calls that no rule before it is for.
type Entry struct {
	Device     string `json:"device"`
	Ranks      int    `json:"ranks"`
	Collective string `json:"collective"`
	Inplace    bool   `json:"inplace"`
	Element    int    `json:"element_bytes,omitempty"` // of an element; 0 is any
	Rules      []Rule `json:"rules"`
}

// A Rule is for calls of up to so many bytes, as nccl-tests counts them; 0 is for
// all.
type Rule struct {
	UpTo int64 `json:"up_to,omitempty"`
	Variant
	Micros float64 `json:"us,omitempty"` // what it took at the largest size that was measured for the rule
}

// maxTable bounds a table's file, which is JSON whatever it is called.
const maxTable = 16 << 20

// ReadTable reads a table, and rejects one that it would misread.
func ReadTable(r io.Reader) (*Table, error) {
	d := json.NewDecoder(io.LimitReader(r, maxTable))
	t := &Table{}
	if err := d.Decode(t); err != nil {
		return nil, fmt.Errorf("no table: %w", err)
	}
	if t.Version != TableVersion {
		return nil, fmt.Errorf("a table of version %d, of which %d is known", t.Version, TableVersion)
	}
	for i := range t.Entries {
		if err := t.Entries[i].check(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
	}
	return t, nil
}

func (e *Entry) check() error {
	kind, ok := ir.KindByName(e.Collective)
	if !ok || e.Ranks < 1 || e.Element < 0 || len(e.Rules) == 0 {
		return fmt.Errorf("a collective %q of %d ranks, elements of %d bytes and %d rules", e.Collective, e.Ranks, e.Element, len(e.Rules))
	}
	for i, r := range e.Rules {
		if last := i == len(e.Rules)-1; r.UpTo < 0 || r.UpTo == 0 && !last || i > 0 && r.UpTo > 0 && r.UpTo <= e.Rules[i-1].UpTo {
			return fmt.Errorf("rule %d is for up to %d bytes, out of order", i, r.UpTo)
		}
		_, known := ir.ProtocolByName(r.Protocol)
		if !known || r.Sided != "" && r.Sided != "two" || r.Via != "" && r.Via != viaPort || r.Columns < 0 || r.Threads < 0 || r.Tile < 0 {
			return fmt.Errorf("rule %d has a protocol %q, %q-sided, via %q, and a width of %dx%d tiles of %d", i, r.Protocol, r.Sided, r.Via, r.Columns, r.Threads, r.Tile)
		}
		if _, err := algorithms.Open(r.Program); err != nil || path.Dir(path.Clean(r.Program)) != kind.String() {
			return fmt.Errorf("rule %d: %q is no %v of the catalog", i, r.Program, kind)
		}
	}
	return nil
}

// Write writes a table, one rule a line.
func (t *Table) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"version\": %d, \"entries\": [", t.Version)
	for i, e := range t.Entries {
		rules := e.Rules
		e.Rules = nil
		head, err := json.Marshal(e)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\n  %s[", comma(i), bytes.TrimSuffix(head, []byte("null}")))
		for k, r := range rules {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "%s\n    %s", comma(k), line)
		}
		b.WriteString("]}")
	}
	b.WriteString("\n]}\n")
	_, err := w.Write(b.Bytes())
	return err
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// Put replaces the entry for the same calls as e, or adds it.
func (t *Table) Put(e Entry) {
	t.Version = TableVersion
	t.Entries = slices.DeleteFunc(t.Entries, func(o Entry) bool { return compareEntries(o, e) == 0 })
	t.Entries = append(t.Entries, e)
	slices.SortStableFunc(t.Entries, compareEntries)
}

// With returns t with the entries of other, which come first.
func (t *Table) With(other *Table) *Table {
	all := &Table{Version: TableVersion, Entries: slices.Clone(t.Entries)}
	for _, e := range other.Entries {
		all.Put(e)
	}
	return all
}

func compareEntries(a, b Entry) int {
	place := func(e Entry) int {
		if e.Inplace {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Collective, b.Collective),
		cmp.Compare(place(a), place(b)), cmp.Compare(a.Element, b.Element))
}

// Entry finds the entry for calls on a device: of the same placement and element
// where there is one, else of any element, else of the other placement. It may be
// nil.
func (t *Table) Entry(device string, c Call, element int) *Entry {
	if t == nil {
		return nil
	}
	var best *Entry
	rank := 0
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Device != device || e.Ranks != c.Ranks || e.Collective != c.Kind.String() || e.Element != 0 && e.Element != element {
			continue
		}
		score := 1
		if e.Inplace == c.Inplace {
			score += 2
		}
		if e.Element != 0 {
			score++
		}
		if score > rank {
			best, rank = e, score
		}
	}
	return best
}

// Rule is the rule for a call of so many bytes. Beyond all, the last.
func (e *Entry) Rule(bytes int64) Rule {
	for _, r := range e.Rules {
		if r.UpTo == 0 || bytes <= r.UpTo {
			return r
		}
	}
	return e.Rules[len(e.Rules)-1]
}

//go:embed tables/*.table
var tables embed.FS

// DefaultTable is what was measured on the devices that we have had.
var DefaultTable = sync.OnceValue(func() *Table {
	all := &Table{Version: TableVersion}
	entries, err := tables.ReadDir("tables")
	if err != nil {
		panic(err)
	}
	for _, f := range entries {
		text, err := tables.ReadFile("tables/" + f.Name())
		if err != nil {
			panic(err)
		}
		t, err := ReadTable(bytes.NewReader(text))
		if err != nil {
			panic(f.Name() + ": " + err.Error()) // a test reads them all
		}
		for _, e := range t.Entries {
			all.Put(e)
		}
	}
	return all
})
