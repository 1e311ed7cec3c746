package main

import (
	"go/ast"
	"regexp"
	"strings"
)

// This file writes functions. One that returns an error in Go says why in a Why, and whether there is none.

func (w *writer) function(f *ast.FuncDecl) {
	w.locals = map[string]bool{}
	var params []string
	fields := f.Type.Params.List
	if f.Recv != nil {
		fields = append(f.Recv.List[:1:1], fields...)
	}
	before, of := "", ""
	for _, p := range fields {
		typ := ""
		if star, ok := p.Type.(*ast.StarExpr); !ok {
			typ, _, _ = w.typeOf(p.Type)
			typ += " "
		} else if source(star.X) == "call" { // of the library
			before, typ = "template <class Call>\n", "const Call &"
		} else {
			typ = "const " + row(source(star.X)) + " &"
			of = row(source(star.X))
		}
		for _, n := range p.Names {
			params = append(params, typ+n.Name)
			w.locals[n.Name] = true
		}
	}
	result := source(f.Type.Results.List[0].Type)
	if result == "error" {
		params = append(params, "Why *why")
	}
	typ := map[string]string{"error": "bool ", "bool": "bool ", "string": "const char *"}[result]
	if typ == "" {
		w.refuse(f, "result")
	}
	w.printf("\n")
	w.comment("", f.Doc, "")
	w.printf("%sinline %s%s(%s) {\n", before, typ, function(f.Name.Name), strings.Join(params, ", "))
	if f.Name.Name == "check" && w.padded[of] {
		w.printf("  if (!blank(%s)) return say(why, \"a field that is not used is not 0\"), false;\n", fields[0].Names[0].Name)
	}
	for _, s := range f.Body.List {
		w.statement(s, result == "error")
	}
	w.printf("}\n")
}

func (w *writer) statement(s ast.Stmt, fails bool) {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		if fails {
			w.printf("  return %s;\n", w.judgement(s.Results[0]))
		} else {
			w.printf("  return %s;\n", w.expr(s.Results[0]))
		}
		return
	case *ast.IfStmt: // if err := f(); err != nil { return err }
		if init, ok := s.Init.(*ast.AssignStmt); ok {
			w.printf("  if (!%s) return false;\n", w.judgement(init.Rhs[0]))
			return
		}
	case *ast.SwitchStmt:
		for _, c := range s.Body.List {
			c := c.(*ast.CaseClause)
			if s.Tag != nil || len(c.List) != 1 || len(c.Body) != 1 {
				w.refuse(c, "case")
			}
			w.printf("  if (%s)\n  ", w.expr(c.List[0]))
			w.statement(c.Body[0], fails)
		}
		return
	}
	w.refuse(s, "statement")
}

var verb = regexp.MustCompile(`%[^a-z]*[a-z]`)

// judgement writes an error: nil, a message, or the result of another check.
func (w *writer) judgement(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return "true"
	}
	if source(call.Fun) != "fmt.Errorf" {
		if text, ok := call.Args, len(call.Args) == 1; ok && source(call.Fun) == "checkName" {
			name := w.expr(text[0])
			return "check_name(" + name + ", sizeof " + name + ", why)"
		}
		return strings.TrimSuffix(w.call(call), ")") + ", why)"
	}
	args := call.Args[1:]
	i := -1
	var list strings.Builder
	format := verb.ReplaceAllStringFunc(call.Args[0].(*ast.BasicLit).Value, func(v string) string {
		i++
		arg := w.expr(args[i])
		switch v {
		case "%d", "%#x":
			list.WriteString(", (u64)(" + arg + ")")
			return v[:len(v)-1] + "ll" + map[string]string{"%d": "u", "%#x": "x"}[v]
		case "%v":
			list.WriteString(", kind_name(" + arg + ")")
		case "%s":
			list.WriteString(", " + arg)
		default:
			w.refuse(call, "verb "+v)
		}
		return "%s"
	})
	return "say(why, " + format + list.String() + "), false"
}
