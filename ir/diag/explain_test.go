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
		if n := len(slices.DeleteFunc(slices.Clone(codes), func(x Code) bool { return x != c })); n != 1 {
			t.Errorf("%s is explained %d times", c, n)
		}
	}
	if len(codes) != len(declared) {
		t.Errorf("%d codes are declared, %d explained", len(declared), len(codes))
	}
	if _, ok := Explain("nonsense"); ok {
		t.Error("nonsense is explained")
	}
}

// TestExplanationsArePlain: every part is sentences of at most 30 words, and the first sentence fits the list of codes.
func TestExplanationsArePlain(t *testing.T) {
	for _, c := range Codes() {
		e, _ := Explain(c)
		for name, part := range map[string]string{"Means": e.Means, "Why": e.Why, "Fix": e.Fix} {
			if !strings.HasSuffix(part, ".") {
				t.Errorf("%s: %s does not end with a full stop: %q", c, name, part)
			}
			for sentence := range strings.SplitSeq(part, ". ") {
				if n := len(strings.Fields(sentence)); n < 3 || n > 30 {
					t.Errorf("%s: %s has a sentence of %d words: %q", c, name, n, sentence)
				}
			}
		}
		if n := len(e.First()); n > 80 {
			t.Errorf("%s: the first sentence has %d characters: %q", c, n, e.First())
		}
	}
}

// TestExamplesAreUsed: every file in examples belongs to a code, and a code without a command has a reason and no file.
func TestExamplesAreUsed(t *testing.T) {
	used := map[string]bool{}
	for _, c := range Codes() {
		e, _ := Explain(c)
		used[e.File], used[string(c)+".onesided.json"] = true, e.OneSided != ""
		if (e.NoCommand == "") != (len(e.Lines()) > 0) || e.NoCommand != "" && e.Example != "" {
			t.Errorf("%s: %d command lines, reason %q", c, len(e.Lines()), e.NoCommand)
		}
	}
	files, err := examples.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !used[f.Name()] {
			t.Errorf("%s is the example of no code", f.Name())
		}
	}
}
