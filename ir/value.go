package ir

import "slices"

// A Value is what a chunk holds in a symbolic run: None, a chunk of some
// rank's initial input, or the reduction of two values in their order. Equal
// ids of one Values are equal values, grouping and order included.
type Value int32

// None is what a chunk holds before anything is written to it.
const None Value = -1

// Values makes values and tells what they are. Sums are hash-consed: no value
// carries a list of what it contains, so that a step costs one probe.
type Values struct {
	coll *Collective
	base []Value // of each rank, its first leaf; one more for the end

	left, right []Value // the operands of sum i, which is value leaves+i
	size        []int32 // how many leaves it has, saturating
	table       []int32 // open addressing, a power of two long: index of a sum + 1

	// Limit bounds the leaves that sums are taken apart into, together: that many
	// ranks all group a sum in another way costs the square of their number. Over says
	// that it was reached, and that Matches has said no without knowing.
	Limit int64
	Over  bool

	proved []int32 // of sum i, where known: 2 + its sumIndex
	class  []int32 // of sum i, where classes are known: the first sum that is the same but for the order of operands
	alike  map[[2]Value]int32
	taken  int64   // leaves that sums were taken apart into
	seen   []Value // of a rank: the sum that sumIndex met its chunk in last
	leaves []Value // scratch of flatten
	stack  []Value
}

// defaultTakenApart is Limit where nobody says more: a few seconds.
const defaultTakenApart = 1 << 26

// NewValues returns the values of a run of c.
func NewValues(c *Collective) *Values {
	v := &Values{coll: c, base: make([]Value, c.Ranks+1), table: make([]int32, 1024), Limit: defaultTakenApart}
	for r := range c.Ranks {
		v.base[r+1] = v.base[r] + Value(c.InChunks(r))
	}
	return v
}

// Leaf is chunk index of rank's initial input.
func (v *Values) Leaf(rank, index int) Value { return v.base[rank] + Value(index) }

// first is the id of the first sum.
func (v *Values) first() Value { return v.base[len(v.base)-1] }

// IsSum says whether x is a reduction, and not a leaf or None.
func (v *Values) IsSum(x Value) bool { return x >= v.first() }

// Operands returns what the sum x was made of.
func (v *Values) Operands(x Value) (a, b Value) {
	i := x - v.first()
	return v.left[i], v.right[i]
}

// Size is the number of leaves in x, counted as often as they occur; it
// saturates at the largest int32.
func (v *Values) Size(x Value) int {
	switch {
	case x == None:
		return 0
	case x < v.first():
		return 1
	}
	return int(v.size[x-v.first()])
}

// Part says which chunk of which rank's input the leaf x is.
func (v *Values) Part(x Value) Part {
	rank, found := slices.BinarySearch(v.base, x)
	if !found {
		rank--
	}
	for v.base[rank+1] == v.base[rank] { // ranks without input
		rank++
	}
	return Part{int32(rank), int32(x - v.base[rank])}
}

func hashPair(a, b Value) uint64 {
	h := uint64(uint32(a))*0x9E3779B97F4A7C15 ^ uint64(uint32(b))*0xC2B2AE3D27D4EB4F
	return h ^ h>>29
}

// Sum is the reduction of a and b in that order, and None where one is None.
func (v *Values) Sum(a, b Value) Value {
	if a == None || b == None {
		return None
	}
	mask := uint64(len(v.table) - 1)
	at := hashPair(a, b) & mask
	for ; v.table[at] != 0; at = (at + 1) & mask {
		if i := v.table[at] - 1; v.left[i] == a && v.right[i] == b {
			return v.first() + Value(i)
		}
	}
	i := len(v.left)
	v.left, v.right = append(v.left, a), append(v.right, b)
	v.size = append(v.size, int32(min(v.Size(a)+v.Size(b), 1<<31-1)))
	v.table[at] = int32(i + 1)
	if 2*(i+1) > len(v.table) {
		v.grow()
	}
	return v.first() + Value(i)
}

func (v *Values) grow() {
	v.table = make([]int32, 2*len(v.table))
	mask := uint64(len(v.table) - 1)
	for i := range v.left {
		at := hashPair(v.left[i], v.right[i]) & mask
		for v.table[at] != 0 {
			at = (at + 1) & mask
		}
		v.table[at] = int32(i + 1)
	}
}

// Matches says whether x is what w asks for, as a multiset of leaves: no leaf
// missing, none twice, none foreign.
func (v *Values) Matches(x Value, w Want) bool {
	switch {
	case w.Any:
		return true
	case x == None:
		return false
	case w.Sum:
		return v.completeSum(x, w.Part.Index)
	case w.List == nil:
		return x == v.Leaf(int(w.Part.Rank), int(w.Part.Index))
	}
	if v.Size(x) != len(w.List) {
		return false
	}
	got, _ := v.flatten(x, len(w.List))
	for i, p := range v.wanted(w) {
		if got[i] != p {
			return false
		}
	}
	return true
}

