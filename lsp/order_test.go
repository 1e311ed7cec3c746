package lsp

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestOrder sends messages in orders that no editor should.
func TestOrder(t *testing.T) {
	s := newSession(t, nil)
	if _, failure := s.call("textDocument/hover", map[string]any{}); failure == nil || failure.Code != notInitialized {
		t.Errorf("before initialize: %v", failure)
	}
	s.note("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": uri, "text": ring}})
	if _, failure := s.call("initialize", "text"); failure == nil || failure.Code != invalidParams {
		t.Errorf("initialize of a text: %v", failure)
	}
	s.call("initialize", map[string]any{})
	if _, failure := s.call("initialize", map[string]any{}); failure == nil || failure.Code != invalidRequest {
		t.Errorf("initialize again: %v", failure)
	}
	p := map[string]any{"textDocument": map[string]any{"uri": uri}}
	for method, want := range map[string]int{"textDocument/hover": invalidParams, "nothing": methodNotFound} {
		if _, failure := s.call(method, p); failure == nil || failure.Code != want {
			t.Errorf("%s of no document: %v", method, failure)
		}
	}
	for _, raw := range []string{"", "{", "null", "[]", `{"id":1}`, `{"id":[],"method":"shutdown","params":7}`, `{"method":"textDocument/didOpen"}`,
		`{"method":"textDocument/didChange","params":{"textDocument":7}}`, `{"method":"$/cancelRequest","params":[]}`} {
		if s.server.Receive([]byte(raw)) {
			t.Errorf("%s ends the server", raw)
		}
	}
	if _, failure := s.call("shutdown", nil); failure == nil {
		t.Error("a second shutdown is answered") // the first is above
	}
	if !s.server.Receive([]byte(`{"method":"exit"}`)) {
		t.Error("exit ends nothing")
	}
}

// TestStale answers no request about a version that is no longer the newest, nor one that was cancelled.
func TestStale(t *testing.T) {
	s := start(t, nil)
	p := s.open(uri, ring)
	s.server.mu.Lock() // until all three have come, no answer can be made
	go s.server.mu.Unlock()
	first := s.ask("textDocument/codeLens", p)
	s.change(uri, ring+"\n")
	second := s.ask("textDocument/codeLens", p)
	s.server.Wait()
	if f := s.failures[first]; f != nil && f.Code != contentModified {
		t.Errorf("the first fails with %v", f)
	}
	if s.answers[second] == nil {
		t.Errorf("the second fails with %v", s.failures[second])
	}
	d := s.server.docs[uri]
	j := &job{doc: d, cancelled: true}
	if err := s.server.outdated(j); err == nil || err.Code != requestCancelled {
		t.Errorf("a cancelled request: %v", err)
	}
	old := newSnapshot(s.server, uri, 1, nil)
	if err := s.server.outdated(&job{doc: old}); err == nil || err.Code != contentModified {
		t.Errorf("an old version: %v", err)
	}
	if s.server.publish(old, nil); s.published[uri].Version != s.sent[uri] {
		t.Error("an old version is published")
	}
}

// TestLarge opens documents that are too large, or that ask for too much.
func TestLarge(t *testing.T) {
	s := start(t, nil)
	s.open(uri, strings.Repeat("#", maxDocument+1))
	s.idle()
	s.change(uri, strings.Repeat("(", 1<<20))
	s.idle()
	s.change(uri, strings.Repeat("let x = [1 for i in 0..99999]\n", 1<<15))
	s.idle()
	s.change(uri, strings.Replace(ring, "ranks = 4", "ranks = 100000", 1))
	s.idle()
	if got := s.shown(uri); got != "" {
		t.Errorf("a ring of many ranks: %s", got)
	}
	got, _ := s.call("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}})
	if !strings.Contains(string(got), "8 ranks, proven") || !strings.Contains(string(got), "its own are too many") {
		t.Errorf("its lens: %s", got)
	}
	endless := strings.Replace(ring, "0..ranks {", "0..1000000000 { if i >= ranks { let x = 1 } else {", 1) + "}\n"
	s.change(uri, endless)
	s.idle()
	got, _ = s.call("textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": uri}})
	if !strings.Contains(string(got), "too large") || s.faults > 0 {
		t.Errorf("its lens: %s", got)
	}
}

