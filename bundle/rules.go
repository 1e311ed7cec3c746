package bundle

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"mscclc/ir/diag"
	"mscclc/selection"
)

// NCCL is the program of a rule whose calls NCCL runs.
const NCCL = selection.NCCL

// The launches that a rule is for.
const (
	Eager    = selection.Eager
	Captured = selection.Captured
)

// Measured says which staged program is fastest for which calls on a device. mscclc search --staged measures it,
// and mscclc bundle --rules reads it. Its file is a selection.Table, of which these are the entries with "when".
type Measured struct {
	Device  string         `json:"device"`
	Rules   []MeasuredRule `json:"rules"`
	builtIn bool
	others  []selection.Entry // of the file, which are no bundle's
}

// A MeasuredRule is a rule with the calls that it is for, of up to UpTo bytes, which no rule before it is for. Rules of
// the same calls follow each other in the order of UpTo. 0 comes last and is for all larger calls. Candidates are in no
// order: several may be for a call, of which the library tries the first three. The program of a rule is of the
// catalog, of a user's, or NCCL, and staged unless its placement is Direct.
type MeasuredRule struct {
	Calls
	selection.Rule
}

// Calls says which calls of some sizes rules are for.
type Calls struct {
	Collective string `json:"collective"`
	Ranks      int    `json:"ranks"`
	Nodes      string `json:"nodes,omitempty" doc:"how the ranks lie on several nodes, as --nodes has it: 2, or 4,4; absent: one"`
	When       string `json:"when" doc:"eager or captured"`
}

// Runs reports whether two rules run the same program in the same width.
func (r MeasuredRule) Runs(o MeasuredRule) bool {
	return r.Candidate == o.Candidate && r.Choice == o.Choice
}

// For has a rule that was measured between windows be for such calls, and its program be direct.
func (r *MeasuredRule) For(windows bool) {
	r.Windows = windows
	if windows && r.Program != NCCL {
		r.Placement = selection.Direct
	}
}

// MarshalJSON writes r. NCCL's rule has no protocol.
func (r MeasuredRule) MarshalJSON() ([]byte, error) {
	type fields MeasuredRule
	if r.Program == NCCL {
		return json.Marshal(struct {
			fields
			Protocol string `json:"protocol,omitempty"`
		}{fields: fields(r)})
	}
	return json.Marshal(fields(r))
}

// UnmarshalJSON reads r, and "direct" in place of a placement, as mscclc has written it.
func (r *MeasuredRule) UnmarshalJSON(text []byte) error {
	type fields MeasuredRule
	var old struct {
		Direct bool `json:"direct"`
	}
	if err := json.Unmarshal(text, (*fields)(r)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &old); err != nil {
		return err
	}
	if old.Direct {
		r.Placement = selection.Direct
	}
	return nil
}

// Yield has programs of m's rules give way in a bundle where all have no room together, as those that are built in do.
func (m *Measured) Yield() { m.builtIn = true }

// Put replaces the rules for the same collective, ranks, nodes and launches by list, which holds one such group. Rules
// that are restricted to other calls than those of list stay, before it. Rules for all calls are last.
func (m *Measured) Put(list []MeasuredRule) {
	if len(list) == 0 {
		return
	}
	m.Rules = slices.DeleteFunc(m.Rules, func(r MeasuredRule) bool {
		return compareCalls(r, list[0]) == 0 && same(r.Only, list[0].Only)
	})
	m.Rules = append(m.Rules, list...)
	slices.SortStableFunc(m.Rules, func(a, b MeasuredRule) int {
		all := func(r *MeasuredRule) int {
			if some(r.Only) {
				return 0
			}
			return 1
		}
		return cmp.Or(compareCalls(a, b), cmp.Compare(all(&a), all(&b)))
	})
}

// PutCandidates replaces the candidates for the same collective, ranks and launches by list, which holds one such
// group. Measured rules stay, and so do rules that are restricted to some calls.
func (m *Measured) PutCandidates(list []MeasuredRule) {
	if len(list) == 0 {
		return
	}
	m.Rules = slices.DeleteFunc(m.Rules, func(r MeasuredRule) bool {
		return r.Candidate && !some(r.Only) && compareCalls(r, list[0]) == 0
	})
	m.Rules = append(m.Rules, list...)
}

func compareCalls(a, b MeasuredRule) int {
	return cmp.Or(cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Collective, b.Collective),
		cmp.Compare(a.When, b.When))
}

// Rule returns the rule for a call of a given number of bytes on these nodes ("" is one), without candidates and those
// that are restricted to some calls, except to those between windows. ok is false where there is none.
func (m *Measured) Rule(collective string, ranks int, nodes, when string, windows bool, bytes int64) (r MeasuredRule,
	ok bool) {
	i := slices.IndexFunc(m.Rules, func(r MeasuredRule) bool {
		return !r.Candidate && r.Collective == collective && r.Ranks == ranks && r.Nodes == nodes && r.When == when &&
			(r.UpTo == 0 || bytes <= r.UpTo) && r.Bits == "" && r.Then == "" &&
			(!some(r.Only) || windows && same(r.Only, selection.Only{Windows: true}))
	})
	if i < 0 {
		return r, false
	}
	return m.Rules[i], true
}

// Write writes m, one rule a line. Rules of the same calls that follow each other are an entry.
func (m *Measured) Write(w io.Writer) error {
	t := &selection.Table{Entries: slices.Clone(m.others)}
	for i, r := range m.Rules {
		if i == 0 || m.Rules[i-1].Calls != r.Calls {
			t.Entries = append(t.Entries, selection.Entry{Device: m.Device, Ranks: r.Ranks, Collective: r.Collective,
				When: r.When, Layout: r.Nodes})
		}
		e := &t.Entries[len(t.Entries)-1]
		e.Rules = append(e.Rules, r.Rule)
	}
	return t.Write(w)
}

// ReadRules reads a file that Write wrote, or a file of rules of version 1; messages call it name. The error is a
// diag.List that names the wrong fields.
func ReadRules(name string, r io.Reader) (*Measured, error) {
	j := &rulesJudge{m: &Measured{}, all: map[string]int64{}}
	table, err := selection.Read(name, r, selection.Words{What: "file of rules", Collectives: KindNames()}, j.entry)
	if err != nil {
		return nil, err
	}
	for _, e := range table.Entries {
		if e.When == "" {
			j.m.others = append(j.m.others, e)
		}
	}
	if j.m.Device = cmp.Or(j.m.Device, table.Device); j.m.Device == "" && len(j.m.others) > 0 {
		return nil, diag.List{diag.New(diag.Malformed, diag.FileSpan(name), "it has no rules for bundles: no entry has "+
			"\"when\"").WithHint("mscclc search --staged measures such rules")}
	}
	return j.m, nil
}

// KindNames returns the names of Kinds: of the collectives that a rule may be for.
func KindNames() []string {
	var list []string
	for _, k := range Kinds {
		list = append(list, k.String())
	}
	return list
}
