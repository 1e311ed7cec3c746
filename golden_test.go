package mscclc_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/msccl"
	"mscclc/ir"
	"mscclc/ir/text"
	"mscclc/lang"
	"mscclc/passes/core"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = os.Getenv("MSCCLC_UPDATE") != ""

// stages are the sections of a golden program after in.mscl, each the text of
// one value on its way. A file has those that it is about.
var stages = []string{"chunks", "insts", "insts.opt", "moves", "program", "xml"}

// TestGolden takes each program of testdata/golden through the pipeline and
// compares every stage. The archive's comment says what it is for, and its last
// line the options: target NAME, param NAME=VALUE, instances N, inplace BOOL, sided one. One-sided programs have moves,
// which fuse leaves, in place of insts.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d golden programs (%v); there are more", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, archive)
			if update {
				if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func golden(t *testing.T, archive *txtar.Archive) {
	if len(archive.Files) < 2 || archive.Files[0].Name != "in.mscl" {
		t.Fatal("a golden program begins with in.mscl, and has a stage")
	}
	got, err := walk(archive)
	if err != nil {
		t.Fatal(err)
	}
	for i := range archive.Files[1:] {
		f := &archive.Files[1+i]
		text, known := got[f.Name]
		if !known {
			t.Errorf("%s is no stage; there are %v", f.Name, stages)
		} else if update {
			f.Data = []byte(text)
		} else if diff := cmp.Diff(string(f.Data), text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
}

// walk compiles the program of archive and returns the text of every stage.
func walk(archive *txtar.Archive) (map[string]string, error) {
	opt, err := goldenOptions(string(archive.Comment))
	if err != nil {
		return nil, err
	}
	got := map[string]string{}
	keep := func(name string, write func(*bytes.Buffer) error) error {
		var b bytes.Buffer
		err := write(&b)
		got[name] = b.String()
		return err
	}
	var insts *ir.InstDAG
	opt.Stage = func(value any) error {
		switch v := value.(type) {
		case *ir.ChunkDAG:
			return keep("chunks", func(b *bytes.Buffer) error { return text.WriteChunks(b, v) })
		case *ir.InstDAG:
			insts = v
			return keep("insts", func(b *bytes.Buffer) error { return text.WriteInsts(b, v) })
		}
		return nil
	}
	opt.Core.Dump = func(pass string, s *core.State) error {
		if pass != "fuse" {
			return nil
		}
		return keep("moves", func(b *bytes.Buffer) error { return s.WriteText(b, false) })
	}
	p, err := mscclc.Compile("in.mscl", archive.Files[0].Data, opt)
	if err != nil {
		return nil, err
	}
	if insts != nil {
		err := keep("insts.opt", func(b *bytes.Buffer) error { return text.WriteInsts(b, insts) })
		if err != nil {
			return nil, err
		}
	}
	if err := keep("program", func(b *bytes.Buffer) error { return text.WriteProgram(b, p) }); err != nil {
		return nil, err
	}
	if opt.Target.Format == codegen.FormatXML {
		err = keep("xml", func(b *bytes.Buffer) error { return msccl.Write(b, p, opt.Target) })
	}
	return got, err
}

func goldenOptions(comment string) (opt mscclc.Options, err error) {
	lines := strings.Split(strings.TrimSpace(comment), "\n")
	words := strings.Fields(lines[len(lines)-1])
	opt.Lang.Params = lang.Params{}
	for len(words) >= 2 {
		switch words[0] {
		case "target":
			if opt.Target, err = codegen.TargetByName(words[1]); err != nil {
				return opt, err
			}
		case "param":
			name, value, _ := strings.Cut(words[1], "=")
			opt.Lang.Params[name] = value
		case "instances":
			if _, err := fmt.Sscan(words[1], &opt.Passes.Instances); err != nil {
				return opt, err
			}
		case "inplace":
			opt.Lang.Inplace = new(words[1] == "true")
		case "sided":
			opt.OneSided = words[1] == "one"
		default:
			return opt, fmt.Errorf("%q is no option of a golden program", words[0])
		}
		words = words[2:]
	}
	if opt.Target == nil {
		return opt, fmt.Errorf("the last line of the comment says no target")
	}
	return opt, nil
}

// TestShownStages compares the lines of each stage that a page shows with the golden program that it names: a comment
// such as <!-- FILE: SECTION, 5 lines from "i0 " -->, then a fence with those lines.
func TestShownStages(t *testing.T) {
	for file, stages := range map[string]int{"ARCHITECTURE.md": 4, "docs/inside.md": 6} {
		t.Run(file, func(t *testing.T) { shownStages(t, file, stages) })
	}
}

func shownStages(t *testing.T, file string, stages int) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)<!-- (\\S+\\.txtar): (\\S+), (\\d+) lines from \"([^\"]*)\" -->\n```\n(.*?)```\n")
	matches := shown.FindAllSubmatch(text, -1)
	if len(matches) != stages {
		t.Errorf("%s shows %d stages, want %d", file, len(matches), stages)
	}
	for _, m := range matches {
		want, err := excerpt(string(m[1]), string(m[2]), string(m[3]), string(m[4]))
		if err != nil {
			t.Error(err)
		} else if update {
			text = bytes.Replace(text, m[0], bytes.Replace(m[0], append([]byte("```\n"), m[5]...), []byte("```\n"+want), 1), 1)
		} else if diff := cmp.Diff(want, string(m[5])); diff != "" {
			t.Errorf("%s, section %s (-golden +shown):\n%s", m[1], m[2], diff)
		}
	}
	if update {
		if err := os.WriteFile(file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// excerpt returns count lines of a section, the first of which begins with
// prefix.
func excerpt(file, section, count, prefix string) (string, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return "", err
	}
	for _, f := range archive.Files {
		if f.Name != section {
			continue
		}
		lines := strings.SplitAfter(string(f.Data), "\n")
		first := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
		if first >= 0 && first+n < len(lines) {
			return strings.Join(lines[first:first+n], ""), nil
		}
	}
	return "", fmt.Errorf("%s has no section %s with %s lines from %q", file, section, count, prefix)
}
