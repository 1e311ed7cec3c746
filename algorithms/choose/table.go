package choose

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"mscclc/ir/diag"
	"mscclc/selection"
)

// TableVersion is the version of the tables that ReadTable takes.
const TableVersion = 1

// A Table says which variant is fastest for calls of which sizes. It is what
// mscclc bench --tune measures and mscclc select --emit simulates, and knows each device by its name. Its file is JSON,
// which ReadTable judges field by field:
//
//	{"version": 1, "entries": [
//	  {"device":"NVIDIA H200","ranks":2,"collective":"allreduce","inplace":false,"rules":[
//	    {"up_to":2048,"program":"allreduce/allpairs_onestep","protocol":"LL","replicas":4,"threads":128,"us":2.68},
//	    {"program":"allreduce/ring","protocol":"Simple","replicas":128,"threads":512,"tile":65536}]}
//	]}
//
// Of an entry "nodes" says how many nodes the ranks are in, as many in each (1 where it is not said). "on" is the node
// of each rank where they lie otherwise, as "0,1,0,1" or "0,0,0,1"; an entry without it is for such ranks too, if no
// other is. "element_bytes" may restrict an entry to elements of a size.
//
// Of a rule "up_to" is the largest call in bytes, without which it is for all above, and where the last one has it, the
// table has nothing for larger calls; "sided" may be "two" and "via" "port"; "lanes" is 1 where it is not said, and
// "copies" of scratch, of several lanes, 3; "replicas", "threads" and "tile" are the executor's choice where they are
// not said; and "us" is for the reader alone.
//
// "unmeasured" is true of an entry that was simulated with costs of the device that nobody measured.
//
// "simulated" is a sum of the rules that mscclc select wrote. If it fits, nobody has changed or measured them since,
// and select may replace them.
type Table struct {
	Version int     `json:"version"`
	Entries []Entry `json:"entries"`
}

// An Entry is a table for one collective on so many of one device, in so many nodes. Rules go by
// size, each for calls that no rule before it is for.
type Entry struct {
	Device     string `json:"device"`
	Ranks      int    `json:"ranks"`
	Nodes      int    `json:"nodes,omitempty" doc:"absent: 1"`
	On         string `json:"on,omitempty" doc:"the node of each rank, as 0,0,0,1; absent: equal blocks"`
	Collective string `json:"collective"`
	Inplace    bool   `json:"inplace"`
	Element    int    `json:"element_bytes,omitempty" doc:"absent: any"`
	Simulated  string `json:"simulated,omitempty" doc:"a sum of the rules that select --emit wrote; absent: measured"`
	Unmeasured bool   `json:"unmeasured,omitempty" doc:"simulated with costs of the device that nobody measured"`
	Rules      []Rule `json:"rules"`
}

// A Rule is for calls of up to so many bytes, as nccl-tests counts them; 0 is for
// all.
type Rule struct {
	UpTo int64 `json:"up_to,omitempty" doc:"calls of up to so many bytes; absent: all above"`
	selection.Choice
	Micros float64 `json:"us,omitempty" doc:"what it took at the largest size that was measured"`

	at diag.Span // of its program, where it was read
}

// At returns where the rule was read, or nowhere.
func (r *Rule) At() diag.Span { return r.at }

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

// sum returns a sum of the rules of e, as its file has them.
func (e *Entry) sum() (string, error) {
	rules, err := json.Marshal(e.Rules)
	return fmt.Sprintf("%.8x", sha256.Sum256(rules)), err
}

// PutSimulated is Put of an entry that a simulation made. It reports false, and changes nothing, if t has an entry for
// the same calls that was measured or written by hand.
func (t *Table) PutSimulated(e Entry) (ok bool, err error) {
	same := func(o Entry) bool { return o.Same(&e) }
	if i := slices.IndexFunc(t.Entries, same); i >= 0 {
		if sum, err := t.Entries[i].sum(); err != nil || t.Entries[i].Simulated != sum {
			return false, err
		}
	}
	t.Put(e)
	put := &t.Entries[slices.IndexFunc(t.Entries, same)]
	put.Simulated, err = put.sum()
	return true, err
}

