package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/kernels"
)

// TestPackAgain: what is packed is what the archives have, and packing it again gives equal bytes.
func TestPackAgain(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	index, err := os.ReadFile("../images/index")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(index)) {
		name := strings.Fields(line)[5]
		cut := strings.LastIndex(name, "_gfx")
		if cut < 0 {
			cut = strings.LastIndex(name, "_sm_")
		}
		text, err := kernels.Image(name[:cut], name[cut+1:])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := pack(from, to); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index", "cuda.zst", "amd.zst"} {
		want, err := os.ReadFile(filepath.Join("../images", name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, and packed again %d: %v", name, len(want), len(got), err)
		}
	}
	if err := pack(filepath.Join(from, "none"), to); err == nil {
		t.Error("a folder that does not exist is packed")
	}
}
