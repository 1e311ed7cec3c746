package mscclpp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/irtest"
)

// planFiles returns the plans of this repository, and those of MSCCL++'s own language that are there.
func planFiles(t testing.TB) []string {
	files, _ := filepath.Glob(filepath.Join("testdata", "*.json"))
	return append(files, irtest.Files(t, irtest.Plans)...)
}

func readPlanFile(t testing.TB, file string) ([]byte, *Plan, *ir.ChannelProgram) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f, p, err := Read(filepath.Base(file), bytes.NewReader(text), codegen.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return text, f, p
}

// jsonValue decodes JSON with its numbers as they are written, and with lists of access_channel_types in order.
func jsonValue(t testing.TB, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	for _, g := range v["gpus"].([]any) {
		for _, r := range g.(map[string]any)["remote_buffers"].([]any) {
			slices.SortFunc(r.(map[string]any)["access_channel_types"].([]any),
				func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		}
	}
	return v
}

// What is the same plan wherever it stands in a file, and with whatever its file had that MSCCL++ ignores.
var samePlans = cmp.Options{
	cmpopts.IgnoreTypes(Pos{}), cmpopts.IgnoreFields(Plan{}, "Filename", "Ignored"), cmpopts.EquateEmpty(),
}

// What is the same program wherever its operations stood.
var samePrograms = cmp.Options{cmpopts.IgnoreFields(ir.Header{}, "Spans", "Declaration"), cmpopts.EquateEmpty()}

// TestPlansRoundTrip: a plan is written as it was read; and what it means is written as an equal plan, which MSCCL++'s
// own language would have numbered in the same way.
func TestPlansRoundTrip(t *testing.T) {
	for _, file := range planFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, f, p := readPlanFile(t, file)
			var b bytes.Buffer
			if err := Write(&b, f); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(jsonValue(t, text), jsonValue(t, b.Bytes())); diff != "" {
				t.Errorf("read and written: %s", diff)
			}
			t.Logf("the same bytes: %v", bytes.Equal(text, b.Bytes()))
			again, err := PlanOf(p)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(f, again, samePlans); diff != "" {
				t.Errorf("through ir: %s", diff)
			}
			same, err := again.Channels(codegen.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p, same, samePrograms); diff != "" {
				t.Errorf("through ir and back: %s", diff)
			}
		})
	}
}
