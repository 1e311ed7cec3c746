package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"mscclc/internal/covering"
	"mscclc/kernels"
)

// TestPackAgain packs the images of some frames again: the index has the same lines, and frames hold the same bytes.
// How many bytes zstd makes of them depends on its version. By default it takes the fastest level, and for CI that of
// build.sh, which takes 20 times the time.
func TestPackAgain(t *testing.T) {
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("zstd is missing, and only kernels/build.sh needs it")
	}
	if !covering.CI() {
		defer func(level string) { options[0] = level }(options[0])
		options[0] = "-1"
	}
	from, to := t.TempDir(), t.TempDir()
	index, err := os.ReadFile("../images/index")
	if err != nil {
		t.Fatal(err)
	}
	var lines, all []string // of images, without the frame
	for line := range strings.Lines(string(index)) {
		word := strings.Fields(line)
		name := word[5]
		rows := strings.HasPrefix(name, "rows_") && strings.HasSuffix(name, "_sm_80")
		if !strings.Contains("_"+name, "_i8_sm_") && !rows {
			continue
		}
		cut := strings.LastIndex(name, "_sm_")
		text, err := kernels.Image(name[:cut], name[cut+1:])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), text, 0o666); err != nil {
			t.Fatal(err)
		}
		lines, all = append(lines, strings.Join(word[3:], " ")), append(all, string(text))
	}
	if err := pack(from, to); err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(to, "index"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(packed)) {
		if got := strings.Join(strings.Fields(line)[3:], " "); len(lines) == 0 || got != lines[0] {
			t.Fatalf("packed again, the index has %q, and %d lines that it had before are left", got, len(lines))
		}
		lines = lines[1:]
	}
	archive, err := os.Open(filepath.Join(to, "cuda.zst"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	frames, err := zstd.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer frames.Close()
	if got, err := io.ReadAll(frames); err != nil || !bytes.Equal(got, []byte(strings.Join(all, ""))) || len(lines) > 0 {
		t.Errorf("packed again, %d images have %d bytes: %v", len(all), len(got), err)
	}
	if err := pack(filepath.Join(from, "none"), to); err == nil {
		t.Error("a folder that does not exist is packed")
	}
}