// completeSum says whether x is the reduction of chunk index of all ranks'
// inputs.
func (v *Values) completeSum(x Value, index int32) bool {
	if v.Size(x) != v.coll.Ranks {
		return false
	}
	if !v.IsSum(x) {
		return x == v.Leaf(0, int(index))
	}
	return v.sumIndex(x) == index
}

// sumIndex is the index whose chunks of all ranks the sum x of so many leaves
// reduces, or -1. Each distinct value is taken apart once in the life of v.
func (v *Values) sumIndex(x Value) int32 {
	at := int(x - v.first())
	if v.taken > freeLeaves*int64(len(v.left)) {
		v.classify()
		at = int(v.class[at])
		x = v.first() + Value(at)
	}
	if at >= len(v.proved) {
		v.proved = append(v.proved, make([]int32, len(v.left)-len(v.proved))...)
	}
	if v.proved[at] == 0 {
		v.proved[at] = v.takeApart(x) + 2
	}
	return v.proved[at] - 2
}

// freeLeaves is how many leaves for each sum are cheaper to take apart than classes are to make.
const freeLeaves = 8

// classify finds the class of each sum. Where ranks make the same sum each for itself, as in recursive doubling, all of them are one class.
func (v *Values) classify() {
	if v.alike == nil {
		v.alike = map[[2]Value]int32{}
	}
	of := func(x Value) Value {
		if v.IsSum(x) {
			x = v.first() + Value(v.class[x-v.first()])
		}
		return x
	}
	for i := len(v.class); i < len(v.left); i++ {
		a, b := of(v.left[i]), of(v.right[i])
		key := [2]Value{min(a, b), max(a, b)}
		first, known := v.alike[key]
		if !known {
			first = int32(i)
			v.alike[key] = first
		}
		v.class = append(v.class, first)
	}
}

// takeApart is sumIndex where all ranks have as many chunks of input, as those
// of a collective that sums have: so many leaves, of one index and each of
// another rank, are all.
func (v *Values) takeApart(x Value) int32 {
	if v.Limit -= int64(v.coll.Ranks); v.Limit < 0 {
		v.Over = true
		return -1
	}
	v.taken += int64(v.coll.Ranks)
	if v.seen == nil {
		v.seen = make([]Value, v.coll.Ranks)
	}
	chunks, index := v.base[1], Value(-1)
	v.stack = append(v.stack[:0], x)
	for len(v.stack) > 0 {
		top := v.stack[len(v.stack)-1]
		v.stack = v.stack[:len(v.stack)-1]
		if top >= v.first() {
			a, b := v.Operands(top)
			v.stack = append(v.stack, b, a)
			continue
		}
		if index < 0 {
			index = top % chunks
		}
		if top%chunks != index || v.seen[top/chunks] == x {
			return -1
		}
		v.seen[top/chunks] = x
	}
	return int32(index)
}

// wanted returns the leaves that w asks for, in ascending order.
func (v *Values) wanted(w Want) []Value {
	switch {
	case w.Any:
		return nil
	case w.Sum:
		want := make([]Value, v.coll.Ranks)
		for r := range want {
			want[r] = v.Leaf(r, int(w.Part.Index))
		}
		return want
	case w.List == nil:
		return []Value{v.Leaf(int(w.Part.Rank), int(w.Part.Index))}
	}
	want := make([]Value, len(w.List))
	for i, p := range w.List {
		want[i] = v.Leaf(int(p.Rank), int(p.Index))
	}
	slices.Sort(want)
	return want
}

// flatten returns the leaves of x in ascending order, or the first ones of
// more than limit and false: shared operands can stand for more leaves than
// any memory holds. The result is valid until the next call.
func (v *Values) flatten(x Value, limit int) (leaves []Value, whole bool) {
	v.leaves, v.stack = v.leaves[:0], v.stack[:0]
	if x != None {
		v.stack = append(v.stack, x)
	}
	for len(v.stack) > 0 {
		top := v.stack[len(v.stack)-1]
		v.stack = v.stack[:len(v.stack)-1]
		switch {
		case top < v.first():
			if len(v.leaves) == limit {
				slices.Sort(v.leaves)
				return v.leaves, false
			}
			v.leaves = append(v.leaves, top)
		default:
			a, b := v.Operands(top)
			v.stack = append(v.stack, b, a)
		}
	}
	slices.Sort(v.leaves)
	return v.leaves, true
}
