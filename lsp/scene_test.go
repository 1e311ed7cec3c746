package lsp

import (
	"encoding/json"
	"strings"
	"testing"

	"mscclc/play"
)

// startScenes begins a session of a page: only scenes prove.
func startScenes(t *testing.T, files map[string]string) *session {
	s := newSession(t, files)
	s.call("initialize", map[string]any{"initializationOptions": map[string]any{"scenes": true}})
	s.note("initialized", map[string]any{})
	return s
}

// scene asks for the scene of a document.
func (s *session) scene(uri string, more map[string]any) (*play.Scene, *rpcError) {
	params := map[string]any{"textDocument": map[string]any{"uri": uri}}
	for name, value := range more {
		params[name] = value
	}
	raw, failure := s.call("mscclc/scene", params)
	if failure != nil {
		return nil, failure
	}
	var scene play.Scene
	if err := json.Unmarshal(raw, &scene); err != nil {
		s.t.Fatal(err)
	}
	return &scene, nil
}

// TestScene proves a document by its scene, and publishes what that finds.
func TestScene(t *testing.T) {
	const uri = "file:///mine/ring.mscl"
	s := startScenes(t, nil)
	s.open(uri, ring)
	s.server.Wait()
	if len(s.timers) > 0 {
		t.Error("a server of scenes proves by itself")
	}
	scene, failure := s.scene(uri, map[string]any{"params": map[string]string{"ranks": "6"}, "machine": "dgx_h100", "sided": "one",
		"bytes": 1 << 16, "dtype": "f16", "protocol": "LL"})
	if failure != nil {
		t.Fatal(failure)
	}
	if scene.Name != "mine/ring.mscl" || scene.Verdict.State != "proven" || scene.Collective.Ranks != 6 ||
		scene.Machine.Name != "dgx_h100" || scene.Sided != "one" || scene.Protocol != "LL" || scene.Figures.Bytes != 1<<16 {
		t.Errorf("%s of %d ranks on %s, %s-sided, %s: %s", scene.Name, scene.Collective.Ranks, scene.Machine.Name, scene.Sided,
			scene.Protocol, scene.Verdict.Line)
	}
	s.change(uri, strings.Replace(ring, "chunk(i, input, i)", "chunk(i, input, i + 1)", 1))
	s.server.Wait()
	if scene, _ = s.scene(uri, nil); scene.Verdict.State != "rejected" || len(scene.Verdict.Problems) == 0 {
		t.Errorf("a wrong program: %s", scene.Verdict.Line)
	}
	s.mu.Lock()
	found := len(s.published[uri].Diagnostics)
	s.mu.Unlock()
	if found != len(scene.Verdict.Problems) {
		t.Errorf("%d problems are published, of %d", found, len(scene.Verdict.Problems))
	}
	for what, more := range map[string]map[string]any{"protocol": {"protocol": "LL7"}, "type": {"dtype": "f7"},
		"sided": {"sided": "three"}, "lanes are of": {"lanes": 2, "sided": "two"}, "lanes are from": {"lanes": 1000}} {
		if _, failure := s.scene(uri, more); failure == nil || !strings.Contains(failure.Message, what) {
			t.Errorf("%v: %v", more, failure)
		}
	}
	s.open("file:///m.topo", "topology m\n")
	if _, failure := s.scene("file:///m.topo", nil); failure == nil {
		t.Error("a machine has a scene")
	}
}

// TestSceneImports has documents that import others that are open, and of a server without files those of the catalog.
func TestSceneImports(t *testing.T) {
	s := startScenes(t, nil)
	s.server.opt.Read = nil
	s.open("file:///own/lib.mscl", "def to(r, q) { chunk(r, input, 0).copy(q, output, r) }\n")
	s.open("file:///own/user.mscl",
		"algorithm user(ranks = 3)\ncollective allgather(ranks)\nimport \"lib.mscl\"\nfor r in 0..ranks, q in 0..ranks { to(r, q) }\n")
	if scene, failure := s.scene("file:///own/user.mscl", nil); failure != nil || scene.Verdict.State != "proven" {
		t.Errorf("an own import: %v %+v", failure, scene)
	}
	raw, failure := s.call("mscclc/catalog", map[string]any{"name": "allreduce/hierarchical"})
	var text struct{ Text string }
	if failure != nil || json.Unmarshal(raw, &text) != nil {
		t.Fatal(failure)
	}
	s.open("file:///allreduce/hierarchical.mscl", text.Text)
	scene, failure := s.scene("file:///allreduce/hierarchical.mscl", map[string]any{"machine": "dgx_h100:nodes=2"})
	if failure != nil || scene.Verdict.State != "proven" || scene.Collective.Nodes != 2 {
		t.Errorf("a program of the catalog: %v", failure)
	}
}

// TestCatalogRequest lists the catalog, and reads traces.
func TestCatalogRequest(t *testing.T) {
	s := start(t, nil)
	raw, failure := s.call("mscclc/catalog", map[string]any{})
	var c play.Catalog
	if failure != nil || json.Unmarshal(raw, &c) != nil || len(c.Programs) != len(c.Names) || len(c.Machines) < 5 ||
		len(c.Protocols) != 4 || len(c.DTypes) < 5 {
		t.Fatalf("%v: %s", failure, raw)
	}
	for _, m := range c.Machines {
		if m.GPUs == 0 || m.Doc == "" {
			t.Errorf("machine %+v", m)
		}
	}
	raw, failure = s.call("mscclc/catalog", map[string]any{"machine": "h200"})
	if failure != nil || !strings.Contains(string(raw), "topology h200") {
		t.Errorf("a machine: %v %s", failure, raw)
	}
	for _, p := range []map[string]any{{"machine": "nosuch"}, {"name": "allreduce/nosuch"}} {
		if _, failure = s.call("mscclc/catalog", p); failure == nil {
			t.Errorf("%v is there", p)
		}
	}
	raw, failure = s.call("mscclc/trace", map[string]any{"name": "a.json", "text": `{"traceEvents":[{"name":"copy","ph":"X","dur":2}]}`})
	if failure != nil || !strings.Contains(string(raw), `"length_us":2`) {
		t.Errorf("a trace: %v %s", failure, raw)
	}
	if _, failure = s.call("mscclc/trace", map[string]any{"name": "a.json", "text": "{}"}); failure == nil {
		t.Error("what is no trace is read")
	}
}
