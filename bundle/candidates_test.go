package bundle

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/selection"
)

// candidatesFor returns what the bundle of candidates for a device that nobody measured is made of.
func candidatesFor(device string, ranks []int) Spec {
	spec := Spec{Device: device, Ranks: sorted(ranks), DTypes: DefaultDTypes, CTAs: DefaultCTAs,
		Note: "candidates of mscclc, then NCCL's"}
	for _, n := range spec.Ranks {
		rules, _ := RulesFor(n, spec.CTAs, nil, true)
		spec.Rules = append(spec.Rules, rules...)
	}
	return spec
}

// TestCandidates: the candidates for a device that nobody measured end at 4 MiB and take at most 32 CTAs. A bundle of
// them leaves all calls to be learned, and nothing else to NCCL but larger calls.
func TestCandidates(t *testing.T) {
	spec := candidatesFor("NVIDIA H98", []int{4, 2, 4})
	b, err := Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Decode("x", Encode(b)); err != nil {
		t.Fatal(err)
	}
	for i := range b.Sets {
		s := &b.Sets[i]
		sums := func(kind ir.Kind) bool { return s.Invariant && kind.Reduces() } // TestInvariantSets has them
		for _, r := range s.Rules {
			if sums(ir.Kind(r.Kind)) {
				continue
			}
			if r.When&WhenCandidate == 0 || r.UpTo > 4<<20 || r.Program == NCCLRow {
				t.Errorf("%+v", r)
			}
		}
		if s.CTAs > 32 || len(b.Wide(s, 32)) > 0 {
			t.Errorf("%d CTAs", s.CTAs)
		}
		learned := 0
		for _, g := range b.Gaps(s, 32, false) {
			kind, _ := ir.KindByName(g.Collective)
			if g.Above < 4<<20 && g.Reason != ToLearn && !sums(kind) {
				t.Errorf("%+v", g)
			}
			if g.Reason == ToLearn {
				learned++
			}
		}
		if learned == 0 {
			t.Error("no calls are to be learned")
		}
	}
	if rules := b.Info().Sets[0].Rules; !rules[0].Candidate {
		t.Errorf("%+v", rules[0])
	}
	small, err := Build(Spec{Device: "x", Ranks: []int{2}, DTypes: DefaultDTypes, CTAs: 4, Rules: Candidates(2, 4)})
	if err != nil || small.Sets[0].CTAs > 4 {
		t.Errorf("%v", err)
	}
}

