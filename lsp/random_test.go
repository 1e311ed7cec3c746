package lsp

import (
	"encoding/json"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"testing"

	"mscclc/algorithms"
)

// Words that random edits put in.
var scraps = []string{"for ", " in ", "{", "}", "\n", "(", ")", "[", "]", "chunk(", ".copy(", ".reduce(", "ranks", "let x = ",
	"0..", "1", "\"", "#", "=", ",", "def f(a) = ", "é", "𝔸", "\r\n", "\x00", "import \"a.mscl\"\n", "scratch s[ranks]\n",
	"if ", "else ", "collective allreduce(ranks)\n", "99999999999", "-", " && ", "parallelize(2) {", "return ", "\t"}

// methods that random sessions ask.
var asked = []string{"hover", "definition", "references", "prepareRename", "documentSymbol", "formatting", "foldingRange",
	"inlayHint", "codeLens", "codeAction", "completion", "signatureHelp", "rename"}

// randomEdits makes edits of a document that begins as a program of the catalog, with requests between them, and fails
// where the server has a fault or says something of an old version. heap sees the session now and then.
func randomEdits(t *testing.T, edits int, heap func(s *session, edit int)) {
	names := algorithms.Names()
	rnd := rand.New(rand.NewSource(1))
	s := start(t, nil)
	text := ""
	for i := range edits {
		if i%50 == 0 || text == "" { // a new beginning, so that most texts are nearly right
			source, err := algorithms.Open(names[rnd.Intn(len(names))])
			if err != nil {
				t.Fatal(err)
			}
			text = string(source)
			if s.sent[uri] == 0 {
				s.open(uri, text)
			} else {
				s.change(uri, text)
			}
		}
		d := newSnapshot(nil, uri, 0, []byte(text))
		from := rnd.Intn(len(text) + 1)
		c := change{Range: &textRange{d.position(from), d.position(min(len(text), from+rnd.Intn(8)))}}
		if rnd.Intn(3) > 0 {
			c.Text = scraps[rnd.Intn(len(scraps))]
		}
		text = string(d.changed([]change{c}))
		s.sent[uri]++
		s.note("textDocument/didChange", map[string]any{"contentChanges": []change{c},
			"textDocument": map[string]any{"uri": uri, "version": s.sent[uri]}})
		at := d.position(rnd.Intn(len(text) + 1))
		id := s.ask("textDocument/"+asked[rnd.Intn(len(asked))], map[string]any{"newName": "fresh_name", "position": at,
			"textDocument": map[string]any{"uri": uri}, "range": textRange{End: position{Line: 1 << 20}}})
		switch rnd.Intn(8) {
		case 0:
			s.note("$/cancelRequest", map[string]any{"id": s.requests})
		case 1, 2:
			s.settled(id)
		case 3:
			if i%10 == 0 {
				s.idle()
			}
		}
		if i%500 == 0 {
			s.server.Wait()
			s.answers, s.failures = map[string]json.RawMessage{}, map[string]*rpcError{}
		}
		if t.Failed() {
			t.Fatalf("after edit %d of\n%s", i, text)
		}
		if heap != nil && ((i+1)%50 == 0 || i+1 == edits) { // before a new beginning
			heap(s, i+1)
		}
	}
	s.server.Wait()
	s.settled("")
}

// settled waits, and compares what is shown with the newest version.
func (s *session) settled(id string) {
	s.server.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.published[uri].Version; got != s.sent[uri] {
		s.t.Errorf("version %d is shown, and %d is the newest", got, s.sent[uri])
	}
	if f := s.failures[id]; f != nil && f.Code == contentModified {
		s.t.Errorf("the newest version is taken for an old one: %v", f)
	}
	if s.faults > 0 {
		s.t.Errorf("%d faults", s.faults)
	}
}

// TestRandomEdits makes MSCCLC_LSP_EDITS edits, or 1,500. The heap after all is at most a tenth above that after a
// tenth of them, where there are so many that this says something.
func TestRandomEdits(t *testing.T) {
	edits := 1500
	if text := os.Getenv("MSCCLC_LSP_EDITS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		edits = n
	}
	var first, last uint64
	randomEdits(t, edits, func(s *session, edit int) {
		if edit != edits/10 && edit != edits {
			return
		}
		s.change(uri, ring) // the same for both
		s.idle()
		s.answers, s.failures = map[string]json.RawMessage{}, map[string]*rpcError{}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if last = m.HeapAlloc; edit == edits/10 {
			first = last
		}
	})
	t.Logf("%d edits: the heap has %d KiB after a tenth, %d KiB after all", edits, first>>10, last>>10)
	if edits >= 100_000 && last > first+first/10 {
		t.Errorf("the heap grew from %d to %d bytes", first, last)
	}
}
