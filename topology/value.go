package topology

import (
	"fmt"
	"strconv"
	"strings"

	"mscclc/ir/diag"
)

// This file reads quantities with units and computes expressions of whole numbers.

// Units, in microseconds, and in bytes a microsecond.
var (
	times = map[string]float64{"ns": 1e-3, "us": 1, "ms": 1e3}
	rates = map[string]float64{
		"B/s": 1e-6, "KB/s": 1e-3, "MB/s": 1, "GB/s": 1e3, "TB/s": 1e6,
		"Kb/s": 1e-3 / 8, "Mb/s": 1. / 8, "Gb/s": 1e3 / 8, "Tb/s": 1e6 / 8,
	}
)

// quantity reads a number and its unit.
func quantity(s string, units map[string]float64) (float64, bool) {
	i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	unit, ok := units[s[max(i, 0):]]
	v, err := strconv.ParseFloat(s[:max(i, 0)], 64)
	return v * unit, ok && err == nil
}

// ofNode reports whether e, which may be nil, has the number of the node in it.
func (e *expr) ofNode() bool {
	if e == nil {
		return false
	}
	found := e.First.ofNode()
	for _, s := range e.Rest {
		found = found || s.Product.ofNode()
	}
	return found
}

func (p *product) ofNode() bool {
	found := p.First.ofNode()
	for _, f := range p.Rest {
		found = found || f.Atom.ofNode()
	}
	return found
}

func (a *atom) ofNode() bool { return a.Name == "node" || a.Expr.ofNode() }

// value returns what e is; an error is recorded, and 1 stands for it.
func (b *builder) value(e *expr) int {
	v, err := e.eval(b.vars)
	if err != nil {
		b.fault(diag.Arithmetic, e.Pos, "%v", err)
		return 1
	}
	return v
}

func (e *expr) eval(vars map[string]int) (int, error) {
	v, err := e.First.eval(vars)
	for _, s := range e.Rest {
		if err != nil {
			return 0, err
		}
		var w int
		w, err = s.Product.eval(vars)
		v, err = apply(s.Op, v, w, err)
	}
	return v, err
}

func (p *product) eval(vars map[string]int) (int, error) {
	v, err := p.First.eval(vars)
	for _, f := range p.Rest {
		if err != nil {
			return 0, err
		}
		var w int
		w, err = f.Atom.eval(vars)
		v, err = apply(f.Op, v, w, err)
	}
	return v, err
}

func (a *atom) eval(vars map[string]int) (int, error) {
	switch {
	case a.Int != nil && *a.Int > MaxNumber:
		return 0, fmt.Errorf("%d is too large", *a.Int)
	case a.Int != nil:
		return *a.Int, nil
	case a.Expr != nil:
		return a.Expr.eval(vars)
	}
	if v, ok := vars[a.Name]; ok {
		return v, nil
	}
	return 0, fmt.Errorf("%s is no parameter, nor the name in the first end's brackets", a.Name)
}

func apply(op string, v, w int, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	switch {
	case (op == "/" || op == "%") && w <= 0:
		return 0, fmt.Errorf("a division by %d", w)
	case op == "+":
		v += w
	case op == "-":
		v -= w
	case op == "*":
		v *= w
	case op == "/":
		v /= w
	case op == "%":
		v %= w
	}
	if v > MaxNumber || v < -MaxNumber {
		return 0, fmt.Errorf("%d is too large", v)
	}
	return v, nil
}
