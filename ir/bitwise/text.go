package bitwise

import (
	"fmt"
	"slices"
	"strings"
)

// How much of an expression is shown: up to wholeLeaves leaves whole; of a longer one endOperands
// operands at each end of a run, textDepth deep, in about textBytes bytes.
const (
	wholeLeaves = 12
	endOperands = 3
	textDepth   = 12
	textBytes   = 300
)

// difference shows how x and y differ, which are sums of the same leaves.
func (e *exprs) difference(x, y expr, by Rounding) *Difference {
	d := &Difference{}
	if max(e.leaves(x), e.leaves(y)) > wholeLeaves {
		a, b := e.narrow(x, y)
		d.Part = a != x
		x, y = a, b
	}
	t := exprText{exprs: e, by: by}
	d.Expr = [2]string{t.of(x), t.of(y)}
	return d
}

// narrow drops what x and y have in common: operands of both, and of what is
// left, as far as the rest must still be sums of the same leaves.
func (e *exprs) narrow(x, y expr) (expr, expr) {
	for {
		s, t := e.operands(x), e.operands(y)
		switch {
		case s.a == t.a && s.b == t.b:
			return x, y // what differs is that one is rounded
		case s.a == t.a:
			x, y = s.b, t.b
		case s.b == t.b:
			x, y = s.a, t.a
		case s.a == t.b:
			x, y = s.b, t.a
		case s.b == t.a:
			x, y = s.a, t.b
		default:
			return x, y
		}
	}
}

// An exprText writes expressions; what the switch sums, in an order that nobody
// knows, as switch(...).
type exprText struct {
	*exprs
	by    Rounding
	ranks bool   // leaves are ranks
	low   []expr // of each sum, where leaves are ranks: its first leaf, by which operands of as many leaves are ordered
	b     strings.Builder
}

// wholeRanks is how many ranks are written whole.
const wholeRanks = 64

// isLong reports whether x is too long to be written whole.
func (t *exprText) isLong(x expr) bool {
	if t.ranks {
		return t.leaves(x) > wholeRanks
	}
	return t.leaves(x) > wholeLeaves
}

// comesFirst reports whether y is to be written before x, where neither is open.
func (t *exprText) comesFirst(y, x expr) bool {
	if n, m := t.leaves(y), t.leaves(x); n != m {
		return n > m
	}
	return t.ranks && t.isSum(x) && t.isSum(y) && t.low[y-t.first()] < t.low[x-t.first()]
}

func (t *exprText) of(x expr) string {
	t.b.Reset()
	t.write(x, 0)
	return t.b.String()
}

func (t *exprText) write(x expr, depth int) {
	if !t.isSum(x) {
		if t.ranks {
			fmt.Fprintf(&t.b, "r%d", t.part(x).Rank)
		} else {
			t.b.WriteString(t.part(x).String())
		}
		return
	}
	if t.operands(x).switched != 0 {
		t.b.WriteString("switch(")
		defer t.b.WriteByte(')')
	}
	long := t.isLong(x)
	if long && (depth > textDepth || t.b.Len() > textBytes) {
		fmt.Fprintf(&t.b, "… %d chunks …", t.leaves(x))
		return
	}
	operands := t.operandsOf(x)
	end := len(operands)
	if long && end > 2*endOperands+1 {
		end = endOperands
	}
	t.list(operands[:end], depth)
	if rest := operands[end:]; len(rest) > 0 {
		fmt.Fprintf(&t.b, " + … %d more … + ", len(rest)-endOperands)
		t.list(rest[len(rest)-endOperands:], depth)
	}
}

// list writes operands, and parentheses around those that are sums.
func (t *exprText) list(operands []expr, depth int) {
	for i, o := range operands {
		if i > 0 {
			t.b.WriteString(" + ")
		}
		if !t.isSum(o) || t.operands(o).switched != 0 {
			t.write(o, depth+1)
			continue
		}
		t.b.WriteByte('(')
		t.write(o, depth+1)
		t.b.WriteByte(')')
	}
}

// operandsOf returns what is summed from left to right to make x: for Chain
// what one step sums, for Each as many as can be written without parentheses.
func (t *exprText) operandsOf(x expr) []expr {
	var list []expr
	for {
		s := t.operands(x)
		first, second := s.a, s.b
		if !t.isOpen(first) && (t.isOpen(second) || t.comesFirst(second, first)) {
			first, second = second, first
		}
		list = append(list, second)
		if !t.isSum(first) || t.by == Chain && !t.isOpen(first) || t.operands(first).switched != 0 {
			list = append(list, first)
			slices.Reverse(list)
			return list
		}
		x = first
	}
}
