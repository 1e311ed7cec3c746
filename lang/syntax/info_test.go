package syntax

import (
	"os"
	"testing"

	"mscclc/ir/diag"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestInfo(t *testing.T) {
	src := "# One.\n#\n#  Two.\n\n# not this\nalgorithm x(a = 1K, b = a*2 ,c = \"s\")\ncollective allreduce(a)\nprotocol LL\nsizes 1K .. 2*b\ndef f(x) = x\n"
	f, err := Parse("x.mscl", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := Info{
		Name: "x", Doc: "One.\n\n Two.", Collective: "allreduce", Protocol: "LL", Sizes: "1K..2 * b",
		Params: []ParamInfo{{"a", "1K"}, {"b", "a * 2"}, {"c", `"s"`}}, Functions: []string{"f"},
	}
	if d := cmp.Diff(want, f.Info(), cmpopts.IgnoreTypes(diag.Span{})); d != "" {
		t.Error(d)
	}
}

// TestGrammar holds GRAMMAR.ebnf to what the parser is built from.
// MSCCLC_UPDATE=1 writes it.
func TestGrammar(t *testing.T) {
	file, _ := parsers()
	want := file.String() + "\n"
	if os.Getenv("MSCCLC_UPDATE") != "" {
		if err := os.WriteFile("GRAMMAR.ebnf", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("GRAMMAR.ebnf")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("GRAMMAR.ebnf is not the parser's; MSCCLC_UPDATE=1 go test ./lang/syntax writes it:\n%s", d)
	}
}
