package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mscclc/topology"
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
	plan, err := os.ReadFile("../../codegen/mscclpp/testdata/every.json")
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

// The topology that the help of topo prints loads as it is printed, of one node and of several, whose GPUs all reach each other.
func TestHelpTopology(t *testing.T) {
	_, text, found := strings.Cut(new(app).topoCommand().Long, "line by line,\n")
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

// times are the times and bandwidths that run prints, which differ each time.
var times = regexp.MustCompile(`\b(time|algbw|busbw) [0-9.]+`)

func untimed(text string) string { return times.ReplaceAllString(text, "$1 N") }

// TestReadme runs what README.md shows, in a folder with examples and testdata alone. Output stands in a fence behind a comment with
// the command, or in a session behind "$ mscclc". A line of it that ends in ... is the beginning of a longer one. Of the
// section on programs that the reader has, all commands run.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, dir := range []string{"examples", "testdata"} {
		if err := os.CopyFS(filepath.Join(folder, dir), os.DirFS("../../"+dir)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	t.Setenv("MSCCLC_CACHE", "off")
	run := func(command string) (string, int) {
		var out bytes.Buffer
		code := main1(strings.Fields(command), strings.NewReader(""), &out, &out)
		return out.String(), code
	}
	for _, m := range regexp.MustCompile("(?s)<!-- ([a-z]+\\.mscl) -->\n```\n(.*?)```\n").FindAllStringSubmatch(string(readme), -1) {
		if err := os.WriteFile(m[1], []byte(m[2]), 0o666); err != nil {
			t.Fatal(err)
		}
		if m[1] == "mine.mscl" {
			broken := strings.Replace(m[2], "ranks / 2 + 1", "ranks / 2", 1)
			if err := os.WriteFile("broken.mscl", []byte(broken), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	fences := regexp.MustCompile("(?s)<!-- mscclc ([^\n]*) -->\n```\n(.*?)```\n").FindAllStringSubmatch(string(readme), -1)
	sessions := regexp.MustCompile(`(?m)^    \$ mscclc (.*)\n((?:    [^$\n].*\n)*)`).FindAllStringSubmatch(string(readme), -1)
	if len(fences) < 1 || len(sessions) < 2 {
		t.Fatalf("%d fences and %d sessions", len(fences), len(sessions))
	}
	for _, m := range slices.Concat(fences, sessions) {
		got, code := run(m[1])
		if code > exitInput || strings.Contains(got, "[io]") {
			t.Errorf("mscclc %s: exit %d\n%s", m[1], code, got)
		}
		lines := strings.Split(untimed(got), "\n")
		for want := range strings.Lines(untimed(m[2])) {
			want = strings.TrimPrefix(strings.TrimSuffix(want, "\n"), "    ")
			begin, cut := strings.CutSuffix(want, "...")
			i := slices.IndexFunc(lines, func(l string) bool { return l == want || cut && strings.HasPrefix(l, begin) })
			if i < 0 {
				t.Errorf("mscclc %s does not print, or not in this order: %s\n%s", m[1], want, got)
				break
			}
			lines = lines[i+1:]
		}
	}
	_, section, _ := strings.Cut(string(readme), "\n## Proving programs that you have\n")
	section, _, _ = strings.Cut(section, "\n## ")
	ran := 0
	for _, m := range regexp.MustCompile(`(?m)^    mscclc (.*)$`).FindAllStringSubmatch(section, -1) {
		if got, code := run(m[1]); code > exitInput || strings.Contains(got, "[io]") {
			t.Errorf("mscclc %s: exit %d\n%s", m[1], code, got)
		}
		ran++
	}
	if ran < 5 {
		t.Errorf("%d commands ran", ran)
	}
}
