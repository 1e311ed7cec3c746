package browser

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestSite compares play/site, which packages embed, with what build.sh makes. MSCCLC_UPDATE writes it.
func TestSite(t *testing.T) {
	b := theBench(t)
	for _, name := range siteFiles {
		made, err := os.ReadFile(filepath.Join(b.folder, name))
		if err != nil {
			t.Fatal(err)
		}
		kept := filepath.Join("../site", name)
		if os.Getenv("MSCCLC_UPDATE") != "" {
			if err := os.WriteFile(kept, made, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if old, err := os.ReadFile(kept); err != nil || !bytes.Equal(old, made) {
			t.Errorf("%s is not what build.sh makes (%v): MSCCLC_UPDATE=1 go test ./play/browser -run TestSite", kept, err)
		}
	}
}

// mostPage bounds what a reader fetches beside the engine, in bytes after gzip -9.
const mostPage = 200_000

// TestSize measures what a reader fetches.
func TestSize(t *testing.T) {
	b := theBench(t)
	page := 0
	for _, name := range append([]string{"wasm_exec.js"}, siteFiles...) {
		if name == "player.html" || name == "player.js" || name == "licences.txt" {
			continue // not fetched
		}
		text, err := os.ReadFile(filepath.Join(b.folder, name))
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		page += packed.Len()
	}
	engine, err := os.Stat(filepath.Join(b.folder, "mscclc.wasm.gz"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the page has %d bytes, and with the engine %d", page, page+int(engine.Size()))
	if page > mostPage {
		t.Errorf("the page has %d bytes, and may have %d", page, mostPage)
	}
}
