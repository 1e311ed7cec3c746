package mscclc_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/text"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"

	"github.com/rogpeppe/go-internal/txtar"
)

// channelPrograms returns the programs of examples/channels with the ranks that they are tried with.
func channelPrograms(t *testing.T) map[string][]lang.Params {
	files, err := filepath.Glob("examples/channels/*.mscl")
	if err != nil || len(files) < 8 {
		t.Fatal("no programs of channels", err)
	}
	all := map[string][]lang.Params{}
	for _, f := range files {
		var ranks []lang.Params
		for _, n := range []string{"2", "3", "4", "8"} {
			ranks = append(ranks, lang.Params{"ranks": n})
		}
		if strings.Contains(f, "hierarchical") {
			ranks = nil
			for _, n := range []string{"2 2", "2 3", "3 2", "2 4", "4 2"} {
				ranks = append(ranks, lang.Params{"nodes": n[:1], "gpus": n[2:]})
			}
		}
		all[f] = ranks
	}
	return all
}

func expandChannels(t *testing.T, name string, text []byte, params lang.Params) *ir.ChannelProgram {
	t.Helper()
	f, err := syntax.Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	x, err := lang.ExpandLevel(f, lang.Options{Params: params})
	if err != nil || x.Channels == nil {
		t.Fatalf("%s %v: %v", name, params, err)
	}
	channels.Synchronise(x.Channels)
	return x.Channels
}

// TestChannelPrograms proves every program, and the plan of MSCCL++ that it makes.
func TestChannelPrograms(t *testing.T) {
	for name, list := range channelPrograms(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, params := range list {
			p := expandChannels(t, name, text, params)
			if _, _, found := channels.Check(p, verify.Options{}); len(found) > 0 {
				t.Fatalf("%s %v: %v", name, params, found)
			}
			f, err := mscclpp.PlanOf(p)
			if err != nil {
				t.Fatalf("%s %v: %v", name, params, err)
			}
			var plan bytes.Buffer
			if err := mscclpp.Write(&plan, f); err != nil {
				t.Fatal(err)
			}
			_, q, err := mscclpp.Read("plan.json", bytes.NewReader(plan.Bytes()), codegen.ReadOptions{})
			if err != nil {
				t.Fatalf("%s %v: %v", name, params, err)
			}
			q.RanksPerNode = p.RanksPerNode // which plans do not say
			if a, b := channelText(t, p), channelText(t, q); a != b {
				t.Fatalf("%s %v: the plan means something else:\n%s\nand not\n%s", name, params, b, a)
			}
		}
	}
}

func channelText(t *testing.T, p *ir.ChannelProgram) string {
	var b bytes.Buffer
	if err := text.WriteChannels(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestWrongChannelPrograms takes out what a program needs, and sees that it is rejected for that.
func TestWrongChannelPrograms(t *testing.T) {
	tests := []struct {
		file, old, new string
		code           diag.Code
	}{
		{"onephase", "launch(double_scratch = true)", "", diag.Race},
		{"twophase", "    peers.wait(tb = 0, relaxed = true)\n", "", diag.Unmatched},
		{"twophase", "    peers.signal(tb = 0, relaxed = true)\n    peers.wait(tb = 0, relaxed = true)\n", "", diag.Race},
		{"twophase", "theirs, tb = 0)", "theirs, tb = 0, sync = false)", diag.Race},
		{"twophase", "    peers.signal(tb = 0)\n    peers.wait(tb = 0)\n", "    peers.wait(tb = 0)\n    peers.signal(tb = 0)\n", diag.Deadlock},
		{"twophase", ", to = theirs", "", diag.WrongResult},
		{"twophase_ll", "    for q in peers { channel(r, q).put(chunk(r, input, q), parts, r, tb = q) }\n", "    for q in peers { channel(r, q) }\n", diag.Unmatched},
		{"twophase_port", "        ports[k].wait(tb = k)\n    }\n    barrier", "    }\n    barrier", diag.Unmatched},
		{"twophase_port", "        ports[k].flush(tb = k)\n", "", diag.Race},
		{"hierarchical", "        ports.flush(tb = 1)\n", "", diag.Race},
		{"twophase_switch", "    peers.signal(tb = 0)\n    peers.wait(tb = 0)\n", "", diag.Race},
		{"hierarchical", "        reduced.acquire(tb = 1)\n", "", diag.Unmatched},
	}
	for _, tt := range tests {
		name := "examples/channels/" + tt.file + ".mscl"
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		wrong := strings.Replace(string(text), tt.old, tt.new, 1)
		if wrong == string(text) {
			t.Fatalf("%s has no %q", name, tt.old)
		}
		var params lang.Params
		if tt.file != "hierarchical" {
			params = lang.Params{"ranks": 3}
		}
		_, _, found := channels.Check(expandChannels(t, name, []byte(wrong), params), verify.Options{})
		if len(found) == 0 || found[0].Code != tt.code {
			t.Errorf("%s without %q: %v, not %s", tt.file, tt.old, found, tt.code)
		} else if tt.code != diag.WrongResult && found[0].Span.Line == 0 || found[0].Span.Line > 0 &&
			found[0].Span.Filename != name {
			t.Errorf("%s without %q: at %v", tt.file, tt.old, found[0].Span)
		}
	}
}

// TestWrongChannels has the programs that MSCCL++'s language takes, and some that are right.
func TestWrongChannels(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/channels.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		first, _, _ := strings.Cut(string(f.Data), "\n")
		want := strings.TrimPrefix(first, "# ")
		_, err := mscclc.Compile(f.Name, f.Data, mscclc.Options{})
		var found diag.List
		switch {
		case err == nil:
			if want != "ok" {
				t.Errorf("%s: proven", f.Name)
			}
		case !errors.As(err, &found) || string(found[0].Code) != want:
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// TestNowhereOnNodes refuses what is not for several nodes: channels, and MSCCL-IR.
func TestNowhereOnNodes(t *testing.T) {
	xml, err := codegen.TargetByName("msccl")
	if err != nil {
		t.Fatal(err)
	}
	two := func(ranks int) ([]int32, error) {
		node := make([]int32, ranks)
		node[ranks-1] = 1
		return node, nil
	}
	for file, c := range map[string]struct {
		target *codegen.Target
		params lang.Params
		want   string
	}{
		"examples/channels/onephase.mscl":     {nil, lang.Params{"ranks": 4}, "programs of channels within one node"},
		"algorithms/allreduce/allpairs.mscl":  {xml, lang.Params{"ranks": 4}, "is MSCCL-IR"},
		"algorithms/allgather/allpairs.mscl":  {nil, lang.Params{"ranks": 4}, "its connections are memory of one node"},
		"algorithms/reducescatter/ring.mscl":  {xml, lang.Params{"ranks": 4}, "is MSCCL-IR"},
		"examples/channels/hierarchical.mscl": {nil, lang.Params{"nodes": 2, "gpus": 2}, "programs of channels within one node"},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = mscclc.Compile(file, text, mscclc.Options{Target: c.target, Nodes: two,
			Lang: lang.Options{Params: c.params, Open: algorithms.Open}})
		var list diag.List
		if !errors.As(err, &list) || list[0].Code != diag.AcrossNodes || !strings.Contains(list[0].Text, c.want) ||
			list[0].Hint == "" {
			t.Errorf("%s: %v", file, err)
		}
	}
}
