package lsp

import (
	"encoding/json"
	"strings"
	"testing"
)

const uri = "file:///src/ring.mscl"

// answer returns what a request at § says, as text.
func answer(t *testing.T, method, text string) string {
	t.Helper()
	s := start(t, nil)
	p := s.open(uri, text)
	s.idle()
	got, failure := s.call(method, p)
	if failure != nil {
		t.Fatalf("%s: %v", method, failure)
	}
	return string(got)
}

// TestRing shows a proven program.
func TestRing(t *testing.T) {
	s := start(t, nil)
	s.open(uri, ring)
	if got := s.shown(uri); got != "" {
		t.Errorf("before the proof: %s", got)
	}
	s.idle()
	if got := s.shown(uri); got != "" {
		t.Errorf("after the proof: %s", got)
	}
}

// TestHover shows what is at a place.
func TestHover(t *testing.T) {
	for _, c := range []struct{ at, want string }{
		{"for §i in", "loop variable i"}, {"for §i in", "Values: 0, 1, 2, 3"}, {"chunk(§i,", "Values: 0, 1, 2, 3"},
		{"0..§ranks {\n", "parameter ranks"}, {"0..§ranks {\n", "Value: 4"},
		{"let §c =", "Values: input[0] of rank 0"},
		{".re§duce(c)", "12 operations of 24"}, {".re§duce(c)", "holds the sum of in[r][0] of ranks 0-1"},
		{".re§duce(c)", "steps of the program"}, {".re§duce(c)", "reduce(other, ...)"}, {"c.co§py(", "rank, buffer, index"},
		{"collective all§reduce", "ranks, chunks, inplace"},
		{"= ch§unk((i", "Values: input[0] of rank 1, input[0] of rank 2"},
	} {
		plain := strings.Replace(c.at, "§", "", 1)
		got := answer(t, "textDocument/hover", strings.Replace(ring, plain, c.at, 1))
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s\nlacks %s", c.at, got, c.want)
		}
	}
}

// TestHoverWrong shows what chunks hold in a program that is wrong.
func TestHoverWrong(t *testing.T) {
	text := strings.Replace(ring, "1..ranks", "2..ranks", 1)
	got := answer(t, "textDocument/hover", strings.Replace(text, ".reduce(c)", ".re§duce(c)", 1))
	if !strings.Contains(got, "8 operations of 20") || !strings.Contains(got, "of ranks 0, 2") {
		t.Errorf("the hover is %s", got)
	}
}

