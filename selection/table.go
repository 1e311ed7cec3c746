package selection

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"mscclc/ir/diag"
)

// A Table says what is fastest for which calls. mscclc search, mscclc tune and mscclc select write such files,
// and all that chooses reads them. A file is JSON, which Read judges field by field:
//
//	{"version": 2, "entries": [
//	  {"device":"NVIDIA H200","ranks":2,"collective":"allreduce","inplace":false,"rules":[
//	    {"up_to":2048,"program":"allreduce/allpairs_onestep","protocol":"LL","replicas":4,"threads":128,"us":2.68},
//	    {"program":"allreduce/ring","protocol":"Simple","replicas":128,"threads":512,"tile":65536}]},
//	  {"device":"NVIDIA H200","ranks":2,"collective":"allreduce","when":"eager","rules":[
//	    {"up_to":65536,"program":"allreduce/onephase","protocol":"LL16","replicas":8,"us":3.1,"nccl_us":7.9},
//	    {"program":"nccl","us":40.2,"nccl_us":39.9}]}
//	]}
//
// An entry with "when" is for launches by bundles (package bundle), whose programs serve calls in place and out of
// place; one without it is for calls of a placement (package choose), and "inplace" says of which.
//
// Of an entry "nodes" says how many nodes the ranks are in, as many in each (1 where it is not said). "on" is the node
// of each rank where they lie otherwise, as "0,1,0,1" or "0,0,0,1"; an entry without it is for such ranks too, if no
// other is. With "when", "nodes" may be the ranks of each node, as "4,4". "element_bytes" may restrict an entry to
// elements of a size.
//
// Of a rule "up_to" is the largest call in bytes, without which it is for all above, and where the last one has it, the
// table has nothing for larger calls. Fields of a Choice that are 0 or absent are the executor's choice. "us" and
// "nccl_us" are for readers, and for what is made of the rules.
//
// "unmeasured" is true of an entry that was simulated with costs of the device that nobody measured.
//
// "simulated" is a sum of the rules that mscclc select wrote. If it fits, nobody has changed or measured them since,
// and select may replace them.
type Table struct {
	Version int     `json:"version"`
	Entries []Entry `json:"entries"`

	Device string `json:"-"` // of a file of version 1 that is for bundles
}

// An Entry is a table for one collective, a device, and numbers of ranks and nodes. Rules go by size, each for calls
// that no rule before it is for.
type Entry struct {
	Device     string `json:"device"`
	Ranks      int    `json:"ranks"`
	Nodes      int    `json:"nodes,omitempty" doc:"absent: 1"`
	On         string `json:"on,omitempty" doc:"the node of each rank, as 0,0,0,1; absent: equal blocks"`
	Collective string `json:"collective"`
	Inplace    bool   `json:"inplace"`
	When       string `json:"when,omitempty" doc:"of rules for bundles: eager or captured"`
	Element    int    `json:"element_bytes,omitempty" doc:"absent: any"`
	Simulated  string `json:"simulated,omitempty" doc:"a sum of the rules that select --emit wrote; absent: measured"`
	Unmeasured bool   `json:"unmeasured,omitempty" doc:"simulated with costs of the device that nobody measured"`
	Rules      []Rule `json:"rules"`

	// Layout is how ranks lie on several nodes in an entry with When: a number of nodes, or the ranks of each.
	Layout string `json:"-"`
}

// NCCL is the program of a rule whose calls NCCL runs.
const NCCL = "nccl"

// The launches that an entry of a bundle is for: launches into a stream, and launches of a graph.
const (
	Eager    = "eager"
	Captured = "captured"
)

// A Rule is for calls of up to a given number of bytes, as nccl-tests counts them; 0 is for all.
type Rule struct {
	UpTo int64 `json:"up_to,omitempty" doc:"calls of up to this many bytes; absent: all above"`
	Choice
	Candidate  bool    `json:"candidate,omitempty" doc:"nobody measured the rule: the library learns whether it is faster than NCCL"`
	Micros     float64 `json:"us,omitempty" doc:"what it took at the largest size that was measured"`
	NCCLMicros float64 `json:"nccl_us,omitempty" doc:"NCCL's time at the same size"`
	Only

	Span diag.Span `json:"-"` // where a file has it
}

// written returns what JSON has of r: NCCL's rule has no protocol.
func (r Rule) written() any {
	if r.Program != NCCL {
		return r
	}
	return struct {
		Rule
		Protocol string `json:"protocol,omitempty"`
	}{Rule: r}
}

// head returns what JSON has of e before its rules.
func (e Entry) head() ([]byte, error) {
	e.Rules = nil
	if e.When == "" {
		return json.Marshal(e)
	}
	return json.Marshal(struct {
		Entry
		Inplace string `json:"inplace,omitempty"`
		Nodes   string `json:"nodes,omitempty"`
		Rules   []Rule `json:"rules"` // last
	}{Entry: e, Nodes: e.Layout})
}

// Write writes a table, one rule a line.
func (t *Table) Write(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"version\": %d, \"entries\": [", Version)
	for i, e := range t.Entries {
		head, err := e.head()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s\n  %s[", comma(i), bytes.TrimSuffix(head, []byte("null}")))
		for k, r := range e.Rules {
			line, err := json.Marshal(r.written())
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
	t.Version = Version
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
	all := &Table{Version: Version, Entries: slices.Clone(t.Entries)}
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
		cmp.Compare(place(a), place(b)), cmp.Compare(a.Element, b.Element), cmp.Compare(a.On, b.On),
		cmp.Compare(a.When, b.When),
		cmp.Compare(a.Layout, b.Layout))
}

// Same reports whether e and o are for the same calls.
func (e *Entry) Same(o *Entry) bool { return compareEntries(*e, *o) == 0 }

// Rule returns the rule for a call of a given number of bytes; ok is false where the last one ends below.
func (e *Entry) Rule(bytes int64) (r Rule, ok bool) {
	i := e.Index(bytes)
	if i < 0 {
		return Rule{}, false
	}
	return e.Rules[i], true
}

// Index returns the number of the rule for a call of a given number of bytes, or -1.
func (e *Entry) Index(bytes int64) int {
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
