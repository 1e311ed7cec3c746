package eval

import (
	"slices"

	"mscclc/ir"
)

// A Value is what a chunk holds in a symbolic run: nothing, a chunk of some rank's initial input, or the reduction of
// two values. The chunks of all ranks' inputs lie on one line, and a value is a shape at a place of it: a leaf is the
// shape 0 at the place of its chunk, a sum is a shape that says how far apart its operands are, at the first of its
// leaves. So the sums of neighbouring chunks that were made in one way are one shape at neighbouring places.
//
// Equal Values of one Values are sums of the same leaves in the same grouping; a ⊕ b and b ⊕ a are one.
type Value struct{ shape, at int32 }

// None is what a chunk holds before anything is written to it.
var None = Value{shape: -1}

// Plus returns what the n-th chunk after x holds in a run that begins with x.
func (x Value) Plus(n int) Value {
	if x.shape < 0 {
		return None
	}
	return Value{x.shape, x.at + int32(n)}
}

// IsSum reports whether x is a reduction, and not a leaf or None.
func (x Value) IsSum() bool { return x.shape > 0 }

// A Run is what Count neighbouring chunks hold: Value.Plus(0), Value.Plus(1) and so on.
type Run struct {
	Value Value
	Count int32
}

// Values makes values and describes them. Shapes are hash-consed: no value carries a list of what it contains,
// so that a sum of two runs costs one probe.
type Values struct {
	coll *ir.Collective
	base []int32 // of each rank, the place of its first leaf; one more for the end

	shapes []shape // of sums, from shape 1 on; shapes[0] is that of leaves
	table  []int32 // of those in no chain: open addressing, a power of two long, a shape or 0
	tabled int     // how many these are

	// Limit bounds the leaves that sums are taken apart into, together: that many
	// ranks all group a sum in another way costs the square of their number. Over says
	// that it was reached, and that Matches has said no without knowing.
	Limit int64
	Over  bool

	// Source names chunks in descriptions; nil: by their numbers.
	Source ir.Source

	proved []int8  // by shape: whether it is complete, where known
	seen   []int32 // by rank: the shape that complete met its chunk in last
	leaves []int32 // scratch of flatten
	stack  []Value
}

// A shape is a sum of the value a at 0 and of b at apart, which is not negative. It is found by way of its younger
// operand: a chain of the first sums that this is in begins at sum, and goes on at next. The table has the others.
type shape struct {
	a, b, apart int32
	size        int32 // how many leaves it has, saturating
	sum, next   int32
}

// chained is how many sums of a shape are in its chain.
const chained = 3

// defaultTakenApart is Limit where nobody says more: a few seconds.
const defaultTakenApart = 1 << 26

// NewValues returns the values of a run of c.
func NewValues(c *ir.Collective) *Values {
	v := &Values{coll: c, base: make([]int32, c.Ranks+1), shapes: []shape{{size: 1}}, table: make([]int32, 1024),
		Limit: defaultTakenApart}
	for r := range c.Ranks {
		v.base[r+1] = v.base[r] + int32(c.InChunks(r))
	}
	return v
}

// Leaf is chunk index of rank's initial input.
func (v *Values) Leaf(rank, index int) Value { return Value{0, v.base[rank] + int32(index)} }

// Operands returns what the sum x was made of, in either order.
func (v *Values) Operands(x Value) (a, b Value) {
	s := &v.shapes[x.shape]
	return Value{s.a, x.at}, Value{s.b, x.at + s.apart}
}

// Size returns the number of leaves in x, counted as often as they occur; it
// saturates at the largest int32.
func (v *Values) Size(x Value) int {
	if x.shape < 0 {
		return 0
	}
	return int(v.shapes[x.shape].size)
}

// Part says which chunk of which rank's input the leaf x is.
func (v *Values) Part(x Value) ir.Part { return v.partAt(x.at) }

func (v *Values) partAt(at int32) ir.Part {
	rank, found := slices.BinarySearch(v.base, at)
	if !found {
		rank--
	}
	for v.base[rank+1] == v.base[rank] { // ranks without input
		rank++
	}
	return ir.Part{Rank: int32(rank), Index: at - v.base[rank]}
}

func hashShape(s *shape) uint64 {
	h := uint64(uint32(s.a))*0x9E3779B97F4A7C15 ^ uint64(uint32(s.b))*0xC2B2AE3D27D4EB4F ^ uint64(
		uint32(s.apart))*0x165667B19E3779F9
	return h ^ h>>29
}

// Sum returns the reduction of a and b, and None where one is None. Of two runs that begin with a and with b, it begins
// the run of the sums.
func (v *Values) Sum(a, b Value) Value {
	if a.shape < 0 || b.shape < 0 {
		return None
	}
	if b.at < a.at || b.at == a.at && b.shape < a.shape {
		a, b = b, a
	}
	s := shape{a: a.shape, b: b.shape, apart: b.at - a.at}
	end := &v.shapes[max(s.a, s.b)].sum
	for n := 0; *end != 0; n++ {
		x := &v.shapes[*end]
		if x.a == s.a && x.b == s.b && x.apart == s.apart {
			return Value{*end, a.at}
		}
		if n == chained-1 {
			return Value{v.inTable(&s), a.at}
		}
		end = &x.next
	}
	*end = int32(len(v.shapes))
	v.add(&s)
	return Value{int32(len(v.shapes) - 1), a.at}
}

func (v *Values) add(s *shape) {
	s.size = int32(min(int64(v.shapes[s.a].size)+int64(v.shapes[s.b].size), 1<<31-1))
	if len(v.shapes) == cap(v.shapes) {
		v.shapes = slices.Grow(v.shapes, len(v.shapes)) // append adds a quarter, and copies more
	}
	v.shapes = append(v.shapes, *s)
}

// inTable returns a shape that is in no chain.
func (v *Values) inTable(s *shape) int32 {
	mask := uint64(len(v.table) - 1)
	at := hashShape(s) & mask
	for ; v.table[at] != 0; at = (at + 1) & mask {
		if x := &v.shapes[v.table[at]]; x.a == s.a && x.b == s.b && x.apart == s.apart {
			return v.table[at]
		}
	}
	i := int32(len(v.shapes))
	v.add(s)
	v.table[at] = i
	if v.tabled++; 2*v.tabled > len(v.table) {
		v.grow()
	}
	return i
}

func (v *Values) grow() {
	old := v.table
	v.table = make([]int32, 2*len(old))
	mask := uint64(len(v.table) - 1)
	for _, i := range old {
		if i == 0 {
			continue
		}
		at := hashShape(&v.shapes[i]) & mask
		for v.table[at] != 0 {
			at = (at + 1) & mask
		}
		v.table[at] = i
	}
}
