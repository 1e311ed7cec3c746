package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"mscclc/internal/strictjson"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// RulesVersion is the version of the files that ReadRules takes.
const RulesVersion = 1

// NCCL is the program of a rule whose calls NCCL runs.
const NCCL = "nccl"

// The launches that a rule is for: launches into a stream, and launches of a graph.
const (
	Eager    = "eager"
	Captured = "captured"
)

// Measured says which staged program is fastest for which calls on a device. mscclc bench --tune --staged measures it,
// and mscclc bundle --rules reads it. Its file is JSON:
//
//	{"version": 1, "device": "NVIDIA H200", "rules": [
//	  {"collective":"allreduce","ranks":2,"when":"eager","up_to":65536,"program":"allreduce/onephase",
//	   "protocol":"LL16","replicas":8,"threads":512,"us":3.1,"nccl_us":7.9},
//	  {"collective":"allreduce","ranks":2,"when":"eager","program":"nccl","us":40.2,"nccl_us":39.9}
//	]}
type Measured struct {
	Version int            `json:"version"`
	Device  string         `json:"device"`
	Rules   []MeasuredRule `json:"rules"`
	builtIn bool
}

// A MeasuredRule is for calls of up to UpTo bytes, as nccl-tests counts them, that no rule before it is for. Rules of
// the same collective, ranks, nodes and When follow each other in the order of UpTo. 0 comes last and is for all larger
// calls. Candidates are in no order: several may be for a call, of which the library tries the first three.
type MeasuredRule struct {
	Collective string `json:"collective"`
	Ranks      int    `json:"ranks"`
	Nodes      string `json:"nodes,omitempty" doc:"how the ranks lie on several nodes, as --nodes has it: 2, or 4,4; absent: one"`
	When       string `json:"when" doc:"eager or captured"`
	UpTo       int64  `json:"up_to,omitempty" doc:"calls of up to so many bytes; absent: all above"`
	Candidate  bool   `json:"candidate,omitempty" doc:"nobody measured the rule: the library learns whether it is faster than NCCL"`

	// Choice is what runs the calls. Its program is of the catalog, of a user's, or NCCL, and staged unless the placement
	// is Direct.
	selection.Choice

	Micros     float64 `json:"us,omitempty" doc:"time of the fastest program at the largest measured size"`
	NCCLMicros float64 `json:"nccl_us,omitempty" doc:"NCCL's time at the same size"`
	Only
	Span diag.Span `json:"-"` // where a file has the rule
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

// Yield has programs of m's rules give way in a bundle where all have no room together, as those that are built in do.
func (m *Measured) Yield() { m.builtIn = true }

// Put replaces the rules for the same collective, ranks, nodes and launches by list, which holds one such group. Rules
// that are restricted to other calls than those of list stay, before it. Rules for all calls are last.
func (m *Measured) Put(list []MeasuredRule) {
	if len(list) == 0 {
		return
	}
	m.Version = RulesVersion
	m.Rules = slices.DeleteFunc(m.Rules, func(r MeasuredRule) bool {
		return compareCalls(r, list[0]) == 0 && r.same(list[0].Only)
	})
	m.Rules = append(m.Rules, list...)
	slices.SortStableFunc(m.Rules, func(a, b MeasuredRule) int {
		all := func(r *MeasuredRule) int {
			if r.some() {
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
	m.Version = RulesVersion
	m.Rules = slices.DeleteFunc(m.Rules, func(r MeasuredRule) bool {
		return r.Candidate && !r.some() && compareCalls(r, list[0]) == 0
	})
	m.Rules = append(m.Rules, list...)
}

func compareCalls(a, b MeasuredRule) int {
	return cmp.Or(cmp.Compare(a.Ranks, b.Ranks), cmp.Compare(a.Nodes, b.Nodes), cmp.Compare(a.Collective, b.Collective),
		cmp.Compare(a.When, b.When))
}

// Rule returns the rule for a call of so many bytes on these nodes ("" is one), without candidates and those that are
// restricted to some calls, except to those between windows. ok is false where there is none.
func (m *Measured) Rule(collective string, ranks int, nodes, when string, windows bool, bytes int64) (r MeasuredRule,
	ok bool) {
	i := slices.IndexFunc(m.Rules, func(r MeasuredRule) bool {
		return !r.Candidate && r.Collective == collective && r.Ranks == ranks && r.Nodes == nodes && r.When == when &&
			(r.UpTo == 0 || bytes <= r.UpTo) && (!r.some() || windows && r.same(Only{Windows: true}))
	})
	if i < 0 {
		return r, false
	}
	return m.Rules[i], true
}

// Write writes m, one rule a line.
func (m *Measured) Write(w io.Writer) error {
	var b bytes.Buffer
	device, err := json.Marshal(m.Device)
	if err != nil {
		return err
	}
	fmt.Fprintf(&b, "{\"version\": %d, \"device\": %s, \"rules\": [", m.Version, device)
	for i, r := range m.Rules {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n  %s", line)
	}
	b.WriteString("\n]}\n")
	_, err = w.Write(b.Bytes())
	return err
}

// The limits of a file of rules: its bytes, its names, and the ranks of a rule, which a bundle may be without.
const (
	maxRules = 16 << 20
	maxName  = 1 << 10
	maxRanks = 1024
)

// ReadRules reads a file that Write wrote; messages call it name. The error is a diag.List that names the wrong fields.
func ReadRules(name string, r io.Reader) (*Measured, error) {
	opt := strictjson.Options{What: "file of rules", MaxBytes: maxRules, MaxMemory: math.MaxInt64}
	t := &rulesReader{Reader: strictjson.NewReader(name, r, opt), m: &Measured{}, all: map[string]int64{}}
	t.read()
	if err := t.Finish(); err != nil {
		return nil, err
	}
	return t.m, nil
}

type rulesReader struct {
	*strictjson.Reader
	m *Measured
	// all has the largest calls of rules that are not restricted, 0 for all, by ranks, nodes, collective and launches.
	all map[string]int64
	at  map[string]strictjson.Pos // where the rule that is read has its fields, by key
}

func (t *rulesReader) bad(at strictjson.Pos, format string, args ...any) *diag.Diagnostic {
	return t.Say(diag.Malformed, at, format, args...)
}

func (t *rulesReader) read() {
	t.Fields(
		strictjson.Field{Key: "version", Must: true, Read: func() {
			at := t.Here()
			if t.m.Version = int(t.Uint(0, math.MaxInt32)); t.m.Version != RulesVersion {
				t.bad(at, "is %d, and this mscclc reads %d", t.m.Version, RulesVersion)
			}
		}},
		strictjson.Field{Key: "device", Must: true, Read: func() { t.m.Device = t.Text(maxName) }},
		strictjson.Field{Key: "rules", Must: true, Read: func() { t.List(func(int) { t.rule() }) }})
}

// rule reads a rule, and judges it beside the one before.
func (t *rulesReader) rule() {
	var r MeasuredRule
	start, before := t.Here(), t.Errors()
	fields := append(append(r.fields(t), r.Choice.Fields(t.Reader)...),
		strictjson.Field{Key: "collective", Must: true, Read: func() { r.Collective = t.OneOf(KindNames()...) }},
		strictjson.Field{Key: "ranks", Must: true, Read: func() { r.Ranks = int(t.Uint(1, maxRanks)) }},
		strictjson.Field{Key: "nodes", Read: func() { r.Nodes = t.Text(maxName) }},
		strictjson.Field{Key: "when", Must: true, Read: func() { r.When = t.OneOf(Eager, Captured) }},
		strictjson.Field{Key: "up_to", Read: func() { r.UpTo = int64(t.Uint(1, math.MaxInt64)) }},
		strictjson.Field{Key: "candidate", Read: func() { r.Candidate = t.Bool() }},
		strictjson.Field{Key: "us", Read: func() { r.Micros = t.Float(0) }},
		strictjson.Field{Key: "nccl_us", Read: func() { r.NCCLMicros = t.Float(0) }})
	t.at = map[string]strictjson.Pos{}
	for i, f := range fields {
		fields[i].Must = f.Must || f.Key == "program"
		fields[i].Read = func() {
			t.at[f.Key] = t.Here()
			f.Read()
		}
	}
	t.Fields(fields...)
	r.Span = t.Span(start)
	if !t.Full() && t.Errors() == before {
		t.judge(start, &r)
	}
	t.m.Rules = append(t.m.Rules, r)
}

// KindNames returns the names of Kinds: of the collectives that a rule may be for.
func KindNames() []string {
	var list []string
	for _, k := range Kinds {
		list = append(list, k.String())
	}
	return list
}
