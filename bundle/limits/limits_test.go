package limits

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestAll: the table has all constants, once each, in their order.
func TestAll(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "limits.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
			for _, s := range d.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	if len(names) == 0 || len(names) != len(All) {
		t.Fatalf("there are %d constants, and %d rows", len(names), len(All))
	}
	for i, l := range All {
		if l.Name != names[i] || l.Value == 0 || l.Doc == "" {
			t.Errorf("row %d is %v, and constant %d is %s", i, l, i, names[i])
		}
	}
}

// TestPage: docs/bundle.md has the table.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/bundle.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range All {
		digits := fmt.Sprint(l.Value)
		for i := len(digits) - 3; i > 0; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		if row := fmt.Sprintf("| %s | %s |\n", digits, l.Doc); !strings.Contains(string(page), row) {
			t.Errorf("docs/bundle.md lacks the row %s", row)
		}
	}
}
