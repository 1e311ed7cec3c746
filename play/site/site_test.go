package site

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/play"
)

// TestFiles holds the page's files below the size that a page may have beside the engine.
func TestFiles(t *testing.T) {
	all, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, name := range []string{"index.html", "player.html", "app.js", "app.css", "worker.js", "player.js", "licences.txt"} {
		if len(all[name]) == 0 {
			t.Errorf("there is no %s", name)
		}
		size += len(all[name])
	}
	if size > 700_000 {
		t.Errorf("the page has %d bytes", size)
	}
}

// TestPlayer writes a file with a scene whose text would end the script that holds it.
func TestPlayer(t *testing.T) {
	text := "# </script><script>alert(1)</script>\nalgorithm a(ranks = 2)\ncollective allgather(ranks)\n"
	r, err := play.Build(&play.Request{Name: "a.mscl", Text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	page, err := Player(r.Scene)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(page), "<script>alert") || strings.Contains(string(page), "<!-- mscclc:") {
		t.Error("the page has a script of the text's, or a mark")
	}
	_, after, _ := strings.Cut(string(page), `id="mscclc-scene">`)
	data, _, _ := strings.Cut(after, "</script>")
	var s play.Scene
	if err := json.Unmarshal([]byte(data), &s); err != nil || s.Text != text {
		t.Errorf("the scene is not read back: %v", err)
	}
	for _, other := range []string{"src=\"", "href=\"app"} {
		if strings.Contains(string(page), other) {
			t.Errorf("the file loads others: %s", other)
		}
	}
}

// TestInstalled finds the engine beside a program, and reports other versions.
func TestInstalled(t *testing.T) {
	root := t.TempDir()
	program := filepath.Join(root, "bin", "mscclc")
	if err := os.Mkdir(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if dir, err := Installed(program, "v1"); dir != "" || err != nil {
		t.Errorf("nothing is installed: %s %v", dir, err)
	}
	page := filepath.Join(root, "share", "mscclc", "page")
	if err := WriteEngine(page, "v1", map[string][]byte{Module: []byte("m"), Support: []byte("s")}); err != nil {
		t.Fatal(err)
	}
	dir, err := Installed(program, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := ReadEngine(dir); err != nil || string(all[Module]) != "m" || string(all[Support]) != "s" {
		t.Errorf("%v %v", all, err)
	}
	if _, err := Installed(program, "v2"); !errors.Is(err, ErrOther) {
		t.Errorf("another version: %v", err)
	}
}

// TestBuildEngine builds the engine of this clone.
func TestBuildEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds for WebAssembly")
	}
	t.Setenv("MSCCLC_CACHE", t.TempDir())
	clone := Clone()
	if clone == "" {
		t.Fatal("this test runs in no clone")
	}
	all, err := BuildEngine(clone)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(all[Module]))
	if err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil || string(head) != "\x00asm" {
		t.Errorf("the module begins with %q, %v", head, err)
	}
	if !bytes.Contains(all[Support], []byte("WebAssembly")) {
		t.Error("the support is none of Go's")
	}
}
