package diag_test

import (
	"strconv"
	"strings"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// Each example that is a file is rejected with the code that it explains; those
// of programs are judged by ir/verify, and are good but for that. What a
// command with other flags rejects is tried by the command's own tests.
func TestExamplesFail(t *testing.T) {
	files := 0
	for _, code := range diag.Codes() {
		e, _ := diag.Explain(code)
		opt := verify.Options{}
		if _, n, ok := strings.Cut(e.Command, " --limit work="); ok {
			opt.Work, _ = strconv.ParseInt(n, 10, 64)
		}
		var p *ir.Program
		var err error
		switch e.File() {
		case "example.xml":
			p, err = codegen.ReadMSCCL("example.xml", strings.NewReader(e.Example), codegen.ReadOptions{})
		case "example.json":
			p, err = codegen.ReadPlanJSON("example.json", strings.NewReader(e.Example), codegen.ReadOptions{})
		case "example.mscl":
			_, err = mscclc.Compile("example.mscl", []byte(e.Example), mscclc.Options{})
		default:
			continue
		}
		if p != nil {
			_, found := verify.Check(p, opt)
			err = found.Err()
		}
		files++
		list, _ := err.(diag.List)
		if len(list) == 0 {
			t.Errorf("%s: %v", code, err)
		}
		for _, d := range list {
			if d.Code != code && !(code == diag.Uninitialized && d.Code == diag.WrongResult) { // the one comes of the other
				t.Errorf("%s: %v", code, d)
			}
		}
	}
	if files < 20 {
		t.Errorf("only %d examples are files", files)
	}
}

// So is each one-sided example.
func TestOneSidedExamplesFail(t *testing.T) {
	files := 0
	for _, code := range diag.Codes() {
		text := diag.OneSidedExample(code)
		if text == "" {
			continue
		}
		files++
		p, err := codegen.ReadPlanJSON("example.json", strings.NewReader(text), codegen.ReadOptions{})
		if err != nil || p.OneSided == nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		_, found := verify.Check(p, verify.Options{})
		if len(found) == 0 || found[0].Code != code {
			t.Errorf("%s: %v", code, found)
		}
		for _, d := range found {
			if d.Code != code && !(code == diag.Uninitialized && d.Code == diag.WrongResult) {
				t.Errorf("%s: %v", code, d)
			}
		}
	}
	if files < 5 {
		t.Errorf("only %d codes have a one-sided example", files)
	}
}
