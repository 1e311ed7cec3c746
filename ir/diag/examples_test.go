package diag_test

import (
	"strings"
	"testing"

	"mscclc"
	"mscclc/codegen"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// Each example that is a file is rejected with the code that it explains.
func TestExamplesFail(t *testing.T) {
	files := 0
	for _, code := range diag.Codes() {
		e, _ := diag.Explain(code)
		var err error
		switch {
		case strings.HasPrefix(e.Example, "<algo"):
			p, bad := codegen.ReadMSCCL("example.xml", strings.NewReader(e.Example), codegen.ReadOptions{})
			if err = bad; err == nil {
				_, list := verify.Check(p, verify.Options{})
				err = list.Err()
			}
		case strings.HasPrefix(e.Example, "algorithm"):
			_, err = mscclc.Compile("example.mscl", []byte(e.Example), mscclc.Options{})
		default:
			continue
		}
		files++
		list, _ := err.(diag.List)
		found := false
		for _, d := range list {
			found = found || d.Code == code
		}
		if !found {
			t.Errorf("%s: %v", code, err)
		}
	}
	if files < 20 {
		t.Errorf("only %d examples are files", files)
	}
}
