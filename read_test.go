package mscclc_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/codegen/codegentest"
	"mscclc/codegen/msccl"
	"mscclc/codegen/program"
	"mscclc/ir/diag"
	"mscclc/ir/either"
)

// TestReadFile reads a program in each form, whatever its file is called, and refuses what is no compiled program.
func TestReadFile(t *testing.T) {
	folder, p := t.TempDir(), codegentest.Ring(3)
	read := func(text []byte) (*either.Program, error) {
		name := filepath.Join(folder, "program")
		if err := os.WriteFile(name, text, 0o666); err != nil {
			t.Fatal(err)
		}
		return mscclc.ReadFile(name, codegen.ReadOptions{})
	}
	var xml, plan, text bytes.Buffer
	for _, err := range []error{msccl.Write(&xml, p, codegentest.Target(t, "msccl")), program.Write(&plan, p),
		program.WriteJSON(&text, p)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, form := range [][]byte{xml.Bytes(), plan.Bytes(), text.Bytes()} {
		if got, err := read(form); err != nil || got.Name != p.Name || len(got.Steps) != len(p.Steps) {
			t.Errorf("%.20q: %v %v", form, got, err)
		}
	}
	for text, want := range map[string]string{
		"algorithm ring()": "this is mscl source, and not a compiled program",
		"\x7fELF\x00":      "this is binary data, and not a compiled program",
		`{"gpus": []}`:     "this is a plan of MSCCL++, and not a compiled program", "<algo": "",
	} {
		_, err := read([]byte(text))
		if list, is := err.(diag.List); !is || want != "" && list[0].Text != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := mscclc.ReadFile(folder, codegen.ReadOptions{}); err == nil {
		t.Error("a folder is read")
	}
	_, err := mscclc.ReadFile(filepath.Join(folder, "none"), codegen.ReadOptions{})
	if list, is := err.(diag.List); !is || list[0].Code != diag.Io {
		t.Errorf("no file: %v", err)
	}
}

// TestFits: a two-sided program fits targets of XML, and has no form at the level of channels.
func TestFits(t *testing.T) {
	p := codegentest.Ring(4)
	if found := mscclc.Fits(p, codegentest.Target(t, "msccl")); len(found) > 0 {
		t.Error(found)
	}
	to := codegentest.Target(t, "mscclpp")
	if found := mscclc.Fits(p, to); len(found) != 1 || found[0].Code != diag.Unsupported {
		t.Errorf("a two-sided program for mscclpp: %v", found)
	}
	var b bytes.Buffer
	if err := program.Write(&b, p); err != nil {
		t.Fatal(err)
	}
	if _, err := mscclc.ReadProgram(codegen.KindProgram, "x.mprog", &b, codegen.ReadOptions{Target: to}); err == nil {
		t.Error("a two-sided program is read for mscclpp")
	}
}