// TestCandidateRules: a file may have candidates that overlap measured rules and each other. Measured rules count
// first.
func TestCandidateRules(t *testing.T) {
	const text = `{"version": 1, "device": "d", "rules": [
  {"collective":"allreduce","ranks":2,"when":"eager","up_to":4096,"program":"allreduce/onephase","protocol":"LL"},
  {"collective":"allreduce","ranks":2,"when":"eager","up_to":1048576,"program":"allreduce/ring",
   "protocol":"LL128","candidate":true},
  {"collective":"allreduce","ranks":2,"when":"eager","up_to":65536,"program":"allreduce/ring",
   "protocol":"LL","candidate":true},
  {"collective":"allreduce","ranks":2,"when":"eager","program":"allreduce/allpairs","protocol":"Simple",
   "candidate":true}
]}`
	m, err := ReadRules("x.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := m.Write(&again); err != nil || strings.Count(again.String(), `"candidate":true`) != 3 {
		t.Errorf("%v: %s", err, &again)
	}
	if r, ok := m.Rule("allreduce", 2, "", Eager, false, 65536); ok {
		t.Errorf("a candidate is a rule: %+v", r)
	}
	list, missing := RulesFor(2, DefaultCTAs, []*Measured{m}, false)
	list = slices.DeleteFunc(list, func(r Rule) bool { return r.Kind != ir.AllReduce || r.When&WhenEager == 0 })
	if len(list) != 4 || list[0].Candidate() || !list[1].Candidate() || list[2].UpTo != 65536 || list[3].UpTo != 0 ||
		!slices.Contains(missing, ir.AllReduce) {
		t.Errorf("%+v", list)
	}
	for more, want := range map[string]string{
		`"program":"nccl"`: "is a candidate, and NCCL's",
		`"program":"x","protocol":"LL","windows":true`: "is a candidate, and for windows",
		`"program":"x","protocol":"LL","nodes":"2"`:    "is a candidate, and for several nodes",
	} {
		_, err := ReadRules("x.rules", strings.NewReader(`{"version": 1, "device": "d", "rules": [{"collective":"allreduce",`+
			`"ranks":4,"when":"eager","candidate":true,`+more+`}]}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", more, err)
		}
	}
	for _, change := range []func(*Rule){
		func(r *Rule) { r.Program = "" }, func(r *Rule) { r.When |= WhenWindows }, func(r *Rule) { r.Nodes = "2" },
	} {
		r := Candidates(4, 4)[0]
		if change(&r); r.check() == nil {
			t.Errorf("a bundle takes %+v", r)
		}
	}
}

// TestCandidatesGiveWay: where memory is short, candidates of a file are left out, those with the most memory first.
// The bundle can be read, and measured rules stay.
func TestCandidatesGiveWay(t *testing.T) {
	const rule = `{"collective":"allreduce","ranks":2,"when":"eager",`
	m, err := ReadRules("x.rules", strings.NewReader(`{"version": 1, "device": "d", "rules": [
  `+rule+`"up_to":4096,"program":"allreduce/onephase","protocol":"LL"},
  `+rule+`"up_to":65536,"program":"allreduce/allpairs","protocol":"LL","candidate":true},
  `+rule+`"program":"allreduce/ring","protocol":"Simple","tile":16777216,"candidate":true}]}`))
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := RulesFor(2, DefaultCTAs, []*Measured{m}, true)
	var gave []string
	b, err := Build(Spec{Device: "d", Ranks: []int{2}, DTypes: DefaultDTypes, Rules: rules,
		Notify: func(text string) { gave = append(gave, text) }})
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Decode("x", Encode(b)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range b.Sets[0].Rules {
		if ir.Kind(r.Kind) == ir.AllReduce && r.Program != NCCLRow {
			names = append(names, b.Programs[r.Program].Title())
		}
	}
	if !slices.Equal(names, []string{"allreduce/onephase LL", "allreduce/allpairs LL"}) ||
		!strings.HasPrefix(gave[len(gave)-1], "NCCL runs calls of allreduce instead of the candidate allreduce/ring Simple") {
		t.Errorf("%q, %q", names, gave)
	}
}

// TestPutCandidates: new candidates replace those for the same calls, and nothing else.
func TestPutCandidates(t *testing.T) {
	rule := MeasuredRule{Calls: Calls{Collective: "allreduce", Ranks: 2, When: Eager},
		Rule: selection.Rule{Choice: selection.Choice{Program: "allreduce/ring", Protocol: ir.LL}}}
	candidate := rule
	candidate.Candidate = true
	captured, restricted, fresh := candidate, candidate, candidate
	captured.When, restricted.DType, fresh.UpTo = Captured, "f32", CandidateBytes
	m := &Measured{Rules: []MeasuredRule{rule, candidate, captured, restricted}}
	m.PutCandidates([]MeasuredRule{fresh})
	if want := []MeasuredRule{rule, captured, restricted, fresh}; !slices.Equal(m.Rules, want) {
		t.Errorf("%+v", m.Rules)
	}
	for _, kind := range Kinds {
		if b := CandidateBounds(kind, 16); b.CTAs < 1 || b.CTAs > 32 || b.Scratch < 1<<20 || b.Tile != 8<<10 {
			t.Errorf("%v: %+v", kind, b)
		}
	}
}
