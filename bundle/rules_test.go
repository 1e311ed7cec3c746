package bundle

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/ir"

	"github.com/google/go-cmp/cmp"
)

// TestRules: what is written is read, and Put replaces what is for the same calls.
func TestRules(t *testing.T) {
	ours := MeasuredRule{"allreduce", 2, Eager, 65536, "allreduce/onephase", "LL16", 8, 512, 65536, 3.1, 7.9, Only{}}
	nccl := MeasuredRule{"allreduce", 2, Eager, 0, NCCL, "", 0, 0, 0, 40.2, 39.9, Only{}}
	m := &Measured{Device: "NVIDIA H200"}
	m.Put([]MeasuredRule{nccl})
	m.Put([]MeasuredRule{{Collective: "allgather", Ranks: 2, When: Captured, Program: NCCL}})
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
	if d := cmp.Diff(m, again); d != "" {
		t.Error(d)
	}
}

func TestRulesRefused(t *testing.T) {
	rule := func(more string) string {
		return `{"version": 1, "device": "d", "rules": [{"collective":"allreduce","ranks":2,"when":"eager",` + more + `]}`
	}
	for _, c := range []struct{ text, want string }{
		{`{"version": 2, "device": "d", "rules": []}`, "is 2"},
		{rule(`"program":"allreduce/ring"}`), "protocol"},
		{rule(`"program":"nccl","protocol":"LL"}`), "protocol"},
		{rule(`"program":"nccl","column":1}`), "column"},
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
// cover is NCCL's, or the ladder's.
func TestRulesFor(t *testing.T) {
	first, second := &Measured{}, &Measured{}
	ours := MeasuredRule{"allreduce", 2, Captured, 65536, "allreduce/onephase", "LL16", 8, 512, 65536, 3.1, 7.9, Only{}}
	first.Put([]MeasuredRule{ours, {Collective: "allreduce", Ranks: 2, When: Captured, Program: NCCL}})
	second.Put([]MeasuredRule{{Collective: "allreduce", Ranks: 2, When: Captured, Program: "allreduce/ring",
		Protocol: "LL"}})
	eager := ours
	eager.When = Eager
	second.Put([]MeasuredRule{eager})
	tables := []*Measured{first, second}
	list, missing := RulesFor(2, DefaultCTAs, tables, false)
	rule := func(when uint8) Rule {
		return Rule{Kind: ir.AllReduce, Ranks: 2, DType: Any, RedOp: Any, Root: Any, When: when, UpTo: 65536,
			Program: "allreduce/onephase", Protocol: ir.LL16, Columns: 8, Threads: 512, Tile: 65536}
	}
	if r, ok := first.Rule("allreduce", 2, Captured, 65537); !ok || r.Program != NCCL {
		t.Errorf("the rule for 65537 bytes is %v", r)
	}
	if r, ok := first.Rule("allreduce", 2, Eager, 1); ok {
		t.Errorf("there is an eager rule: %v", r)
	}
	both := rule(WhenEager | WhenCaptured) // eager calls that are larger are NCCL's too
	if d := cmp.Diff([]Rule{both, Forward(ir.AllReduce, 2)}, list[:2]); d != "" || len(list) != 1+len(Kinds) {
		t.Errorf("%d rules, %s", len(list), d)
	}
	if !slices.Equal(missing, Kinds) {
		t.Errorf("missing %v", missing)
	}
	list, _ = RulesFor(2, DefaultCTAs, tables, true)
	if d := cmp.Diff(rule(WhenEager), list[0]); d != "" || list[1].Program != "allreduce/allpairs" ||
		list[1].When != WhenEager || list[4] != rule(WhenCaptured) || list[5].Program != "" {
		t.Errorf("%v: %s", list[:6], d)
	}
	b, err := Build(Spec{Device: "NVIDIA H200", Ranks: []int{2}, DTypes: []data.DType{data.BF16}, Rules: list})
	if err != nil || b.Sets[0].Rules[0].Program != b.Sets[0].Rules[4].Program {
		t.Errorf("equal programs are not one: %v", err)
	}
}

// TestOnly: rules that are restricted to some calls come before the others, and stay when others are measured anew.
func TestOnly(t *testing.T) {
	text := `{"version": 1, "device": "d", "rules": [
  {"collective":"reduce","ranks":2,"when":"eager","program":"reduce/direct","protocol":"LL","dtype":"f32","op":"max","root":1,"calls":3,"windows":true},
  {"collective":"reduce","ranks":2,"when":"eager","program":"nccl","dtype":"bf16"},
  {"collective":"reduce","ranks":2,"when":"eager","up_to":9,"program":"reduce/direct","protocol":"LL"}]}`
	m, err := ReadRules("x.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	m.Put([]MeasuredRule{{Collective: "reduce", Ranks: 2, When: Eager, UpTo: 5, Program: NCCL}})
	list, _ := RulesFor(2, DefaultCTAs, []*Measured{m}, false)
	list = slices.DeleteFunc(list, func(r Rule) bool { return r.Kind != ir.ReduceTo || r.When&WhenEager == 0 })
	first := Rule{Kind: ir.ReduceTo, Ranks: 2, DType: uint8(data.F32), RedOp: uint8(data.Max), Root: 1,
		When: WhenEager | WhenWindows, Calls: 3, Program: "reduce/direct", Protocol: ir.LL}
	second, third, last := Forward(ir.ReduceTo, 2), Forward(ir.ReduceTo, 2), Forward(ir.ReduceTo, 2)
	second.DType, third.UpTo = uint8(data.BF16), 5
	second.When, third.When, last.When = WhenEager, WhenEager, WhenEager
	if d := cmp.Diff([]Rule{first, second, third, last}, list); d != "" {
		t.Error(d)
	}
	if r, ok := m.Rule("reduce", 2, Eager, 1); !ok || r.UpTo != 5 {
		t.Errorf("%v, %v", r, ok)
	}
	b, err := Build(Spec{Device: "d", Ranks: []int{2}, DTypes: []data.DType{data.F32}, Rules: list})
	if err != nil || len(b.Programs) != 1 || b.Programs[0].Root != 1 {
		t.Errorf("%v", err)
	}
}

// TestBuiltIn reads the tables that are built in. Their rules are a bundle's.
func TestBuiltIn(t *testing.T) {
	for _, m := range BuiltIn() {
		spec := Spec{Device: m.Device, DTypes: []data.DType{data.BF16, data.F16, data.F32}}
		for n := 2; n <= MostRanks; n++ {
			if slices.ContainsFunc(m.Rules, func(r MeasuredRule) bool { return r.Ranks == n }) {
				rules, _ := RulesFor(n, DefaultCTAs, []*Measured{m}, false)
				spec.Ranks, spec.Rules = append(spec.Ranks, n), append(spec.Rules, rules...)
			}
		}
		if len(spec.Ranks) == 0 {
			continue // nothing is measured yet
		}
		if _, err := Build(spec); err != nil {
			t.Errorf("%s: %v", m.Device, err)
		}
	}
}
