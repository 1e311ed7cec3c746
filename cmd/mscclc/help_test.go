package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/internal/covering"
	"mscclc/topology"
)

// smallerExamples have examples of help take less time: sizes are smaller, and but for CI numbers of ranks.
func smallerExamples() *strings.Replacer {
	smaller := []string{",64M", ",64K", " 16M", " 256K"}
	if !covering.CI() {
		smaller = append(smaller, "2-17,64", "2-5,16", "ndv4:nodes=2", "h200:nodes=2,gpus=2")
	}
	return strings.NewReplacer(smaller...)
}

// The examples of every command's help run, in a folder with what they name, but those that need a GPU; they are
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
	plan, err := os.ReadFile("../../codegen/mscclpp/testdata/every.json")
	if err != nil {
		t.Fatal(err)
	}
	machine, err := os.ReadFile("../../topology/machines/h200.topo")
	if err != nil {
		t.Fatal(err)
	}
	dump, err := os.ReadFile("../../topology/nccl/testdata/hgx4.xml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	t.Setenv("MSCCLC_CACHE", "off")
	for name, text := range map[string][]byte{"ring.mscl": ring, "plan.json": plan, "mine.topo": machine,
		"mine.xml": dump, "h200.rules": []byte(`{"version": 1, "device": "NVIDIA H200", "rules": []}`)} {
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("calls", 0o700); err != nil {
		t.Fatal(err)
	}
	for rank := range 2 {
		if err := os.WriteFile(fmt.Sprintf("calls/mscclc-a-%d.calls.json", rank), []byte(lastCalls(rank, "f32")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	root, smaller, ran := rootCommand(silent()), smallerExamples(), 0
	for _, cmd := range append(root.Commands(), root) { // compile, which makes what others read, comes early
		for line := range strings.Lines(cmd.Example) {
			if strings.Contains(line, "--device cuda") || strings.Contains(line, " -- ") || cmd.Name() == "completion" ||
				cmd.Name() == "tune" { // which needs GPUs
				continue
			}
			if cmd.Name() == "play" && !strings.Contains(line, " -o ") {
				continue // it serves until it is interrupted
			}
			line, _, _ = strings.Cut(line, "|")
			line, _, _ = strings.Cut(smaller.Replace(line), "<")
			args := words(strings.ReplaceAll(line, "'", ""))
			if len(args) == 0 || args[0] != "mscclc" {
				t.Fatalf("%q is no example", line)
			}
			var stdout, stderr bytes.Buffer
			code := main1(args[1:], bytes.NewReader(ring), &stdout, &stderr)
			// which is what it is for
			found := cmd.Name() == "lint" && code == cli.ExitInput && !strings.Contains(stderr.String(), "error:")
			if code != cli.ExitGood && !found {
				t.Errorf("%s exits with %d:\n%s%s", line, code, stdout.String(), stderr.String())
			}
			ran++
		}
	}
	if ran < 15 {
		t.Errorf("only %d examples ran", ran)
	}
}

// The topology that the help of topo prints loads as it is printed, of one node and of several, whose GPUs all reach
// each other.
func TestHelpTopology(t *testing.T) {
	_, text, found := strings.Cut(topoCommand(silent()).Long, "line by line,\n")
	if !found {
		t.Fatal("the help has no topology")
	}
	for _, nodes := range []int{1, 4, 9} {
		m, err := topology.Read("help.topo", strings.NewReader(text), map[string]int{"nodes": nodes})
		if err != nil {
			t.Fatalf("%d nodes: %v", nodes, err)
		}
		way := topology.NewRouter(m).Route(nil, 0, m.Ranks()-1)
		if len(way) == 0 || m.Ranks() != 8*nodes {
			t.Errorf("%d nodes: %d ranks, and from the first to the last by %d links", nodes, m.Ranks(), len(way))
		}
	}
}
