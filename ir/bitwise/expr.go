package bitwise

import (
	"math"
	"slices"

	"mscclc/ir"
)

// An expr is what a chunk holds in an orderRun: a chunk of some rank's initial
// input, or the sum of two expressions, whose order does not matter.
type expr int32

// noExpr is what a chunk holds before anything is written to it.
const noExpr expr = -1

// exprs are hash-consed expressions. A sum is open where its result is not
// rounded, because the sum that it is an operand of is made in the same step.
type exprs struct {
	base []expr // of each rank, its first leaf; one more for the end

	sums  []exprSum
	size  []int32 // of sum i: its leaves, saturating
	table []int32 // open addressing, a power of two long: index of a sum + 1

	marks [][2]uint64 // of sum i, as far as mark was asked
}

// An exprSum has a ≤ b. Of what a switch has summed, switched is 1 + the step
// that asked it to: nobody knows how it groups, so that no other is the same.
type exprSum struct {
	a, b     expr
	open     bool
	switched int32
}

func newExprs(c *ir.Collective) *exprs {
	e := &exprs{base: make([]expr, c.Ranks+1), table: make([]int32, 1024)}
	for r := range c.Ranks {
		e.base[r+1] = e.base[r] + expr(c.InChunks(r))
	}
	return e
}

func (e *exprs) leaf(rank, index int) expr { return e.base[rank] + expr(index) }

// first returns the id of the first sum.
func (e *exprs) first() expr { return e.base[len(e.base)-1] }

func (e *exprs) isSum(x expr) bool { return x >= e.first() }

// operands returns the sum x.
func (e *exprs) operands(x expr) exprSum { return e.sums[x-e.first()] }

// isOpen reports whether x is a sum that is not rounded.
func (e *exprs) isOpen(x expr) bool { return e.isSum(x) && e.operands(x).open }

// part says which chunk of which rank's input the leaf x is.
func (e *exprs) part(x expr) ir.Part {
	rank, found := slices.BinarySearch(e.base, x)
	if !found {
		rank--
	}
	for e.base[rank+1] == e.base[rank] { // ranks without input
		rank++
	}
	return ir.Part{Rank: int32(rank), Index: int32(x - e.base[rank])}
}

// leaves returns the number of leaves of x.
func (e *exprs) leaves(x expr) int {
	if !e.isSum(x) {
		return 1
	}
	return int(e.size[x-e.first()])
}

// sum returns a ⊕ b.
func (e *exprs) sum(a, b expr, open bool) expr { return e.add(exprSum{a: a, b: b, open: open}) }

func (e *exprs) add(s exprSum) expr {
	s.a, s.b = min(s.a, s.b), max(s.a, s.b)
	if 2*len(e.sums) >= len(e.table) {
		e.grow()
	}
	at := e.find(s)
	if e.table[at] == 0 {
		e.sums = append(e.sums, s)
		e.size = append(e.size, int32(min(e.leaves(s.a)+e.leaves(s.b), math.MaxInt32)))
		e.table[at] = int32(len(e.sums))
	}
	return e.first() + expr(e.table[at]-1)
}

// find returns where in the table s is or belongs.
func (e *exprs) find(s exprSum) int {
	h := mixed(uint64(uint32(s.a))<<32|uint64(uint32(s.b))) + uint64(s.switched)*0x9e3779b97f4a7c15
	if s.open {
		h = ^h
	}
	mask := len(e.table) - 1
	at := int(h>>1) & mask
	for ; e.table[at] != 0 && e.sums[e.table[at]-1] != s; at = (at + 1) & mask {
	}
	return at
}

func (e *exprs) grow() {
	e.table = make([]int32, 4*len(e.table))
	for i := range e.sums {
		e.table[e.find(e.sums[i])] = int32(i + 1)
	}
}

// mixed spreads the bits of x (splitmix64).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// flat returns the expressions as they are where every sum is rounded, and for
// each of e which of them it is; or e itself and nil where none is open.
func (e *exprs) flat() (*exprs, []expr) {
	if !slices.ContainsFunc(e.sums, func(s exprSum) bool { return s.open }) {
		return e, nil
	}
	return e.mapped(e.base, func(x expr) expr { return x }, true)
}

// mapped returns the expressions with other leaves, of which base is as in exprs, and for each of e which of them it
// is. With each, every sum is rounded.
func (e *exprs) mapped(base []expr, leaf func(x expr) expr, each bool) (*exprs, []expr) {
	f := &exprs{base: base, table: make([]int32, 1024)}
	class := make([]expr, int(e.first())+len(e.sums))
	for x := range e.first() {
		class[x] = leaf(x)
	}
	for i, s := range e.sums {
		s.a, s.b, s.open = class[s.a], class[s.b], s.open && !each
		class[int(e.first())+i] = f.add(s)
	}
	return f, class
}

// mark returns a fingerprint of the leaves of x, counted as often as they occur.
func (e *exprs) mark(x expr) [2]uint64 {
	for i := len(e.marks); i < len(e.sums); i++ {
		a, b := e.markOf(e.sums[i].a), e.markOf(e.sums[i].b)
		e.marks = append(e.marks, [2]uint64{a[0] + b[0], a[1] + b[1]})
	}
	return e.markOf(x)
}

func (e *exprs) markOf(x expr) [2]uint64 {
	if e.isSum(x) {
		return e.marks[x-e.first()]
	}
	m := mixed(uint64(x))
	return [2]uint64{m, mixed(m)}
}
