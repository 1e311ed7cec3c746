package bundle

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/executor/launch"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// unexported leaves out what rules have beside what a bundle holds.
var unexported = cmpopts.IgnoreUnexported(Measured{}, Rule{})

// TestRules: what is written is read, and Put replaces what is for the same calls.
func TestRules(t *testing.T) {
	ours := MeasuredRule{Calls: Calls{Collective: "allreduce", Ranks: 2, When: Eager},
		Rule: selection.Rule{UpTo: 65536, Choice: selection.Choice{Program: "allreduce/onephase",
			Protocol: ir.LL16, Width: launch.Width{Replicas: 8, Threads: 512, Tile: 65536}}, Micros: 3.1,
			NCCLMicros: 7.9}}
	nccl := MeasuredRule{Calls: Calls{Collective: "allreduce", Ranks: 2, When: Eager},
		Rule: selection.Rule{Choice: selection.Choice{Program: NCCL}, Micros: 40.2, NCCLMicros: 39.9}}
	m := &Measured{Device: "NVIDIA H200"}
	m.Put([]MeasuredRule{nccl})
	m.Put([]MeasuredRule{{Calls: Calls{Collective: "allgather", Ranks: 2, When: Captured},
		Rule: selection.Rule{Choice: selection.Choice{Program: NCCL}}}})
	m.Put([]MeasuredRule{ours, nccl})
	if len(m.Rules) != 3 || !m.Rules[1].Runs(ours) {
		t.Fatalf("rules are %v", m.Rules)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := ReadRules("x.rules", &b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range again.Rules {
		again.Rules[i].Span = diag.Span{}
	}
	if d := cmp.Diff(m, again, unexported); d != "" {
		t.Error(d)
	}
}

// TestRulesWritten: rules are written as entries. What a file has for calls of a placement stays. Files of version 1
// and 2 say the same, and what is wrong is reported at its place in both.
func TestRulesWritten(t *testing.T) {
	const text = `{"version": 2, "entries": [
  {"device":"d","ranks":2,"collective":"allreduce","inplace":false,"rules":[
    {"program":"allreduce/ring","protocol":"LL"}]},
  {"device":"d","ranks":4,"collective":"allgather","when":"eager","nodes":"2,2","rules":[
    {"up_to":9,"program":"allgather/ring","protocol":"Simple","lanes":4,"us":1.5},
    {"program":"nccl"}]},
  {"device":"d","ranks":2,"collective":"allgather","when":"eager","rules":[
    {"program":"allgather/ring","protocol":"LL","placement":"direct","windows":true}]}
]}
`
	m, err := ReadRules("x.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := m.Write(&b); err != nil || b.String() != text {
		t.Errorf("%v\n%s", err, b.String())
	}
	old, err := ReadRules("x.rules", strings.NewReader(`{"version": 1, "device": "d", "rules": [
  {"collective":"allgather","ranks":4,"nodes":"2,2","when":"eager","up_to":9,"program":"allgather/ring","protocol":"Simple","lanes":4,"us":1.5},
  {"collective":"allgather","ranks":4,"nodes":"2","when":"eager","program":"nccl"},
  {"collective":"allgather","ranks":2,"when":"eager","program":"allgather/ring","protocol":"LL","direct":true,"windows":true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m.Rules, old.Rules, cmpopts.IgnoreTypes(diag.Span{})); d != "" || old.Device != m.Device {
		t.Error(d)
	}
	for wrong, want := range map[string]string{
		`"lanes":4`: `x.rules:5:72: error: entries[1].rules[0]: has "copies": 2, which are for several lanes`,
		`"2,2"`:     `x.rules:4:75: error: entries[1].rules[0]: has nodes "3,3" of 4 ranks`,
		`"up_to":9`: `x.rules:6:5: error: entries[1].rules[1]: is never reached`,
	} {
		with := map[string]string{`"lanes":4`: `"copies":2`, `"2,2"`: `"3,3"`, `"up_to":9,`: ``, `"up_to":9`: `"candidate":false`}[wrong]
		if _, err := ReadRules("x.rules", strings.NewReader(strings.Replace(text, wrong, with, 1))); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if _, err := ReadRules("x.table", strings.NewReader(text[:strings.Index(text, "]},")+3]+"\n]}")); err == nil {
		t.Error("a table is taken for rules")
	}
}

func TestRulesRefused(t *testing.T) {
	rule := func(more string) string {
		return `{"version": 1, "device": "d", "rules": [{"collective":"allreduce","ranks":2,"when":"eager",` + more + `]}`
	}
	of := func(collective, more string) string {
		return `{"version": 1, "device": "d", "rules": [{"collective":"` + collective +
			`","ranks":4,"when":"eager","program":"x","protocol":"LL",` + "\n " + more + `}]}`
	}
	for _, c := range []struct{ text, want string }{
		{`{"version": 3, "device": "d", "rules": []}`, "is 3"},
		{of("allreduce", `"tile":1`), "x.rules:2:9: error: rules[0]: has a tile of 1 bytes, and tiles are multiples of 16"},
		{of("allreduce", `"threads":33`), "x.rules:2:12: error: rules[0]: has 33 threads, and a block has a multiple of 32"},
		{of("allreduce", `"root":1`), `2:9: error: rules[0]: has a "root", and allreduce has none`},
		{of("broadcast", `"root":4`), `2:9: error: rules[0]: has root 4, and the ranks are 0 to 3`},
		{of("allgather", `"op":"max"`), `2:7: error: rules[0]: has an "op", and allgather reduces nothing`},
		{of("reduce", `"dtype":"e4m3"`), `2:10: error: rules[0]: is for e4m3, which reduce does not reduce`},
		{of("reduce", `"windows":true`), `2:12: error: rules[0]: is for windows, and ranks of a reduce may leave out`},
		{of("allgather", `"direct":true`), `2:11: error: rules[0]: is direct, and not for windows`},
		{rule(`"program":"nccl","tile":16}`), `has a "tile", which "nccl" does not take`},
		{rule(`"program":"nccl","windows":true,"direct":true}`), `has a "direct", which "nccl" does not take`},
		{rule(`"program":"allreduce/ring"}`), "protocol"},
		{rule(`"program":"nccl","protocol":"LL"}`), "protocol"},
		{rule(`"program":"nccl","column":1}`), "column"},
		{rule(`"program":"allreduce/ring","protocol":"LL","threads":1024}`), `rules[0].threads: is 1024, more than 512`},
		{rule(`"program":"allreduce/ring"}`), "needs a"},
		{rule(`"program":"","protocol":"LL"}`), "names no program"},
		{rule(`"program":"nccl"},{"collective":"allreduce","ranks":2,"when":"eager","dtype":"f32","program":"nccl"}`),
			"is for all such calls"},
		{rule(`"program":"nccl"},{"collective":"allreduce","ranks":2,"when":"eager","program":"nccl"}`), "never reached"},
		{rule(`"program":"nccl","up_to":9},{"collective":"allreduce","ranks":2,"when":"eager","up_to":9,"program":"nccl"}`),
			"never reached"},
	} {
		if _, err := ReadRules("x.rules", strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// TestRulesFor: each collective and kind of launches has the rules of the first table that has some. What these do not
// cover is NCCL's, or has candidates.
func TestRulesFor(t *testing.T) {
	first, second := &Measured{}, &Measured{}
	ours := MeasuredRule{Calls: Calls{Collective: "allreduce", Ranks: 2, When: Captured},
		Rule: selection.Rule{UpTo: 65536, Choice: selection.Choice{Program: "allreduce/onephase",
			Protocol: ir.LL16, Width: launch.Width{Replicas: 8, Threads: 512, Tile: 65536}}, Micros: 3.1,
			NCCLMicros: 7.9}}
	first.Put([]MeasuredRule{ours, {Calls: Calls{Collective: "allreduce", Ranks: 2, When: Captured},
		Rule: selection.Rule{Choice: selection.Choice{Program: NCCL}}}})
	second.Put([]MeasuredRule{{Calls: Calls{Collective: "allreduce", Ranks: 2, When: Captured},
		Rule: selection.Rule{Choice: selection.Choice{Program: "allreduce/ring", Protocol: ir.LL}}}})
	eager := ours
	eager.When = Eager
	second.Put([]MeasuredRule{eager})
	tables := []*Measured{first, second}
	list, missing := RulesFor(2, DefaultCTAs, tables, false)
	rule := func(when uint8) Rule {
		return Rule{Kind: ir.AllReduce, Ranks: 2, DType: Any, RedOp: Any, Root: Any, When: when, UpTo: 65536,
			Choice: selection.Choice{Program: "allreduce/onephase", Protocol: ir.LL16,
				Width: launch.Width{Replicas: 8, Threads: 512, Tile: 65536}}}
	}
	if r, ok := first.Rule("allreduce", 2, "", Captured, false, 65537); !ok || r.Program != NCCL {
		t.Errorf("the rule for 65537 bytes is %v", r)
	}
	if r, ok := first.Rule("allreduce", 2, "", Eager, false, 1); ok {
		t.Errorf("there is an eager rule: %v", r)
	}
	both := rule(WhenEager | WhenCaptured) // eager calls that are larger are NCCL's too
	if d := cmp.Diff([]Rule{both, Forward(ir.AllReduce, 2)}, list[:2], unexported); d != "" || len(list) != 1+len(Kinds) {
		t.Errorf("%d rules, %s", len(list), d)
	}
	if !slices.Equal(missing, Kinds) {
		t.Errorf("missing %v", missing)
	}
	list, _ = RulesFor(2, DefaultCTAs, tables, true)
	for i := range list {
		list[i].micros = [2]float64{}
	}
	at := slices.IndexFunc(list, func(r Rule) bool { return r.When&WhenCaptured != 0 })
	if d := cmp.Diff(rule(WhenEager), list[0], unexported); d != "" || at < 2 || list[at] != rule(WhenCaptured) ||
		list[at+1].Program != "" {
		t.Errorf("%v: %s", list, d)
	}
	for _, r := range list[1:at] {
		if r.When != WhenEager|WhenCandidate || r.UpTo <= list[0].UpTo || r.UpTo > 4<<20 {
			t.Errorf("%v", r)
		}
	}
	b, err := Build(Spec{Device: "NVIDIA H200", Ranks: []int{2}, DTypes: []data.DType{data.BF16}, Rules: list})
	if err != nil || b.Sets[0].Rules[0].Program != b.Sets[0].Rules[at].Program {
		t.Errorf("equal programs are not one: %v", err)
	}
}

// TestTablesForWindows: a table that has rules for windows only does not take the place of another's for all calls.
func TestTablesForWindows(t *testing.T) {
	ours, all := &Measured{}, &Measured{}
	rule := MeasuredRule{Calls: Calls{Collective: "allgather", Ranks: 2, When: Eager},
		Rule: selection.Rule{Choice: selection.Choice{Program: "allgather/allpairs", Protocol: ir.LL}}}
	all.Put([]MeasuredRule{rule})
	rule.Placement, rule.Windows = selection.Direct, true
	ours.Put([]MeasuredRule{rule})
	list, _ := RulesFor(2, DefaultCTAs, []*Measured{ours, all}, false)
	list = slices.DeleteFunc(list, func(r Rule) bool { return r.Kind != ir.AllGather || r.When&WhenEager == 0 })
	if len(list) != 2 || list[0].Placement != selection.Direct || list[1].Placement == selection.Direct ||
		list[1].Program != rule.Program {
		t.Errorf("rules are %v", list)
	}
}

// TestOnly: rules that are restricted to some calls come before the others, and stay when others are measured anew.
func TestOnly(t *testing.T) {
	text := `{"version": 1, "device": "d", "rules": [
  {"collective":"reduce","ranks":2,"when":"eager","program":"reduce/direct","protocol":"LL","dtype":"f32","op":"max","root":1,"calls":3},
  {"collective":"reduce","ranks":2,"when":"eager","program":"nccl","dtype":"bf16"},
  {"collective":"reduce","ranks":2,"when":"eager","up_to":9,"program":"reduce/direct","protocol":"LL"}]}`
	m, err := ReadRules("x.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m.Put([]MeasuredRule{{Calls: Calls{Collective: "reduce", Ranks: 2, When: Eager},
		Rule: selection.Rule{UpTo: 5, Choice: selection.Choice{Program: NCCL}}}})
	list, _ := RulesFor(2, DefaultCTAs, []*Measured{m}, false)
	list = slices.DeleteFunc(list, func(r Rule) bool { return r.Kind != ir.ReduceTo || r.When&WhenEager == 0 })
	for i := range list {
		list[i].Span = diag.Span{}
	}
	first := Rule{Kind: ir.ReduceTo, Ranks: 2, DType: uint8(data.F32), RedOp: uint8(data.Max), Root: 1,
		When: WhenEager, Calls: 3, Choice: selection.Choice{Program: "reduce/direct", Protocol: ir.LL}}
	second, third, last := Forward(ir.ReduceTo, 2), Forward(ir.ReduceTo, 2), Forward(ir.ReduceTo, 2)
	second.DType, third.UpTo = uint8(data.BF16), 5
	second.When, third.When, last.When = WhenEager, WhenEager, WhenEager
	if d := cmp.Diff([]Rule{first, second, third, last}, list, unexported); d != "" {
		t.Error(d)
	}
	if r, ok := m.Rule("reduce", 2, "", Eager, false, 1); !ok || r.UpTo != 5 {
		t.Errorf("%v, %v", r, ok)
	}
	b, err := Build(Spec{Device: "d", Ranks: []int{2}, DTypes: []data.DType{data.F32}, Rules: list})
	if err != nil || len(b.Programs) != 1 || b.Programs[0].Root != 1 {
		t.Errorf("%v", err)
	}
}

// TestOnlyWindows: rules for windows stand before the others, those for more CTAs before those for fewer. A rule that
// names a direct program has one of its own.
func TestOnlyWindows(t *testing.T) {
	text := `{"version": 1, "device": "d", "rules": [
  {"collective":"allgather","ranks":2,"when":"eager","up_to":9,"program":"allgather/allpairs","protocol":"LL","windows":true,"ctas":64,"replicas":64,"direct":true},
  {"collective":"allgather","ranks":2,"when":"eager","program":"allgather/allpairs","protocol":"LL","windows":true,"replicas":2,"direct":true},
  {"collective":"allgather","ranks":2,"when":"eager","up_to":9,"program":"allgather/allpairs","protocol":"LL","replicas":3}]}`
	m, err := ReadRules("x.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m.Put([]MeasuredRule{{Calls: Calls{Collective: "allgather", Ranks: 2, When: Eager},
		Rule: selection.Rule{UpTo: 5, Choice: selection.Choice{Program: "allgather/allpairs", Protocol: ir.LL,
			Width: launch.Width{Replicas: 4}}}}})
	var b bytes.Buffer
	if err := m.Write(&b); err != nil {
		t.Fatal(err)
	}
	if m, err = ReadRules("x.rules", &b); err != nil {
		t.Fatal(err)
	}
	list, _ := RulesFor(2, 64, []*Measured{m}, true)
	made, err := Build(Spec{Device: "d", Ranks: []int{2}, DTypes: []data.DType{data.F32}, Rules: list, CTAs: 64})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, r := range made.Sets[0].Rules {
		if r.Kind == uint8(ir.AllGather) && r.When&(WhenEager|WhenCandidate) == WhenEager {
			got += fmt.Sprintf("%d %d %d %d; ", r.When, r.UpTo, r.Replicas, made.Programs[r.Program].Direct)
		}
	}
	if want := "5 9 64 1; 5 18446744073709551615 2 1; 1 5 4 0; "; got != want {
		t.Errorf("rules are %s", got)
	}
}

// TestBuiltIn reads the tables that are built in. Their rules are a bundle's.
func TestBuiltIn(t *testing.T) {
	for _, m := range BuiltIn() {
		spec, ok := BuiltInFor(m.Device)
		if !ok || len(spec.Ranks) == 0 {
			t.Errorf("no bundle is for %s", m.Device)
		}
		if _, err := Build(spec); err != nil {
			t.Errorf("%s: %v", m.Device, err)
		}
	}
	if spec, ok := BuiltInFor("NVIDIA H98"); ok {
		t.Errorf("an unknown device has %d rules", len(spec.Rules))
	}
}

// TestBuiltInWindows: rules for windows are built in for two H200s, of all collectives that may have some. In each, a
// direct program runs large calls (docs/bundle.md and docs/training.md).
func TestBuiltInWindows(t *testing.T) {
	spec, _ := BuiltInFor("NVIDIA H200")
	for _, kind := range Kinds {
		for _, when := range []uint8{WhenEager, WhenCaptured} {
			direct := slices.ContainsFunc(spec.Rules, func(r Rule) bool {
				return r.Kind == kind && r.Ranks == 2 && r.When == when|WhenWindows && r.Placement == selection.Direct &&
					(r.UpTo == 0 || r.UpTo > 4<<20)
			})
			if direct == kind.Rooted() {
				t.Errorf("direct programs of %v between windows: %v", kind, direct)
			}
		}
	}
}

// TestRulesForWindows: rules for windows stand before those for all calls, replace only such, and are for such calls.
func TestRulesForWindows(t *testing.T) {
	windows := MeasuredRule{Calls: Calls{Collective: "allgather", Ranks: 2, When: Eager},
		Rule: selection.Rule{Choice: selection.Choice{Program: "allgather/allpairs", Protocol: ir.LL,
			Placement: selection.Direct}, Only: selection.Only{Windows: true}}}
	few := windows
	few.CTAs = 4
	all := MeasuredRule{Calls: Calls{Collective: "allgather", Ranks: 2, When: Eager},
		Rule: selection.Rule{Choice: selection.Choice{Program: NCCL}}}
	m := &Measured{Device: "d"}
	for _, r := range []MeasuredRule{all, few, windows, windows, all} {
		m.Put([]MeasuredRule{r})
	}
	if d := cmp.Diff([]MeasuredRule{few, windows, all}, m.Rules); d != "" {
		t.Error(d)
	}
	if r, ok := m.Rule("allgather", 2, "", Eager, true, 1); !ok || !r.Runs(windows) || r.CTAs != 0 {
		t.Errorf("got %v, %v", r, ok)
	}
	if r, ok := m.Rule("allgather", 2, "", Eager, false, 1); !ok || !r.Runs(all) {
		t.Errorf("got %v, %v", r, ok)
	}
}

// A rule with CTAs of its own may have more than the others.
func TestRuleCTAs(t *testing.T) {
	text := `{"version": 1, "device": "NVIDIA H200", "rules": [
  {"collective":"allgather","ranks":2,"when":"captured","program":"allgather/allpairs","protocol":"Simple","windows":true,"direct":true,"ctas":132},
  {"collective":"allgather","ranks":2,"when":"captured","program":"allgather/allpairs","protocol":"Simple"}
]}`
	m, err := ReadRules("wide.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := RulesFor(2, DefaultCTAs, []*Measured{m}, false)
	b, err := Build(Spec{Device: "NVIDIA H200", Ranks: []int{2}, DTypes: []data.DType{data.F32}, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	var got []uint32
	for _, r := range b.Sets[0].Rules {
		if r.Program != NCCLRow {
			got = append(got, r.Replicas)
		}
	}
	if want := []uint32{132, DefaultCTAs}; !slices.Equal(got, want) || b.Sets[0].CTAs != 132 {
		t.Errorf("replicas are %v, and the set has %d CTAs; want %v", got, b.Sets[0].CTAs, want)
	}
}
