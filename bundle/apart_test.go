package bundle

import (
	"slices"
	"testing"

	"mscclc/executor/data"
	"mscclc/ir"
)

// TestApart: rules of one kind of GPUs do not count among the other kind, nor do lines where GPUs are apart. A file of
// rules keeps which they are for.
func TestApart(t *testing.T) {
	spec := Spec{Device: "x", Ranks: []int{2}, DTypes: []data.DType{data.F32}}
	ladder := Ladder(2, 4)
	for _, c := range []struct {
		kind  ir.Kind
		proto ir.Protocol
		when  uint8
	}{{ir.AllReduce, ir.LL, 0}, {ir.AllGather, ir.Simple, WhenApart}, {ir.ReduceScatter, ir.LL128, WhenApart}} {
		rule := ladder[slices.IndexFunc(ladder, func(r Rule) bool { return r.Kind == c.kind })]
		rule.Protocol, rule.UpTo, rule.When, rule.Tile = c.proto, 1<<20, rule.When|c.when, 64<<10
		spec.Rules = append(spec.Rules, rule)
	}
	b, err := Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Decode("x", Encode(b)); err != nil {
		t.Fatal(err)
	}
	for apart, want := range map[bool]map[string]string{
		false: {"allreduce": "", "allgather": isOther, "reducescatter": isOther},
		true:  {"allreduce": isOther, "allgather": "", "reducescatter": noNVLink},
	} {
		got := map[string]string{"allreduce": "", "allgather": "", "reducescatter": ""}
		for _, g := range b.Gaps(&b.Sets[0], 32, apart) {
			if _, ok := got[g.Collective]; ok && g.Above == 0 && (g.DTypes == nil || slices.Contains(g.DTypes, "f32")) {
				got[g.Collective] = g.Reason
			}
		}
		for kind, why := range want {
			if got[kind] != why {
				t.Errorf("apart %v: %s has %q, want %q", apart, kind, got[kind], why)
			}
		}
	}
	if r := b.Info().Sets[0].Rules; !slices.ContainsFunc(r, func(r RuleInfo) bool { return r.Apart }) {
		t.Errorf("no rule is for GPUs that are apart: %+v", r)
	}
}
