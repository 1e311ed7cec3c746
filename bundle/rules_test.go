package bundle

import (
	"bytes"
	"strings"
	"testing"

	"mscclc/executor/data"
	"mscclc/ir"

	"github.com/google/go-cmp/cmp"
)

// TestRules: what is written is read, and Put replaces what is for the same calls.
func TestRules(t *testing.T) {
	ours := MeasuredRule{"allreduce", 2, Eager, 65536, "allreduce/onephase", "LL16", 8, 512, 65536, 3.1, 7.9}
	nccl := MeasuredRule{"allreduce", 2, Eager, 0, NCCL, "", 0, 0, 0, 40.2, 39.9}
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
		{rule(`"program":"nccl"},{"collective":"allreduce","ranks":2,"when":"eager","program":"nccl"}`), "never reached"},
		{rule(`"program":"nccl","up_to":9},{"collective":"allreduce","ranks":2,"when":"eager","up_to":9,"program":"nccl"}`),
			"never reached"},
	} {
		if _, err := ReadRules("x.rules", strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// TestRulesFor: the rules for some ranks come in the order of the file, and NCCL runs all other calls.
func TestRulesFor(t *testing.T) {
	m := &Measured{Device: "NVIDIA H200"}
	m.Put([]MeasuredRule{{"allreduce", 2, Captured, 65536, "allreduce/onephase", "LL16", 8, 512, 65536, 3.1, 7.9},
		{Collective: "allreduce", Ranks: 2, When: Captured, Program: NCCL}})
	list := m.For(2)
	if len(list) != 2+len(Kinds) || m.For(4) != nil {
		t.Fatalf("%d rules for 2 ranks, %d for 4", len(list), len(m.For(4)))
	}
	if r, ok := m.Rule("allreduce", 2, Captured, 65537); !ok || r.Program != NCCL {
		t.Errorf("the rule for 65537 bytes is %v", r)
	}
	if r, ok := m.Rule("allreduce", 2, Eager, 1); ok {
		t.Errorf("there is an eager rule: %v", r)
	}
	want := Rule{Kind: ir.AllReduce, Ranks: 2, DType: Any, RedOp: Any, Root: Any, When: WhenCaptured, UpTo: 65536,
		Program: "allreduce/onephase", Protocol: ir.LL16, Columns: 8, Threads: 512, Tile: 65536}
	if d := cmp.Diff(want, list[0]); d != "" {
		t.Error(d)
	}
	if list[1].Program != "" || list[1].UpTo != 0 {
		t.Errorf("NCCL's rule is %v", list[1])
	}
	b, err := Build(Spec{Device: "NVIDIA H200", Ranks: []int{2}, DTypes: []data.DType{data.BF16}, Rules: list})
	if err != nil || len(b.Sets) != 1 || len(b.Sets[0].Programs) != 1 {
		t.Errorf("the bundle of these rules: %v", err)
	}
}
