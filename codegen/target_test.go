package codegen

import (
	"io"
	"strings"
	"testing"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/fifo"
)

func TestTargets(t *testing.T) {
	_, err := TargetByName("nccl")
	if list, _ := err.(diag.List); len(list) != 1 || list[0].Hint != "the targets are msccl, rccl, mscclpp, program" {
		t.Errorf("nccl: %v", err)
	}
	own, err := TargetByName("program")
	if err != nil {
		t.Fatal(err)
	}
	p := either.OfFifo(&fifo.Program{Program: ir.Program{
		Header: ir.Header{Coll: &ir.Collective{Kind: ir.AllReduce, Ranks: 3000, Chunks: 1}},
		Rank:   make([]ir.Range, 3000)}, Channels: 3000})
	if found := CheckLimits(p, own); found != nil {
		t.Errorf("program refuses %v", found)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]FileKind{
		"": KindSource, "# a ring\nalgorithm ring()": KindSource, " \n<algo name=\"x\">": KindXML,
		"\xef\xbb\xbf<!-- -->": KindXML,
		"{\"name\": 1}":        KindJSON, "{\"name\": \"x\", \"gpus\": [": KindMSCCLPP, "[{\"gpus\": 1}]": KindJSON,
		"{\"format\":\"mscclc-program\"": KindProgramJSON, ProgramMagic + "\x00\x00": KindProgram, "\x7fELF\x00": KindUnknown,
	} {
		if got := Detect([]byte(text)); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

// TestFileKinds holds that the table has a whole row for each kind, and that a target's files have the kind of their
// ending, or its usual one.
func TestFileKinds(t *testing.T) {
	for k := range FileKinds {
		i := &FileKinds[k]
		if i.Text == "" || (i.Compiled || i.Target != "") && !CompiledName("x"+strings.ToUpper(i.Ending)) {
			t.Errorf("the row of kind %d is %+v", k, *i)
		}
		if i.Target == "" {
			continue
		}
		target, err := TargetByName(i.Target)
		if err != nil {
			t.Fatal(err)
		}
		for _, ending := range []string{i.Ending, ".txt", ""} {
			if got := target.Kind(ending); ending == i.Ending && got != FileKind(k) || FileKinds[got].Target != target.Name {
				t.Errorf("a file of %s that ends in %q is %v, want %v", target.Name, ending, got, FileKind(k))
			}
		}
	}
	if CompiledName("x.mscl") || CompiledName("x") {
		t.Error("a source is named as a compiled program")
	}
	for target, want := range map[string]FileKind{"rccl": KindXML, "program": KindProgram} {
		got, err := TargetByName(target)
		if err != nil {
			t.Fatal(err)
		}
		if kind := got.Kind(".json"); kind != want {
			t.Errorf("%s writes %v into x.json, want %v", target, kind, want)
		}
	}
}

// TestBlanksBefore: what a file holds is found after up to MostBlanks blanks.
func TestBlanksBefore(t *testing.T) {
	for blanks, want := range map[int]FileKind{0: KindMSCCLPP, 600: KindMSCCLPP, MostBlanks - 600: KindMSCCLPP,
		MostBlanks: KindSource} {
		text := strings.Repeat(" \n", blanks/2) + `{"gpus":[]}`
		r := NewHead(strings.NewReader(text))
		head, err := Head(r)
		if got := Detect(head); err != nil || got != want {
			t.Errorf("after %d blanks: %v, %v, want %v", blanks, got, err, want)
		}
		if all, err := io.ReadAll(r); err != nil || string(all) != text {
			t.Errorf("after %d blanks: %d bytes are left, %v", blanks, len(all), err)
		}
	}
}
