package play_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/lang"
	"mscclc/play"
	"mscclc/topology"
)

func build(t *testing.T, r *play.Request) *play.Result {
	t.Helper()
	result, err := play.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestLevels has a hierarchical program on two nodes: its operations within nodes and between these differ, and
// take paths of links that are there.
func TestLevels(t *testing.T) {
	r := catalogRequest(t, "allreduce/hierarchical")
	r.Machine = "dgx_h100:nodes=2"
	s := build(t, r).Scene
	levels := map[string]int{}
	for i := range s.Ops {
		op := &s.Ops[i]
		levels[op.Level]++
		if op.Here.File != s.Name || op.Here.Line == 0 {
			t.Errorf("operation %d is at %v, and has no position in the file", i, op.At)
		}
		for _, p := range op.Paths {
			far := false
			at := s.Machine.Seats[s.Machine.Paths[p].From]
			for _, l := range s.Machine.Paths[p].Links {
				link := s.Machine.Links[l]
				if link.From != at {
					t.Fatalf("path %d goes from vertex %d by a link from %d", p, at, link.From)
				}
				at, far = link.To, far || link.Network
			}
			if at != s.Machine.Seats[s.Machine.Paths[p].To] || far != (op.Level == "network") {
				t.Errorf("operation %d is at level %s, and its path ends at vertex %d", i, op.Level, at)
			}
		}
	}
	if levels["node"] == 0 || levels["network"] == 0 || s.Collective.Nodes != 2 {
		t.Errorf("levels: %v, of %d nodes", levels, s.Collective.Nodes)
	}
	if f := s.Figures; f == nil || f.Share == nil || *f.Share <= 0 || *f.Share > 1 || f.LinkName == "" {
		t.Errorf("figures: %+v", f)
	}
	for k, f := range s.Frames {
		if f.Begin == nil || f.End == nil || *f.Begin >= *f.End {
			t.Errorf("frame %d has no time", k)
		}
	}
}

// TestSides compiles one program in other ways.
func TestSides(t *testing.T) {
	r := catalogRequest(t, "allreduce/ring")
	r.Machine, r.OneSided, r.Lanes = "h200", true, 2
	one := build(t, r)
	if !one.Proven || one.Scene.Sided != "one" || !strings.Contains(one.Scene.Verdict.Line, "one-sided") {
		t.Errorf("one-sided: %s", one.Scene.Verdict.Line)
	}
	lit := 0
	for i := range one.Scene.Timeline.Steps {
		if one.Scene.Timeline.Steps[i].Frame >= 0 {
			lit++
		}
	}
	if lit < len(one.Scene.Ops) {
		t.Errorf("%d steps are of operations, of which there are %d", lit, len(one.Scene.Ops))
	}
	r.OneSided, r.Lanes, r.Params = false, 0, lang.Params{"ranks": "4"}
	if s := build(t, r).Scene; s.Collective.Ranks != 4 || s.Sided != "two" || !s.Params[0].Given {
		t.Errorf("%d ranks, %+v", s.Collective.Ranks, s.Params)
	}
}

// TestMachines has machines that are wrong, own or too small.
func TestMachines(t *testing.T) {
	r := catalogRequest(t, "allreduce/ring")
	for machine, want := range map[string]string{"nosuch": "nosuch", "dgx1v:nodes=x": "nodes=x", "../h200.topo": "no machine"} {
		r.Machine = machine
		if s := build(t, r).Scene; !strings.Contains(s.Machine.Problem, want) || s.Verdict.State != "proven" {
			t.Errorf("%s: %q, %s", machine, s.Machine.Problem, s.Verdict.State)
		}
	}
	text, err := topology.Source("dgx_h100")
	if err != nil {
		t.Fatal(err)
	}
	r.Topology, r.Machine = text, "nodes=2"
	if s := build(t, r).Scene; s.Machine.Nodes != 2 || len(s.Machine.Seats) != 8 || s.Figures == nil {
		t.Errorf("an own machine: %d nodes, %s", s.Machine.Nodes, s.Machine.Problem)
	}
	r.Topology, r.Machine, r.Params = "", "h200", lang.Params{"ranks": "16"}
	if s := build(t, r).Scene; !strings.Contains(s.Machine.Problem, "have no room") || s.Timeline != nil || len(s.Frames) == 0 {
		t.Errorf("a small machine: %q", s.Machine.Problem)
	}
}

// TestLarge has programs that are too large to be shown, of which the scene says so.
func TestLarge(t *testing.T) {
	many := strings.Replace(string(mustOpen(t, "allreduce/ring")), "ranks = 8", "ranks = 4000", 1)
	s := build(t, &play.Request{Name: "many.mscl", Text: []byte(many)}).Scene
	if s.Collective.Ranks != 8 || len(s.Notes) != 1 || s.Verdict.State != "proven" {
		t.Errorf("4000 ranks are shown as %d: %v", s.Collective.Ranks, s.Notes)
	}
	s = build(t, &play.Request{Name: "many.mscl", Text: []byte(many), Params: lang.Params{"ranks": "4000"}}).Scene
	if s.Verdict.State != "unproven" || len(s.Frames) > 0 || !strings.Contains(strings.Join(s.Notes, ""), "mscclc verify many.mscl") {
		t.Errorf("4000 ranks that are asked for: %s, %v", s.Verdict.Line, s.Notes)
	}
	s = build(t, &play.Request{Name: "many.mscl", Text: []byte(many), Params: lang.Params{"ranks": "100"}}).Scene
	if len(s.Frames) > 0 || !strings.Contains(strings.Join(s.Notes, ""), "too large to be shown") {
		t.Errorf("100 ranks have %d frames: %v", len(s.Frames), s.Notes)
	}
}

func mustOpen(t *testing.T, name string) []byte {
	t.Helper()
	text, err := algorithms.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTexts has texts that are no algorithm.
func TestTexts(t *testing.T) {
	for name, want := range map[string]string{"a.xml": "rejected", "a.json": "rejected", "a.mscl": "rejected"} {
		r := build(t, &play.Request{Name: name, Text: []byte("(")})
		if r.Scene.Verdict.State != want || len(r.Scene.Verdict.Problems) == 0 {
			t.Errorf("%s: %+v", name, r.Scene.Verdict)
		}
		text, err := json.Marshal(r.Scene)
		if err != nil || strings.Contains(strings.ReplaceAll(string(text), `"figures":null`, ""), `s":null`) {
			t.Errorf("%s has lists that are null: %v\n%s", name, err, text)
		}
	}
	library := build(t, &play.Request{Name: "l.mscl", Text: []byte("def f(a) { return a }\n"), Open: algorithms.Open})
	if s := library.Scene; s.Verdict.State != "nothing" || s.Kind != "library" || s.Fault != nil {
		t.Errorf("a library: %+v", s.Verdict)
	}
	stale := catalogRequest(t, "allreduce/ring")
	stale.Stale = func() bool { return true }
	if _, err := play.Build(stale); err != play.ErrStale {
		t.Errorf("a stale scene: %v", err)
	}
}

// TestTrace reads the trace of a run, and what is none.
func TestTrace(t *testing.T) {
	text, err := os.ReadFile("testdata/run.trace.json")
	if err != nil {
		t.Fatal(err)
	}
	line, err := play.ReadTrace("run.json", text)
	if err != nil {
		t.Fatal(err)
	}
	if line.Source != "trace" || len(line.Rows) != 2 || len(line.Spans) == 0 || line.End <= 0 || line.Iterations != 1 {
		t.Errorf("%d rows, %d spans, %d iterations", len(line.Rows), len(line.Spans), line.Iterations)
	}
	begin := 0.
	for _, s := range line.Spans {
		if s.Begin < begin || s.Row >= len(line.Rows) || s.Step >= len(line.Steps) || s.Look >= len(line.Looks) {
			t.Errorf("span %+v", s)
		}
		begin = s.Begin
	}
	for _, bad := range []string{"", "{", "[]", "{}", `{"traceEvents": 7}`} {
		if _, err := play.ReadTrace("bad.json", []byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