// TestLens says what is known of a program.
func TestLens(t *testing.T) {
	got := answer(t, "textDocument/codeLens", ring)
	for _, want := range []string{"4 ranks, proven, ", " us on h200 at 1 MiB", `"run"`, `"simulate"`, `"play"`, `"line":1,`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

// TestHints shows how often loops run.
func TestHints(t *testing.T) {
	s := start(t, nil)
	p := s.open(uri, ring)
	p["range"] = textRange{End: position{Line: 100}}
	got, _ := s.call("textDocument/inlayHint", p)
	for _, want := range []string{"× 4", "× 12"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

// TestProof shows what the proof finds, with where it comes from.
func TestProof(t *testing.T) {
	s := start(t, nil)
	s.open(uri, strings.Replace(ring, "for step in 1..ranks", "for step in 2..ranks", 1))
	s.idle()
	got := s.shown(uri)
	if !strings.Contains(got, "wrong-result") {
		t.Errorf("the problems are %s", got)
	}
}

// TestActions applies a hint that is certain, and offers none that is not.
func TestActions(t *testing.T) {
	s := start(t, nil)
	wrong := strings.Replace(ring, "0..ranks {", "0..rnaks {", 1)
	p := s.open(uri, wrong)
	p["range"] = textRange{End: position{Line: 100}}
	got, _ := s.call("textDocument/codeAction", p)
	var list []codeAction
	if err := json.Unmarshal(got, &list); err != nil || len(list) != 1 {
		t.Fatalf("the actions are %s", got)
	}
	e := list[0].Edit.Changes[uri]
	if len(e) != 1 || e[0].NewText != "ranks" || e[0].Range.Start != (position{4, 12}) {
		t.Errorf("the edit is %v", e)
	}
	s.change(uri, strings.Replace(wrong, "c.copy", "d.copy", 1))
	if got, _ = s.call("textDocument/codeAction", p); !strings.Contains(string(got), "ranks") {
		t.Errorf("beside another problem, the actions are %s", got)
	}
}

// TestNavigation finds declarations and uses, and renames.
func TestNavigation(t *testing.T) {
	files := map[string]string{"/src/lib.mscl": "def next(r, ranks) = (r + 1) % ranks\n",
		"/src/other.mscl": "import \"lib.mscl\"\ndef twice(r, ranks) = next(next(r, ranks), ranks = ranks)\n"}
	text := strings.Replace(ring, "\nfor i", "import \"lib.mscl\"\n\nfor i", 1)
	text = strings.Replace(text, "(i + step) % ranks, input", "ne§xt(i, ranks), input", 1)
	s := start(t, files)
	p := s.open(uri, text)
	got, _ := s.call("textDocument/definition", p)
	if want := `{"uri":"file:///src/lib.mscl","range":{"start":{"line":0,"character":4}`; !strings.HasPrefix(string(got), want) {
		t.Errorf("the definition is %s", got)
	}
	p["context"] = map[string]any{"includeDeclaration": true}
	if got, _ = s.call("textDocument/references", p); strings.Count(string(got), `"uri"`) != 4 {
		t.Errorf("the references are %s", got)
	}
	p["newName"] = "successor"
	got, failure := s.call("textDocument/rename", p)
	if strings.Count(string(got), "successor") != 4 || strings.Count(string(got), "file:///src/") != 3 {
		t.Errorf("the edits are %s, %v", got, failure)
	}
	for _, bad := range []string{"for", "chunk", "2", "a b", "", "i"} {
		p["newName"] = bad
		if got, failure = s.call("textDocument/rename", p); failure == nil && bad != "i" {
			t.Errorf("%q is a name: %s", bad, got)
		}
	}
}

// TestCapture refuses a name that would change what another stands for.
func TestCapture(t *testing.T) {
	s := start(t, nil)
	p := s.open(uri, strings.Replace(ring, "let c", "let §c", 1))
	p["newName"] = "step"
	if got, failure := s.call("textDocument/rename", p); failure == nil {
		t.Errorf("the edits are %s", got)
	}
	p["newName"] = "ref"
	if got, failure := s.call("textDocument/rename", p); strings.Count(string(got), `"ref"`) != 5 {
		t.Errorf("the edits are %s, %v", got, failure)
	}
}

// TestCompletion offers what may be written.
func TestCompletion(t *testing.T) {
	lib := "def next(r, ranks) = (r + 1) % ranks\n"
	for _, c := range []struct{ text, want, not string }{
		{strings.Replace(ring, "c.copy", "c.§copy", 1), `"copy"`, `"for"`},
		{strings.Replace(ring, "let c = ", "let c = § ", 1), `"ranks"`, `"step"`},
		{strings.Replace(ring, "collective allreduce", "collective §", 1), `"alltoall"`, `"chunk"`},
		{strings.Replace(ring, "(i + step)", "(i + s§)", 1), `"step"`, `"absent"`},
		{ring + "protocol §", `"LL128"`, `"chunk"`},
		{strings.Replace(ring, "ranks, inplace", "ranks, §inplace", 1), `"inplace = "`, `"absent"`},
		{"import \"§", `"lib.mscl"`, `"for"`},
		{"algorithm a(ranks = 2)\n# cop§\n", `[]`, `"for"`},
		{lib + "let v = 1\ndef g(x) { let y = § }\n", `"x"`, `"v"`},
	} {
		s := start(t, map[string]string{"/src/lib.mscl": lib})
		p := s.open(uri, c.text)
		got, _ := s.call("textDocument/completion", p)
		if !strings.Contains(string(got), c.want) || strings.Contains(string(got), c.not) {
			t.Errorf("%s: %s\nlacks %s, or has %s", c.text, got, c.want, c.not)
		}
	}
}

// TestSignature says how a function is called.
func TestSignature(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{strings.Replace(ring, "chunk(i, ", "chunk(i, §", 1), `"activeParameter":1`},
		{strings.Replace(ring, "chunk(i, ", "chunk(i, §", 1), `"rank"`},
		{strings.Replace(ring, "% ranks)", "% ranks, index = §)", 1), `"activeParameter":2`},
		{"def f(a, b = 1) = a\nlet x = f(1, §", `f(a, b = 1)`},
	} {
		if got := answer(t, "textDocument/signatureHelp", c.text); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s\nlacks %s", c.text, got, c.want)
		}
	}
}

// TestOutline lists symbols and blocks, and formats.
func TestOutline(t *testing.T) {
	text := strings.Replace(ring, "\nfor i", "scratch s[2]\n\ndef f(a) = a\n\nfor i", 1)
	got := answer(t, "textDocument/documentSymbol", text)
	for _, want := range []string{`"ring"`, `"ranks"`, `"s"`, `"f(a)"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the symbols %s lack %s", got, want)
		}
	}
	if got = answer(t, "textDocument/foldingRange", ring); got != `[{"startLine":4,"endLine":7}]` {
		t.Errorf("the blocks are %s", got)
	}
	got = answer(t, "textDocument/formatting", strings.Replace(ring, "    let c = ", "  let  c=", 1))
	if !strings.Contains(got, `    let c = chunk(i, input, i)\n`) {
		t.Errorf("the format is %s", got)
	}
}

// TestMachine shows what a machine is.
func TestMachine(t *testing.T) {
	const machine = "file:///src/m.topo"
	text := "topology m(nodes = 1)\ndevice h200\nclass fast§ 1us 400GB/s\nnode {\n gpu 4\n switch s\n link gpu[i] s fast\n}\n"
	s := start(t, nil)
	p := s.open(machine, text)
	for method, want := range map[string]string{"hover": "class fast: 1 us, 400 GB/s", "codeLens": "1 node, 4 GPUs, 8 links",
		"documentSymbol": `"fast"`, "completion": `"link"`} {
		if got, _ := s.call("textDocument/"+method, p); !strings.Contains(string(got), want) {
			t.Errorf("%s: %s lacks %s", method, got, want)
		}
	}
	s.change(machine, strings.Replace(strings.Replace(text, "§", "", 1), "[i] s fast", "[i] s fest", 1))
	s.server.Wait()
	if got := s.shown(machine); !strings.HasPrefix(got, "6:") || !strings.Contains(got, "fest is no class") {
		t.Errorf("the problems are %s", got)
	}
}