// Put adds e to t. Of the entry for the same calls only the rules for larger ones than e has rules for stay.
func (t *Table) Put(e Entry) {
	t.Version = TableVersion
	i := slices.IndexFunc(t.Entries, func(o Entry) bool { return o.Same(&e) })
	if i >= 0 {
		t.Entries[i] = e.over(t.Entries[i])
		return
	}
	t.Entries = append(t.Entries, e)
	slices.SortStableFunc(t.Entries, compareEntries)
}

// With returns t with the entries of other, which come first: of t's for the same calls the rules for larger ones than
// those have stay.
func (t *Table) With(other *Table) *Table {
	all := &Table{Version: TableVersion, Entries: slices.Clone(t.Entries)}
	all.Entries = append(all.Entries, other.Entries...)
	slices.SortStableFunc(all.Entries, compareEntries)
	n := 0
	for _, e := range all.Entries { // of the same calls, the last
		if n > 0 && e.Same(&all.Entries[n-1]) {
			all.Entries[n-1] = e.over(all.Entries[n-1])
			continue
		}
		all.Entries[n] = e
		n++
	}
	all.Entries = all.Entries[:n]
	return all
}

func compareEntries(a, b Entry) int {
	place := func(e Entry) int {
		if e.Inplace {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Ranks, b.Ranks),
		cmp.Compare(max(a.Nodes, 1), max(b.Nodes, 1)), cmp.Compare(a.Collective, b.Collective),
		cmp.Compare(place(a), place(b)), cmp.Compare(a.Element, b.Element), cmp.Compare(a.On, b.On))
}

// Same reports whether e and o are for the same calls.
func (e *Entry) Same(o *Entry) bool { return compareEntries(*e, *o) == 0 }

// Entry finds the entry for calls on a device, of their placement: of their nodes where there is one, else of as many
// nodes, and of the same element where there is one, else of any. It may be nil.
func (t *Table) Entry(device string, c Call, element int) *Entry {
	if t == nil {
		return nil
	}
	var best *Entry
	most := -1
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Device != device || e.Ranks != c.Ranks || max(e.Nodes, 1) != max(c.Nodes, 1) ||
			e.Collective != c.Kind.String() || e.Inplace != c.Inplace || e.On != "" && e.On != c.unlike() ||
			e.Element != 0 && e.Element != element {
			continue
		}
		fits := 0
		if e.On == c.unlike() {
			fits += 2
		}
		if e.Element != 0 {
			fits++
		}
		if fits > most {
			best, most = e, fits
		}
	}
	return best
}

// Entry returns an entry without rules for calls on a device, as Table.Entry finds it, for elements of any size.
func (c Call) Entry(device string) Entry {
	e := Entry{Device: device, Ranks: c.Ranks, Collective: c.Kind.String(), Inplace: c.Inplace}
	if c.Nodes > 1 {
		e.Nodes, e.On = c.Nodes, c.unlike()
	}
	return e
}

// Rule returns the rule for a call of so many bytes; ok is false where the last one ends below.
func (e *Entry) Rule(bytes int64) (r Rule, ok bool) {
	i := e.rule(bytes)
	if i < 0 {
		return Rule{}, false
	}
	return e.Rules[i], true
}

func (e *Entry) rule(bytes int64) int {
	return slices.IndexFunc(e.Rules, func(r Rule) bool { return r.UpTo == 0 || bytes <= r.UpTo })
}

// End returns the largest call that e has a rule for, or 0 where it has one for all.
func (e *Entry) End() int64 {
	if n := len(e.Rules); n > 0 {
		return e.Rules[n-1].UpTo
	}
	return 0
}

// over is e, and for larger calls than it has rules for those of other.
func (e Entry) over(other Entry) Entry {
	end := e.End()
	if end == 0 {
		return e
	}
	e.Rules = slices.Clone(e.Rules)
	for _, r := range other.Rules {
		if r.UpTo == 0 || r.UpTo > end {
			e.Rules = append(e.Rules, r)
		}
	}
	return e
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
		t, err := ReadTable(f.Name(), bytes.NewReader(text))
		if err != nil {
			panic(err) // a test reads them all
		}
		all = all.With(t)
	}
	return all
})
