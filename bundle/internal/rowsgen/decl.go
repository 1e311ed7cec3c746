package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
)

// This file writes declarations and statements.

func (w *writer) comment(c *ast.CommentGroup) {
	if c != nil {
		for _, line := range c.List {
			w.printf("%s\n", line.Text)
		}
	}
}

func (w *writer) declaration(d ast.Decl) {
	if f, ok := d.(*ast.FuncDecl); ok {
		w.function(f)
		return
	}
	g := d.(*ast.GenDecl)
	if g.Tok == token.IMPORT {
		return
	}
	w.printf("\n")
	w.comment(g.Doc)
	switch s := g.Specs[0].(type) {
	case *ast.TypeSpec:
		w.structure(row(s.Name.Name), s.Type.(*ast.StructType))
	case *ast.ValueSpec:
		if !g.Lparen.IsValid() {
			w.printf("#define %s %s\n", constant(s.Names[0].Name), s.Values[0].(*ast.BasicLit).Value)
			return
		}
		w.printf("enum {\n")
		for _, s := range g.Specs {
			s := s.(*ast.ValueSpec)
			w.printf("  %s = %s,", constant(s.Names[0].Name), w.expr(s.Values[0]))
			w.aside(s.Comment)
		}
		w.printf("};\n")
	}
}

// aside ends a line, with its comment.
func (w *writer) aside(c *ast.CommentGroup) {
	if c != nil {
		w.printf("  %s", c.List[0].Text)
	}
	w.printf("\n")
}

// structure writes a struct. Fields that are not used are pad0, pad1 and so on; blank looks at these.
func (w *writer) structure(name string, s *ast.StructType) {
	w.printf("struct %s {\n", name)
	blank := "true"
	for _, f := range s.Fields.List[1:] { // after structs.HostLayout
		typ, dims := f.Type, ""
		if a, ok := typ.(*ast.ArrayType); ok {
			typ, dims = a.Elt, "["+w.expr(a.Len)+"]"
		}
		var list []string
		for _, n := range f.Names {
			field := member(n.Name)
			if field == "_" {
				field = fmt.Sprint("pad", strings.Count(blank, "&&"))
				blank += fmt.Sprintf(" && blank(&r.%s, sizeof r.%s)", field, field)
			}
			list = append(list, field+dims)
		}
		w.printf("  %s %s;", types[source(typ)], strings.Join(list, ", "))
		w.aside(f.Comment)
	}
	w.printf("};\n")
	if w.padded[name] = blank != "true"; w.padded[name] {
		w.printf("inline bool blank(const %s &r) { return %s; }\n", name, strings.TrimPrefix(blank, "true && "))
	}
}

// function writes a function. One that returns an error in Go says why in a Why, and returns whether there is none.
func (w *writer) function(f *ast.FuncDecl) {
	w.locals = map[string]bool{}
	fields, template, first := f.Type.Params.List, "", ""
	if f.Recv != nil {
		fields = append(f.Recv.List[:1:1], fields...)
		first = row(source(fields[0].Type))
	}
	var params []string
	for _, p := range fields {
		typ := types[source(p.Type)] + " "
		if source(p.Type) == "call" { // the library's has other fields besides
			template, typ = "template <class Call>\n", "const Call &"
		} else if _, ok := p.Type.(*ast.StarExpr); ok {
			typ = "const " + row(source(p.Type)) + " &"
		}
		for _, n := range p.Names {
			params = append(params, typ+n.Name)
			w.locals[n.Name] = true
		}
	}
	result := source(f.Type.Results.List[0].Type)
	if result == "error" {
		params, result = append(params, "Why *why"), "bool"
	}
	w.printf("\n")
	w.comment(f.Doc)
	w.printf("%sinline %s %s(%s) {\n", template, types[result], function(f.Name.Name), strings.Join(params, ", "))
	if f.Name.Name == "check" && w.padded[first] {
		w.printf("  if (!blank(%s)) return say(why, \"a field that is not used is not 0\"), false;\n",
			fields[0].Names[0].Name)
	}
	for _, s := range f.Body.List {
		w.statement(s)
	}
	w.printf("}\n")
}

func (w *writer) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		w.printf("  return %s;\n", w.result(s.Results[0]))
	case *ast.IfStmt: // if err := check(); err != nil { return err }
		w.printf("  if (!%s) return false;\n", w.result(s.Init.(*ast.AssignStmt).Rhs[0]))
	case *ast.SwitchStmt:
		for _, c := range s.Body.List {
			w.printf("  if (%s)\n  ", w.expr(c.(*ast.CaseClause).List[0]))
			w.statement(c.(*ast.CaseClause).Body[0])
		}
	default:
		w.refuse(s)
	}
}

var verb = regexp.MustCompile(`%#?[a-z]`)

// result writes what a function returns: a message is said.
func (w *writer) result(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok || source(call.Fun) != "fmt.Errorf" {
		if text := w.expr(e); !ok || !strings.HasPrefix(text, "check") {
			return text
		} else {
			return strings.TrimSuffix(text, ")") + ", why)"
		}
	}
	args, list := call.Args[1:], ""
	format := verb.ReplaceAllStringFunc(call.Args[0].(*ast.BasicLit).Value, func(v string) string {
		c, ok := map[string][2]string{"%d": {"%llu", "(u64)"}, "%#x": {"%#llx", "(u64)"}, "%s": {"%s", ""},
			"%v": {"%s", "kind_name"}}[v]
		if !ok {
			w.refuse(call)
		}
		list += ", " + c[1] + "(" + w.expr(args[0]) + ")"
		args = args[1:]
		return c[0]
	})
	return "say(why, " + format + list + "), false"
}
