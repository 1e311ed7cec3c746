package lsp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/ir/diag"
	"mscclc/ir/text"
	"mscclc/lang"
	"mscclc/lang/syntax"
)

// chunksOf returns what a file does, without source positions, or "" where it is a library, or of channels.
func chunksOf(t *testing.T, name string, source []byte) string {
	t.Helper()
	f, err := syntax.Parse(name, source)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, source)
	}
	if lang.IsLibrary(f) {
		return ""
	}
	x, err := lang.ExpandLevel(f, lang.Options{Open: catalogFile})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, source)
	}
	if x.Chunks == nil {
		return ""
	}
	var b bytes.Buffer
	bare := text.BareChunks(x.Chunks)
	bare.Declaration = diag.Span{}
	for i := range bare.Scratch {
		bare.Scratch[i].Name, bare.Scratch[i].Span = fmt.Sprint("s", i), diag.Span{}
	}
	if err := text.WriteChunks(&b, bare); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func catalogFile(path string) ([]byte, error) {
	return algorithms.Open(strings.TrimPrefix(path, "/src/"))
}

// TestRenameCatalog renames each name of each program of the catalog, and compares what the program does.
func TestRenameCatalog(t *testing.T) {
	renamed := 0
	for _, name := range algorithms.Names() {
		source, err := algorithms.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, map[string]string{})
		s.server.opt.Read = catalogFile
		uri := "file:///src/" + name + ".mscl"
		p := s.open(uri, string(source))
		d := s.server.docs[uri]
		want := chunksOf(t, d.path, source)
		for _, x := range d.analysis().names.decls {
			p["position"], p["newName"] = d.position(x.at.Offset), "fresh_name"
			got, failure := s.call("textDocument/rename", p)
			if failure != nil {
				t.Fatalf("%s: %s: %v", name, x.name, failure)
			}
			var edit workspaceEdit
			if err := json.Unmarshal(got, &edit); err != nil {
				t.Fatal(err)
			}
			list := edit.Changes[uri]
			changes := make([]change, len(list))
			for i, e := range slices.Backward(list) {
				changes[len(list)-1-i] = change{&e.Range, e.NewText}
			}
			if got := chunksOf(t, d.path, d.changed(changes)); got != want {
				t.Fatalf("%s: with another name for %s it does something else:\n%s", name, x.name, d.changed(changes))
			}
			renamed++
		}
	}
	if renamed < 300 {
		t.Errorf("only %d names were renamed", renamed)
	}
}
