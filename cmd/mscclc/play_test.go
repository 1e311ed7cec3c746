package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc/algorithms"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/data"
	"mscclc/play"
)

// TestPlayVerdicts compares what the page says of broken programs, and of good ones, with what mscclc verify prints.
func TestPlayVerdicts(t *testing.T) {
	files, err := filepath.Glob("../../play/testdata/broken/*")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	files = append(files, "../../testdata/own/msccl-xml/allpairs_ll.xml", "../../testdata/own/mscclpp-plans/allpairs_ll.json",
		"../../examples/channels/twophase.mscl", "../../examples/shift.mscl", "../../ir/diag/examples/mscclpp-halves.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		main1([]string{"verify", file}, strings.NewReader(""), &stdout, &stderr)
		r, err := play.Build(&play.Request{Name: file, Text: text, OneSided: true})
		if err != nil {
			t.Fatal(err)
		}
		v := &r.Scene.Verdict
		said := ""
		for line := range strings.Lines(stderr.String()) {
			if !strings.HasPrefix(line, file+": note: ") { // which the command adds
				said += line
			}
		}
		if v.Line+"\n" != stdout.String() || v.Text != said {
			t.Errorf("of %s the page says\n%s\n%s\nand verify\n%s%s", file, v.Line, v.Text, &stdout, said)
		}
	}
}

// TestShowHTML writes pages of a good program and of a wrong one.
func TestShowHTML(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"show allreduce/ring -p ranks=4 --html ring.html", cli.ExitGood, "ring.html: a page of 24 operations and 6 frames"},
		{"show allreduce/hierarchical --html two.html", cli.ExitGood, "two.html: a page of "},
		{"show wrong.mscl --html wrong.html", cli.ExitInput, "[wrong-result]"},
		{"show allreduce/ring --html ring.txt", cli.ExitUsage, "ends in .html"},
		{"show allreduce/ring svg --html ring.html", cli.ExitUsage, "no stage"},
		{"show allreduce/ring -t h200", cli.ExitUsage, "give --html"},
		{"show allreduce/ring --html no.html -t nosuch", cli.ExitInput, `"nosuch" is neither a machine`},
		{"show allreduce/ring --html no.html -t bad.topo", cli.ExitInput, "bad.topo:1"},
		{"show allreduce/ring --html ring.html --instances 2", cli.ExitUsage, "changes nothing"},
		{"play --port 70000", cli.ExitUsage, "--port takes"},
		{"play -", cli.ExitUsage, "standard input"},
		{"play -p ranks=4", cli.ExitUsage, "give one"},
	} {
		wrong := "algorithm wrong(ranks = 2)\ncollective allgather(ranks)\nchunk(0, input, 0).copy(0, output, 0)\n"
		if err := os.WriteFile("wrong.mscl", []byte(wrong), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("bad.topo", []byte("what\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := main1(strings.Fields(c.args), strings.NewReader(""), &stdout, &stderr)
		if code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: exit code %d, and\n%s%s\nwithout %s", c.args, code, &stdout, &stderr, c.says)
		}
	}
	if _, err := os.Stat("no.html"); err == nil {
		t.Error("a page is written for a machine that is none")
	}
	for file, want := range map[string]string{"ring.html": `"state":"proven"`, "wrong.html": `"kind":"wrong-result"`,
		"two.html": `"name":"dgx_h100"`} {
		page, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(page, []byte(want)) {
			t.Errorf("%s lacks %s: %v", file, want, err)
		}
	}
}

// TestPlayFigures compares what a scene says of a call with what mscclc simulate does.
func TestPlayFigures(t *testing.T) {
	for _, c := range []struct {
		name, machine string
		oneSided      bool
	}{{"allreduce/ring", "h200", false}, {"allreduce/allpairs", "h200", true}, {"allgather/ring", "dgx1v", true},
		{"allreduce/hierarchical", "dgx_h100:nodes=2", true}} {
		sided := "two"
		if c.oneSided {
			sided = "one"
		}
		var stdout, stderr bytes.Buffer
		main1([]string{"simulate", c.name, "-t", c.machine, "-b", "1M", "-e", "1M", "--dtype", "f32", "--sided", sided, "--json"},
			strings.NewReader(""), &stdout, &stderr)
		var doc struct {
			Sizes []struct {
				Latency float64 `json:"latency_us"`
				BusBW   float64 `json:"busbw"`
				Share   float64 `json:"of_bound"`
				Link    string  `json:"link"`
			} `json:"sizes"`
		}
		if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || len(doc.Sizes) != 1 {
			t.Fatalf("%s: %v\n%s%s", c.name, err, &stdout, &stderr)
		}
		text, err := algorithms.Open(c.name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := play.Build(&play.Request{Name: c.name + ".mscl", Text: text, Open: algorithms.Open, Machine: c.machine,
			OneSided: c.oneSided, DType: data.F32})
		if err != nil {
			t.Fatal(err)
		}
		f, want := r.Scene.Figures, doc.Sizes[0]
		if f == nil || f.Latency != want.Latency || f.BusBW != want.BusBW || f.Share == nil || *f.Share != want.Share ||
			f.LinkName != want.Link {
			t.Errorf("%s on %s: the scene has %+v, and simulate %+v", c.name, c.machine, f, want)
		}
	}
}
