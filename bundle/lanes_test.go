package bundle

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/algorithms/choose"
	"mscclc/codegen"
	"mscclc/codegen/program"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/selection"
)

// lanedRules are rules of programs in several lanes: staged, direct, with a root, and on several nodes. The program of
// the first is also run in one lane, and in the same lanes with other copies of scratch.
const lanedRules = `{"version": 1, "device": "d", "rules": [
  {"collective":"allreduce","ranks":4,"when":"eager","up_to":1048576,"program":"allreduce/allpairs","protocol":"Simple","lanes":4,"copies":5,"replicas":8,"tile":4096},
  {"collective":"allreduce","ranks":4,"when":"eager","up_to":2097152,"program":"allreduce/allpairs","protocol":"Simple","tile":4096},
  {"collective":"allreduce","ranks":4,"when":"eager","program":"allreduce/allpairs","protocol":"Simple","lanes":4,"tile":4096},
  {"collective":"allgather","ranks":4,"when":"eager","program":"allgather/ring","protocol":"Simple","placement":"direct","lanes":3,"tile":4096,"windows":true},
  {"collective":"broadcast","ranks":4,"when":"eager","program":"broadcast/direct","protocol":"Simple","lanes":8,"tile":4096},
  {"collective":"alltoall","ranks":4,"when":"eager","program":"alltoall/one_step","protocol":"LL","lanes":3,"tile":4096},
  {"collective":"allreduce","ranks":4,"nodes":"2,2","when":"eager","program":"allreduce/hierarchical","protocol":"Simple","lanes":8,"copies":4,"tile":4096}]}`

// lanedSpec returns a bundle of the rules of a text, for 4 ranks.
func lanedSpec(t *testing.T, text string) Spec {
	t.Helper()
	m, err := ReadRules("lanes.rules", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := m.Write(&again); err != nil {
		t.Fatal(err)
	}
	written := again.String()
	if o, err := ReadRules("again.rules", &again); err != nil || !slices.EqualFunc(m.Rules, o.Rules, func(a, b MeasuredRule) bool {
		a.Span, b.Span = diag.Span{}, diag.Span{}
		return a == b
	}) {
		t.Errorf("%v: written as\n%s", err, written)
	}
	list, _ := RulesFor(4, DefaultCTAs, []*Measured{m}, false)
	return Spec{Device: "d", Ranks: []int{4}, DTypes: []data.DType{data.F16},
		Rules: append(list, RulesOver(4, []*Measured{m})...)}
}

// TestLanes builds a bundle with programs in several lanes. Each has as many blocks and copies of scratch as its rule
// says, and rules have as many replicas as there are CTAs for. The bundle is read and proven.
func TestLanes(t *testing.T) {
	b, err := Build(lanedSpec(t, lanedRules))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][3]uint32{ // blocks, copies of scratch, and replicas
		"allreduce/allpairs Simple 4 lanes 5 copies":                     {4, 5, 8},
		"allreduce/allpairs Simple":                                      {1, 2, 32},
		"allreduce/allpairs Simple 4 lanes":                              {4, 3, 8},
		"allgather/ring Simple 3 lanes direct":                           {3, 3, 10},
		"allreduce/hierarchical Simple 8 lanes 4 copies on nodes of 2,2": {8, 4, 4},
		"broadcast/direct Simple 8 lanes":                                {0, 0, 0}, // by root
		"alltoall/one_step LL 3 lanes":                                   {3, 3, 10},
	}
	seen := map[string]bool{}
	for i := range b.Sets {
		s := &b.Sets[i]
		if s.CTAs > DefaultCTAs {
			t.Errorf("%s: %d CTAs", s.Title(), s.CTAs)
		}
		for _, r := range s.Rules {
			if r.Program == NCCLRow {
				continue
			}
			p := b.Programs[r.Program]
			got := [3]uint32{uint32(p.BlocksOf()), p.Depth, r.Replicas}
			if w, ok := want[p.Title()]; !ok || w[0] > 0 && got != w {
				t.Errorf("%s of %s: blocks, copies and replicas %v, want %v", p.Title(), s.Title(), got, w)
			}
			if n := b.CTAs(&r); n > DefaultCTAs || n != int(r.Replicas)*p.BlocksOf() || p.BlocksOf() < 2 != (p.Depth == 2) {
				t.Errorf("%s: %d CTAs, %v", p.Title(), n, got)
			}
			seen[p.Title()] = true
		}
	}
	if len(seen) != len(want) {
		t.Errorf("programs are %v", seen)
	}
	text := Encode(b)
	got, _, err := Verify("x.bundle", text)
	if err != nil || !bytes.Equal(Encode(got), text) {
		t.Fatalf("read other things than written: %v", err)
	}
	got.Programs[0].Depth--
	if _, _, err = Verify("x.bundle", Encode(got)); err == nil || !strings.Contains(err.Error(), "other numbers of chunks") {
		t.Errorf("a copy of scratch less: %v", err)
	}
}

