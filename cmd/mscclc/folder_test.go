package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
)

// TestPipeInFolder: a named pipe in a folder is skipped with a note, and not waited for.
func TestPipeInFolder(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.mscl"), 0o600); err != nil {
		t.Skip(err)
	}
	text := "algorithm a()\ncollective allgather(1)\n\nchunk(0, input, 0).copy(0, output, 0)\n"
	if err := os.WriteFile(filepath.Join(dir, "a.mscl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"verify", "fmt", "list"} {
		if code, said := called(command + " " + dir); code != cli.ExitGood ||
			!strings.Contains(said, "note: skipped 1 file that is not a regular file") {
			t.Errorf("%s: exit code %d\n%s", command, code, said)
		}
	}
}
