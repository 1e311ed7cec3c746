package codegentest

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/either"
)

// Lenient is target without limits, as the executor reads it.
func Lenient(target *codegen.Target) *codegen.Target {
	t := *target
	t.Limits = ir.Limits{Target: "test", ReceiveFused: true}
	t.Inclusive = true
	return &t
}

// Target returns the target of that name. The test fails if there is none.
func Target(t testing.TB, name string) *codegen.Target {
	t.Helper()
	target, err := codegen.TargetByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// ProgramsOnly has cmp.Diff look at programs without their source positions.
var ProgramsOnly = []cmp.Option{cmpopts.IgnoreFields(ir.Header{}, "Spans", "Declaration"),
	cmpopts.IgnoreFields(ir.Step{}, "Pos"), cmpopts.EquateEmpty()}

// Diff is cmp.Diff without its cost for equal programs.
func Diff(want, got *either.Program) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(ir.Header{}, "Declaration"))
}