// TestLanesRefused: rules whose lanes cannot be are refused with their position, and what to do.
func TestLanesRefused(t *testing.T) {
	rule := func(more string) string {
		return `{"version": 1, "device": "d", "rules": [` + "\n" + `{"collective":"allreduce","ranks":4,"when":"eager",` +
			more + "}]}"
	}
	const simple = `"program":"allreduce/allpairs","protocol":"Simple",`
	for _, c := range []struct{ text, want string }{
		{rule(simple + `"lanes":65`), "rules[0].lanes"},
		{rule(simple + `"lanes":4,"copies":9`), "rules[0].copies"},
		{rule(simple + `"copies":4`), `rules[0]: has "copies": 4, which are for several lanes`},
		{rule(simple + `"lanes":1,"copies":4`), `rules[0]: has "copies": 4, which are for several lanes`},
		{rule(`"program":"nccl","lanes":4`), `has a "lanes", which "nccl" does not take`},
	} {
		if _, err := ReadRules("x.rules", strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	for _, c := range []struct{ text, want, hint string }{
		{rule(simple + `"lanes":4,"replicas":9`), "allreduce/allpairs Simple 4 lanes on 4 ranks has 9 replicas of 4 blocks, which are" +
			" 36 CTAs, and rules have 32", "--ctas 36, or fewer replicas or lanes"},
		{rule(simple + `"lanes":4,"ctas":8,"replicas":4`), "4 replicas of 4 blocks, which are 16 CTAs, and rules have 8",
			`"ctas":16, or fewer replicas or lanes`},
		{rule(simple + `"lanes":4,"ctas":3`), "1 replica of 4 blocks, which are 4 CTAs", `"ctas":4, or fewer`},
	} {
		_, err := Build(lanedSpec(t, c.text))
		var list diag.List
		if !errors.As(err, &list) || !strings.Contains(list[0].Text, c.want) || !strings.Contains(list[0].Hint, c.hint) ||
			list[0].Span.Line != 2 {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	spec := lanedSpec(t, lanedRules)
	spec.Rules[0].Lanes = 65
	if _, err := Build(spec); err == nil || !strings.Contains(err.Error(), "at most 64 lanes") {
		t.Errorf("65 lanes: %v", err)
	}
}

// TestLanesOfOwn: a rule may name lanes of the user's algorithm, and not of a program that is compiled already.
func TestLanesOfOwn(t *testing.T) {
	text, err := algorithms.Open("allreduce/allpairs")
	if err != nil {
		t.Fatal(err)
	}
	spec := lanedSpec(t, lanedRules)
	spec.Rules = slices.Clone(spec.Rules[:1])
	spec.Rules[0].Program = "mine.mscl"
	spec.Own = choose.UserPrograms{{Name: "mine.mscl", File: "mine.mscl", Tree: treeOf("mine.mscl", string(text))}}
	b, err := Build(spec)
	if err != nil || b.Programs[0].Title() != "mine.mscl Simple 4 lanes 5 copies" || b.Programs[0].BlocksOf() != 4 {
		t.Fatalf("%v", err)
	}
	p, err := program.Decode("mine.mprog", b.Programs[0].Source, codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	spec.Rules[0].Program = "mine.mprog"
	spec.Own = choose.UserPrograms{{Name: "mine.mprog", File: "mine.mprog", Compiled: [2]*either.Program{p}}}
	if _, err = Build(spec); err == nil || !strings.Contains(err.Error(), `is compiled already, and its rule says "lanes": 4`) {
		t.Errorf("%v", err)
	}
	spec.Rules[0].InLanes = selection.InLanes{}
	if b, err = Build(spec); err != nil || b.Programs[0].BlocksOf() != 4 || b.Programs[0].Depth != 5 {
		t.Errorf("%v", err)
	}
}

// TestMergeLanes: a program takes memory of its own in each number of lanes, and rules of different lanes stay apart.
func TestMergeLanes(t *testing.T) {
	in := func(lanes, copies int, micros float64) Timed {
		f := timed("a", "Simple", 4, micros)
		f.InLanes = selection.InLanes{Lanes: lanes, Copies: copies}
		return f
	}
	sizes := []TimedSize{
		{1 << 20, []Timed{in(0, 0, 10), in(4, 0, 11), in(4, 5, 12)}, [numLaunches]float64{}},
		{4 << 20, []Timed{in(0, 0, 40), in(4, 0, 30), in(4, 5, 31)}, [numLaunches]float64{}},
		{1 << 30, []Timed{in(0, 0, 40), in(4, 0, 30), in(4, 5, 20)}, [numLaunches]float64{}},
	}
	for room, want := range map[int64][]selection.InLanes{
		12 << 20: {{}, {Lanes: 4}, {Lanes: 4, Copies: 5}},
		8 << 20:  {{}, {Lanes: 4, Copies: 5}},
		4 << 20:  {{Lanes: 4, Copies: 5}},
	} {
		eager, _ := Merge("allreduce", 2, sizes, room)
		var got []selection.InLanes
		for _, r := range eager {
			got = append(got, r.InLanes)
		}
		if !slices.Equal(got, want) {
			t.Errorf("room %d: %v, want %v", room, got, want)
		}
	}
}
