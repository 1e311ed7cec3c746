package main

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"mscclc/ir"
)

// This file writes names and expressions.

// types are those of numbers and texts.
var types = map[string]string{"byte": "char", "uint8": "u8", "uint32": "u32", "uint64": "u64", "bool": "bool",
	"string": "const char *"}

// others are the names of other packages that rows use.
var others = map[string]string{"data.NumDTypes": "DT_COUNT", "data.NumRedOps": "RED_COUNT",
	"ir.NumProtocols": strconv.Itoa(int(ir.NumProtocols)), "ir.AllReduce": kind(ir.AllReduce),
	"ir.Scatter": kind(ir.Scatter), "ir.Custom": kind(ir.Custom), "ir.Kind": "u32", "choose.HasInPlace": "kind_has_in_place",
	"bits.OnesCount32": "__builtin_popcount", "math.MaxUint64": "~0ull", "nil": "true"}

// prefixes begin the names of constants: a Go prefix becomes one of C++. Other constants of the package are BUNDLE_.
var prefixes = [][2]string{{"When", "RULE_"}, {"when", "RULE_"}, {"section", "SECTION_"}, {"direction", "BUFFER_"},
	{"Form", "IMAGE_"}, {"", "BUNDLE_"}}

// constant returns the C++ name of a constant of package bundle.
func constant(name string) string {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p[0]); ok {
			return p[1] + snake(strings.TrimSuffix(rest, "Row"))
		}
	}
	return name
}

// row returns the C++ name of a struct: RuleRow is bundle_rule.
func row(name string) string { return "bundle_" + function(strings.TrimSuffix(name, "Row")) }

// member returns the C++ name of a field.
func member(name string) string {
	switch name {
	case "Replicas":
		return "replicas"
	case "RedOp", "InPlace", "OutOfPlace":
		return strings.ToLower(name)
	}
	return function(name)
}

// function returns the C++ name of a function of package bundle.
func function(name string) string { return strings.ToLower(snake(name)) }

// source returns the text of a name: X, X.Y or *X.
func source(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return source(e.X)
	case *ast.SelectorExpr:
		return source(e.X) + "." + e.Sel.Name
	}
	return ""
}

// expr writes an expression, and parentheses where C++ reads it otherwise, or warns.
func (w *writer) expr(e ast.Expr) string {
	if name, ok := others[source(e)]; ok {
		return name
	}
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.ParenExpr:
		return "(" + w.expr(e.X) + ")"
	case *ast.UnaryExpr:
		return e.Op.String() + w.expr(e.X)
	case *ast.BinaryExpr:
		return w.operand(e, e.X) + " " + e.Op.String() + " " + w.operand(e, e.Y)
	case *ast.SliceExpr: // a text
		return w.expr(e.X) + ", sizeof " + w.expr(e.X)
	case *ast.Ident:
		if w.locals[e.Name] {
			return e.Name
		}
		return constant(e.Name)
	case *ast.SelectorExpr:
		if source(e.X) == "limits" {
			return "LIMIT_" + snake(e.Sel.Name)
		}
		return w.expr(e.X) + "." + member(e.Sel.Name)
	case *ast.CallExpr:
		return w.call(e)
	}
	return w.refuse(e)
}

// operand writes an operand of a binary expression.
func (w *writer) operand(of *ast.BinaryExpr, e ast.Expr) string {
	in, ok := e.(*ast.BinaryExpr)
	joins := of.Op == token.LAND || of.Op == token.LOR
	if !ok || in.Op == of.Op || joins && in.Op.Precedence() == token.EQL.Precedence() {
		return w.expr(e)
	}
	return "(" + w.expr(e) + ")"
}

// call writes a conversion, or a call of a function or of a method.
func (w *writer) call(e *ast.CallExpr) string {
	var args []string
	for _, a := range e.Args {
		args = append(args, w.expr(a))
	}
	name := source(e.Fun)
	if t, ok := types[name]; ok {
		return "(" + t + ")(" + args[0] + ")"
	} else if name == "text" {
		return w.expr(e.Args[0].(*ast.SliceExpr).X)
	} else if o, ok := others[name]; ok {
		name = o
	} else if m, ok := e.Fun.(*ast.SelectorExpr); ok {
		name, args = function(m.Sel.Name), append([]string{w.expr(m.X)}, args...)
		if of, ok := m.X.(*ast.CallExpr); ok && source(of.Fun) == "ir.Kind" {
			name = "kind_" + name
		}
	} else {
		name = function(name)
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}
