package main

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"mscclc/bundle/limits"
	"mscclc/executor/data"
	"mscclc/ir"
)

// This file writes expressions.

// others are the names of other packages that rows use.
var others = map[string]string{"data.NumDTypes": "DT_COUNT", "data.NumRedOps": "RED_COUNT",
	"ir.NumProtocols": "PROTO_COUNT", "ir.AllReduce": kindConstant(ir.AllReduce), "ir.Scatter": kindConstant(ir.Scatter),
	"ir.Custom": kindConstant(ir.Custom), "choose.HasInPlace": "kind_has_in_place", "bits.OnesCount32": "__builtin_popcount",
	"math.MaxUint64": "~0ull"}

func kindConstant(k ir.Kind) string { return "KIND_" + strings.ToUpper(k.String()) }

// types are those of numbers, with their bytes. A byte is part of a text.
var types = map[string]struct {
	name string
	size int
}{"byte": {"char", 1}, "uint8": {"u8", 1}, "uint32": {"u32", 4}, "uint64": {"u64", 8}, "bool": {"bool", 1}}

// typeOf returns the type of a field, what follows its name, and its bytes.
func (w *writer) typeOf(e ast.Expr) (name, dims string, size int) {
	n := 1
	if a, ok := e.(*ast.ArrayType); ok {
		if n = length(source(a.Len)); n == 0 {
			w.refuse(a, "array")
		}
		e, dims = a.Elt, "["+w.expr(a.Len)+"]"
	}
	t, ok := types[source(e)]
	if !ok {
		w.refuse(e, "type")
	}
	return t.name, dims, n * t.size
}

// length returns the number of elements of an array.
func length(text string) int {
	switch text {
	case "data.NumDTypes":
		return int(data.NumDTypes)
	case "limits.Ranks":
		return limits.Ranks
	}
	n, _ := strconv.Atoi(text)
	return n
}

// expr writes an expression, and parentheses where C++ reads it otherwise, or warns.
func (w *writer) expr(e ast.Expr) string {
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
		return w.expr(e.X)
	case *ast.Ident:
		if w.locals[e.Name] {
			return e.Name
		}
		return constant(e.Name)
	case *ast.SelectorExpr:
		of := source(e.X)
		if w.locals[of] {
			return of + "." + member(e.Sel.Name)
		}
		if of == "limits" {
			return "LIMIT_" + snake(e.Sel.Name)
		}
		if name := others[source(e)]; name != "" {
			return name
		}
	case *ast.CallExpr:
		return w.call(e)
	}
	w.refuse(e, "expression")
	return ""
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
	switch f := e.Fun.(type) {
	case *ast.Ident:
		if t, ok := types[f.Name]; ok {
			return "(" + t.name + ")(" + args[0] + ")"
		} else if f.Name == "text" {
			return args[0]
		}
		return function(f.Name) + "(" + strings.Join(args, ", ") + ")"
	case *ast.SelectorExpr:
		if source(f) == "ir.Kind" {
			return args[0]
		} else if name := others[source(f)]; name != "" {
			return name + "(" + strings.Join(args, ", ") + ")"
		}
		name := function(f.Sel.Name)
		if x, ok := f.X.(*ast.CallExpr); ok && source(x.Fun) == "ir.Kind" {
			name = "kind_" + name
		}
		return name + "(" + strings.Join(append([]string{w.expr(f.X)}, args...), ", ") + ")"
	}
	w.refuse(e, "call")
	return ""
}

// function returns the C++ name of a function of package bundle.
func function(name string) string { return strings.ToLower(snake(name)) }

// source returns the text of a name, X or X.Y, or of a number.
func source(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.BasicLit:
		return e.Value
	case *ast.SelectorExpr:
		return source(e.X) + "." + e.Sel.Name
	}
	return ""
}