// TestFiles shows what verify says of compiled programs.
func TestFiles(t *testing.T) {
	s := start(t, nil)
	s.open("file:///src/a.xml", "<algo name=\"a\">\n</algo>\n")
	s.open("file:///src/a.json", "{}")
	s.idle()
	if got := s.shown("file:///src/a.xml"); got == "" {
		t.Error("an incomplete program has no problem")
	}
	if got := s.shown("file:///src/a.json"); got != "" {
		t.Errorf("a file of something else: %s", got)
	}
}

// TestImportsFollow checks a file again when a library that it imports changes.
func TestImportsFollow(t *testing.T) {
	s := start(t, nil)
	const lib = "file:///src/lib.mscl"
	s.open(uri, strings.Replace(ring, "\nfor i", "import \"lib.mscl\"\n\nfor i", 1))
	s.idle()
	if got := s.shown(uri); !strings.Contains(got, "import") {
		t.Errorf("without the library: %s", got)
	}
	s.open(lib, "def next(r) = r + 1\n")
	s.idle()
	if got := s.shown(uri); got != "" {
		t.Errorf("with the library: %s", got)
	}
	s.change(lib, "def next(r) = r +\n")
	s.idle()
	if got := s.shown(uri); got == "" {
		t.Error("with a wrong library there is no problem")
	}
	s.note("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": lib}})
	if got := s.shown(lib); got != "" {
		t.Errorf("a closed document: %s", got)
	}
}

// TestStream carries messages, and refuses what is none.
func TestStream(t *testing.T) {
	var in, out bytes.Buffer
	for _, m := range []string{`{"id":1,"method":"initialize","params":{}}`, `{"id":2,"method":"shutdown"}`, `{"method":"exit"}`} {
		fmt.Fprintf(&in, "Content-Type: x\r\ncontent-length: %d\r\n\r\n%s", len(m), m)
	}
	if err := Serve(&in, &out); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(&out)
	for _, want := range []string{"hoverProvider", `"id":2,"result":null`} {
		if m, err := readMessage(r); err != nil || !strings.Contains(string(m), want) {
			t.Errorf("%s, %v lacks %s", m, err, want)
		}
	}
	for text, want := range map[string]error{"": nil, "x\r\n\r\n": errHeader, "Content-Length: -1\r\n\r\n": errHeader,
		"Content-Length: 99999999999999999999\r\n\r\n": errHeader, strings.Repeat("x", 1<<16): errHeader,
		"Content-Length: 10\r\n\r\nabc": nil, "Content-Length: 999999999999\r\n\r\nabc": nil} {
		if err := Serve(strings.NewReader(text), &out); err != want {
			t.Errorf("%.40q: %v, not %v", text, err, want)
		}
	}
}

// TestPositions converts positions in lines with characters of one and of two units, and paths.
func TestPositions(t *testing.T) {
	d := newSnapshot(nil, "", 0, []byte("aé𝔸b\r\n\nc"))
	for p, want := range map[position]int{{0, 0}: 0, {0, 1}: 1, {0, 2}: 3, {0, 4}: 7, {0, 9}: 8, {1, 5}: 10, {2, 1}: 12,
		{9, 9}:  12,
		{-1, 3}: 0, {0, -5}: 0} {
		if got := d.offset(p); got != want {
			t.Errorf("%v is at %d, not %d", p, got, want)
		}
	}
	for i := range len(d.text) + 1 {
		if p := d.position(i); d.offset(p) > i+3 {
			t.Errorf("%d is %v", i, p)
		}
	}
	for uri, path := range map[string]string{"file:///a%20b/c.mscl": "/a b/c.mscl", "file://host/x%zz": "/x%zz", "untitled:1": "untitled:1"} {
		if got := pathOf(uri); got != path {
			t.Errorf("%s is %q", uri, got)
		}
	}
	if got := uriOf("/a b/ü.mscl"); got != "file:///a%20b/%C3%BC.mscl" || pathOf(got) != "/a b/ü.mscl" {
		t.Errorf("the URI is %s", got)
	}
}
