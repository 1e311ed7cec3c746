package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// This file writes constants and structs, with their comments.

// prefixes begin the names of constants: a Go prefix becomes one of C++. Other constants of the package are BUNDLE_.
var prefixes = [][2]string{{"When", "RULE_"}, {"when", "RULE_"}, {"section", "SECTION_"}, {"direction", "BUFFER_"},
	{"Form", "IMAGE_"}, {"", "BUNDLE_"}}

// constant returns the C++ name of a constant of package bundle.
func constant(name string) string {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p[0]); ok && rest != "" {
			return p[1] + snake(strings.TrimSuffix(rest, "Row"))
		}
	}
	return name
}

// row returns the C++ name of a struct: RuleRow is bundle_rule.
func row(name string) string {
	return "bundle_" + strings.ToLower(snake(strings.TrimSuffix(name, "Row")))
}

// member returns the C++ name of a field.
func member(name string) string {
	switch name {
	case "Replicas":
		return "columns"
	case "RedOp", "InPlace", "OutOfPlace":
		return strings.ToLower(name)
	}
	return strings.ToLower(snake(name))
}

// note notes what the names of a declaration are in C++, for comments.
func (w *writer) note(d ast.Decl) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			w.names[n.Names[0].Name] = constant(n.Names[0].Name)
		case *ast.TypeSpec:
			w.names[n.Name.Name] = row(n.Name.Name)
		case *ast.Field:
			for _, name := range n.Names {
				w.names[name.Name] = member(name.Name)
			}
		case *ast.FuncDecl:
			w.names[n.Name.Name] = function(n.Name.Name)
			return false
		}
		return true
	})
}

// named finds names in comments: words with a capital letter.
var named = regexp.MustCompile(`\b[a-z]*[A-Z]\w+\b`)

// comment writes a comment, with the names that things have in C++.
func (w *writer) comment(before string, c *ast.CommentGroup, after string) {
	if c == nil {
		w.printf("%s", after)
		return
	}
	for i, line := range c.List {
		text := named.ReplaceAllStringFunc(line.Text, func(name string) string { return cmp.Or(w.names[name], name) })
		if i > 0 {
			before = ""
		}
		w.printf("%s%s\n", before, text)
	}
}

func (w *writer) decl(d ast.Decl) {
	g, ok := d.(*ast.GenDecl)
	switch {
	case !ok:
		w.function(d.(*ast.FuncDecl))
	case g.Tok == token.CONST:
		w.constants(g)
	case g.Tok == token.TYPE:
		w.structure(g.Doc, g.Specs[0].(*ast.TypeSpec))
	}
}

func (w *writer) constants(g *ast.GenDecl) {
	w.printf("\n")
	w.comment("", g.Doc, "")
	if s := g.Specs[0].(*ast.ValueSpec); !g.Lparen.IsValid() {
		w.printf("#define %s %s\n", constant(s.Names[0].Name), s.Values[0].(*ast.BasicLit).Value)
		return
	}
	w.printf("enum {\n")
	for _, s := range g.Specs {
		s := s.(*ast.ValueSpec)
		w.printf("  %s = %s,", constant(s.Names[0].Name), w.expr(s.Values[0]))
		w.comment("  ", s.Comment, "\n")
	}
	w.printf("};\n")
}

// structure writes a struct. Fields without names are pad0, pad1 and so on; blank looks at these.
func (w *writer) structure(doc *ast.CommentGroup, t *ast.TypeSpec) {
	w.printf("\n")
	w.comment("", doc, "")
	w.printf("struct %s {\n", row(t.Name.Name))
	var pads []string
	bytes := 0
	for _, f := range t.Type.(*ast.StructType).Fields.List {
		if _, ok := f.Type.(*ast.SelectorExpr); ok {
			continue // structs.HostLayout
		}
		typ, dims, size := w.typeOf(f.Type)
		var list []string
		for _, n := range f.Names {
			name := member(n.Name)
			if name == "_" {
				name = fmt.Sprintf("pad%d", len(pads))
				pads = append(pads, fmt.Sprintf("blank(&r.%s, sizeof r.%s)", name, name))
			}
			list = append(list, name+dims)
			bytes += size
		}
		w.printf("  %s %s;", typ, strings.Join(list, ", "))
		w.comment("  ", f.Comment, "\n")
	}
	w.printf("};\nABI_SIZE(%s, %d);\n", row(t.Name.Name), bytes)
	if w.padded[row(t.Name.Name)] = pads != nil; pads != nil {
		w.printf("inline bool blank(const %s &r) { return %s; }\n", row(t.Name.Name), strings.Join(pads, " && "))
	}
}
