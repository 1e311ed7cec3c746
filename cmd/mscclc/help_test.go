package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The examples of every command's help run, in a folder with what they name, but those that need a GPU; sizes are
// smaller here, and of a pipe only the first command is run.
func TestHelpExamples(t *testing.T) {
	folder := t.TempDir()
	for from, to := range map[string]string{"../../algorithms": "algorithms", "../../examples": "examples"} {
		if err := os.CopyFS(filepath.Join(folder, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	ring, err := os.ReadFile("../../algorithms/allreduce/ring.mscl")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := os.ReadFile("../../codegen/testdata/mscclpp/every.json")
	if err != nil {
		t.Fatal(err)
	}
	machine, err := os.ReadFile("../../topology/machines/h200.topo")
	if err != nil {
		t.Fatal(err)
	}
	dump, err := os.ReadFile("../../topology/testdata/hgx4.xml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	t.Setenv("MSCCLC_CACHE", "off")
	for name, text := range map[string][]byte{"ring.mscl": ring, "plan.json": plan, "mine.topo": machine, "mine.xml": dump} {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	root, ran := new(app).command(), 0
	for _, cmd := range append(root.Commands(), root) { // compile, which makes what others read, comes early
		for line := range strings.Lines(cmd.Example) {
			if strings.Contains(line, "--device cuda") || cmd.Name() == "completion" {
				continue
			}
			line, _, _ = strings.Cut(line, "|")
			line, _, _ = strings.Cut(strings.NewReplacer(",64M", ",64K", " 16M", " 256K").Replace(line), "<")
			args := strings.Fields(line)
			if len(args) == 0 || args[0] != "mscclc" {
				t.Fatalf("%q is no example", line)
			}
			var stdout, stderr bytes.Buffer
			code := main1(args[1:], bytes.NewReader(ring), &stdout, &stderr)
			found := cmd.Name() == "lint" && code == exitInput && !strings.Contains(stderr.String(), "error:") // which is what it is for
			if code != exitGood && !found {
				t.Errorf("%s exits with %d:\n%s%s", line, code, stdout.String(), stderr.String())
			}
			ran++
		}
	}
	if ran < 15 {
		t.Errorf("only %d examples ran", ran)
	}
}
