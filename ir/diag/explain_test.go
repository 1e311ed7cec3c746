package diag

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every code that codes.go declares is explained, once, with an example.
func TestEveryCodeIsExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []Code
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, v := range spec.Values {
				code, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, Code(code))
			}
		}
		return true
	})
	if len(declared) < 30 {
		t.Fatalf("only %d codes are declared", len(declared))
	}
	codes := Codes()
	for _, c := range declared {
		e, ok := Explain(c)
		if !ok || len(e.Text) < 40 || len(e.Example) < 10 {
			t.Errorf("%s is not explained", c)
		}
		for _, line := range strings.Split(e.Text, "\n") {
			if len(line) > 80 {
				t.Errorf("%s: a line of %d characters", c, len(line))
			}
		}
	}
	slices.Sort(codes)
	if n := len(slices.Compact(codes)); n != len(declared) || n != len(explanations) {
		t.Errorf("%d codes are declared, %d are explained, %d of them once", len(declared), len(explanations), n)
	}
	if _, ok := Explain("nonsense"); ok {
		t.Error("nonsense is explained")
	}
}
