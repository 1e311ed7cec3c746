package diag_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/passes"
)

// Each example that is a file is rejected with the code that it explains; those
// of programs are judged by ir/verify, and are good but for that. What a
// command with other flags rejects is tried by the command's own tests.
func TestExamplesFail(t *testing.T) {
	files := 0
	for _, code := range diag.Codes() {
		e, _ := diag.Explain(code)
		if code.Warning() {
			continue
		}
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

// Each example of a warning that is a file is a plan of MSCCL++ that is proven, and warned of with that code alone; all plans with packets
// have another.
func TestExamplesWarn(t *testing.T) {
	files := 0
	for _, code := range diag.Codes() {
		e, _ := diag.Explain(code)
		if !code.Warning() || e.File() == "" {
			continue
		}
		files++
		_, p, err := codegen.ReadMSCCLPP(e.File(), strings.NewReader(e.Example), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		if _, _, found := passes.CheckChannels(p, verify.Options{}); len(found) > 0 {
			t.Errorf("%s: %v", code, found)
		}
		var codes []diag.Code
		for _, d := range codegen.FaultsMSCCLPP(p) {
			if d.Code != diag.MSCCLPPGraph {
				codes = append(codes, d.Code)
			}
		}
		if !slices.Equal(codes, []diag.Code{code}) {
			t.Errorf("%s: %v", code, codes)
		}
	}
	if files < 5 {
		t.Errorf("only %d examples are files", files)
	}
}

// Each one-sided example is rejected with its code.
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
