package algorithms_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A bound is a formula of a header.
type bound struct {
	text   string
	atMost bool
	expr   ast.Expr
}

func boundOf(field string) (*bound, error) {
	text, _, _ := strings.Cut(field, ";")
	b := &bound{text: text}
	text, b.atMost = strings.CutPrefix(text, "at most ")
	expr, err := parser.ParseExpr(text)
	b.expr = expr
	return b, err
}

// value is b for an algorithm's parameters.
func (b *bound) value(params map[string]float64) (float64, error) { return valueOf(b.expr, params) }

func valueOf(e ast.Expr, params map[string]float64) (float64, error) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return valueOf(e.X, params)
	case *ast.BasicLit:
		return strconv.ParseFloat(e.Value, 64)
	case *ast.Ident:
		if v, ok := params[e.Name]; ok {
			return v, nil
		}
		return 0, fmt.Errorf("there is no parameter %s", e.Name)
	case *ast.BinaryExpr:
		x, err := valueOf(e.X, params)
		y, err2 := valueOf(e.Y, params)
		switch e.Op {
		case token.ADD:
			x += y
		case token.SUB:
			x -= y
		case token.MUL:
			x *= y
		case token.QUO:
			x /= y
		default:
			return 0, fmt.Errorf("no formula has %v", e.Op)
		}
		if err == nil {
			err = err2
		}
		return x, err
	case *ast.CallExpr:
		return callOf(e, params)
	}
	return 0, fmt.Errorf("no formula has a %T", e)
}

func callOf(e *ast.CallExpr, params map[string]float64) (float64, error) {
	args := make([]float64, len(e.Args))
	for i, a := range e.Args {
		var err error
		if args[i], err = valueOf(a, params); err != nil {
			return 0, err
		}
	}
	name, _ := e.Fun.(*ast.Ident)
	switch {
	case name == nil || len(args) == 0:
	case name.Name == "min":
		return slices.Min(args), nil
	case name.Name == "max":
		return slices.Max(args), nil
	case len(args) != 1:
	case name.Name == "log2":
		return math.Log2(args[0]), nil
	case name.Name == "ceil":
		return math.Ceil(args[0]), nil
	case name.Name == "floor":
		return math.Floor(args[0]), nil
	}
	return 0, fmt.Errorf("formulas have min, max, ceil, floor and log2, each of its arguments")
}
