package mscclc_test

import (
	"cmp"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// firstPackages are those that a user of the library calls first. Each has an example, of at most that number of lines.
var firstPackages = []string{".", "codegen/msccl", "executor", "algorithms", "algorithms/choose", "simulate"}

const exampleLines = 15

func TestExamplesAreShort(t *testing.T) {
	for _, folder := range firstPackages {
		files := token.NewFileSet()
		text, err := parser.ParseFile(files, filepath.Join(folder, "example_test.go"), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		lines := linesOf(files, text)
		examples := doc.Examples(text)
		if len(examples) == 0 {
			t.Errorf("%s has no example", folder)
		}
		for _, e := range examples {
			if n := lines["Example"+e.Name]; n < 3 || n > exampleLines {
				t.Errorf("%s: Example%s has %d lines, and must have at most %d", folder, e.Name, n, exampleLines)
			}
			if e.Output == "" {
				t.Errorf("%s: Example%s has no output", folder, e.Name)
			}
		}
	}
}

// linesOf counts the lines of each function's statements, by its name.
func linesOf(files *token.FileSet, f *ast.File) map[string]int {
	lines := map[string]int{}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			first, last := fn.Body.List[0], fn.Body.List[len(fn.Body.List)-1]
			lines[fn.Name.Name] = files.Position(last.End()).Line - files.Position(first.Pos()).Line + 1
		}
	}
	return lines
}

// What the documentation of a package names, that package or the other one has.
func TestDocumentationNamesWhatExists(t *testing.T) {
	named := regexp.MustCompile(
		`\b(algorithms|codegen|executor|choose|simulate|lang|diag|verify|topology|mscclc)\.([A-Z]\w+)|\[([A-Z]\w+)\]`)
	folders := map[string]string{"choose": "algorithms/choose", "diag": "ir/diag", "verify": "ir/verify", "mscclc": "."}
	for _, folder := range append(firstPackages, "lang", "topology") {
		found := named.FindAllStringSubmatch(packageOf(t, folder).Doc, -1)
		for _, m := range found {
			in, name := folder, m[2]+m[3]
			if m[1] != "" {
				in = cmp.Or(folders[m[1]], m[1])
			}
			if !declares(packageOf(t, in), name) {
				t.Errorf("%s: its documentation names %s, which %s has not", folder, name, in)
			}
		}
		if len(found) < 2 {
			t.Errorf("%s: its documentation names %d things", folder, len(found))
		}
	}
}

// packageOf returns the documentation of the package in a folder.
func packageOf(t *testing.T, folder string) *doc.Package {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files, list := token.NewFileSet(), []*ast.File(nil)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, f)
	}
	p, err := doc.NewFromFiles(files, list, folder)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// declares reports whether p has a function, a type, a variable or a constant of some name.
func declares(p *doc.Package, name string) bool {
	funcs, values := slices.Clone(p.Funcs), slices.Concat(p.Vars, p.Consts)
	for _, t := range p.Types {
		funcs, values = append(funcs, t.Funcs...), slices.Concat(values, t.Vars, t.Consts)
		if t.Name == name {
			return true
		}
	}
	return slices.ContainsFunc(funcs, func(f *doc.Func) bool { return f.Name == name }) ||
		slices.ContainsFunc(values, func(v *doc.Value) bool { return slices.Contains(v.Names, name) })
}
