package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// TestInvariantSets: bundles of candidates and of measured rules have a set for invariant bits for each number of ranks
// above two. In it all that sums adds in the order of ranks, every call has a rule, and none is a candidate.
func TestInvariantSets(t *testing.T) {
	specs := map[string]Spec{"candidates": candidatesFor("NVIDIA H98", []int{2, 3, 8, 16})}
	for _, m := range BuiltIn() {
		specs[m.Device], _ = BuiltInFor(m.Device)
	}
	for name, spec := range specs {
		b, err := Build(spec)
		if err != nil {
			t.Fatal(err)
		}
		if b, _, err = Verify("x", Encode(b)); err != nil {
			t.Fatal(err)
		}
		var with []int
		for i := range b.Sets {
			s := &b.Sets[i]
			if !s.Invariant {
				continue
			}
			with = append(with, s.Ranks)
			for _, n := range s.Programs {
				if p := b.Programs[n]; p.kind().Reduces() && p.Ordered == 0 {
					t.Errorf("%s, %s: %s", name, s.Title(), p.Title())
				}
			}
			for k := range s.Rules {
				if r := &s.Rules[k]; ir.Kind(r.Kind).Reduces() && (r.Program == NCCLRow || r.When&WhenCandidate != 0) {
					t.Errorf("%s, %s: %+v", name, s.Title(), r)
				}
			}
			for _, ctas := range []int{1, 8, 32} { // the least that a communicator may have, and those of all rules
				for _, g := range b.Gaps(s, ctas, false) {
					if kind, _ := ir.KindByName(g.Collective); kind.Reduces() && g.Reason != NoKernel {
						t.Errorf("%s, %s, %d CTAs: %+v", name, s.Title(), ctas, g)
					}
				}
			}
			if info := b.Info().Sets[i]; info.Bits != selection.Invariant {
				t.Errorf("%s, %s: bits are %q", name, s.Title(), info.Bits)
			}
		}
		var want []int
		for _, n := range spec.Ranks {
			if n > 2 {
				want = append(want, n)
			}
		}
		if fmt.Sprint(with) != fmt.Sprint(want) {
			t.Errorf("%s: sets for invariant bits are for %v ranks, want %v", name, with, want)
		}
	}
}

// TestInvariantRules: measured rules for invariant bits come before those that nobody measured, and are written and
// read. Programs that add in another order are refused.
func TestInvariantRules(t *testing.T) {
	const text = `{"version": 2, "entries": [
  {"device":"d","ranks":4,"collective":"allreduce","when":"eager","rules":[
    {"up_to":4096,"program":"allreduce/onephase_pull","protocol":"Simple","replicas":2,"bits":"invariant"},
    {"program":%q,"protocol":"LL","replicas":2%s},
    {"program":"allreduce/ring","protocol":"LL","replicas":2}]}
]}
`
	sets := func(program, more string) (*Bundle, error) {
		in := fmt.Sprintf(text, program, more)
		m, err := ReadRules("x.rules", strings.NewReader(in))
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		if err := m.Write(&out); err != nil || out.String() != in {
			t.Errorf("%v\n%s", err, out.String())
		}
		rules, _ := RulesFor(4, 8, []*Measured{m}, false)
		return Build(Spec{Device: "d", Ranks: []int{4}, DTypes: DefaultDTypes, CTAs: 8, Rules: rules})
	}
	b, err := sets("allreduce/ordered", `,"bits":"invariant"`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range b.Info().Sets[1].Rules {
		if r.Collective == "allreduce" {
			got = append(got, fmt.Sprint(r.Program, " ", r.UpTo, " ", r.Eager, " ", r.Captured))
		}
	}
	want := []string{"allreduce/onephase_pull Simple 4096 true false", "allreduce/ordered LL 0 true false",
		"allreduce/ordered Simple 0 true false", "allreduce/ordered Simple 0 true false",
		"allreduce/ordered Simple 0 true false",
		"allreduce/onephase LL 16384 false true", "allreduce/ordered LL 262144 false true",
		"allreduce/ordered LL128 2097152 false true", "allreduce/ordered Simple 0 false true",
		"allreduce/ordered Simple 0 false true", "allreduce/ordered Simple 0 false true",
		"allreduce/ordered Simple 0 false true"}
	if len(b.Sets) != 2 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d sets; rules are\n%s", len(b.Sets), strings.Join(got, "\n"))
	}
	for _, c := range []struct{ program, more, says string }{
		{"allreduce/allpairs", `,"bits":"invariant"`, "allreduce/allpairs LL does not add in the order of ranks"},
		{"nccl", `,"bits":"invariant"`, "is for invariant bits, and NCCL's"},
		{"allreduce/ordered", `,"bits":"invariant","candidate":true`, "is for invariant bits, and a candidate"},
		{"allreduce/ordered", `,"bits":"equal"`, `is "equal", which is none of invariant`},
	} {
		_, err := sets(c.program, c.more)
		var list diag.List
		if !errors.As(err, &list) || !slices.ContainsFunc(list, func(d diag.Diagnostic) bool {
			return strings.Contains(d.Text, c.says)
		}) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
