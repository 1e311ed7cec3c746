package diag_test

import (
	"strings"
	"testing"

	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/passes/channels"
)

// TestExamplesWarn reads the example of each warning that is a plan of MSCCL++. The plan must be right: the warning is
// about the executor, or about speed. Only mscclpp-scratch has a fault that the proof knows too.
func TestExamplesWarn(t *testing.T) {
	files := 0
	for _, code := range diag.Codes() {
		e, _ := diag.Explain(code)
		if !code.Warning() || !strings.HasSuffix(e.File, ".json") || code == diag.MSCCLPPScratch {
			continue
		}
		files++
		_, p, err := mscclpp.Read(e.File, strings.NewReader(e.Example), codegen.ReadOptions{})
		if err != nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		if _, _, found := channels.Check(p, verify.Options{}); len(found) > 0 {
			t.Errorf("%s: %v", code, found)
		}
	}
	if files < 25 {
		t.Errorf("only %d examples are files", files)
	}
}
