package explore

import (
	"encoding/binary"
	"slices"

	"mscclc/ir"
)

// A value is what a cell holds: the number of a multiset of leaves, or one of
// three that are none.
type value int32

const (
	nothing value = iota // nothing was written
	spoiled              // made of nothing
	endless              // of more leaves than anything wants
	firstMultiset
)

// maxLeaves is more than any output of what is judged here wants.
const maxLeaves = 1 << 12

// values numbers multisets of leaves, each sorted; equal multisets have equal
// numbers.
type values struct {
	base  []int32 // of each rank, its first leaf
	lists [][]int32
	index map[string]value
	sums  map[[2]value]value
	key   []byte
}

func newValues(c *ir.Collective) *values {
	v := &values{base: make([]int32, c.Ranks+1), lists: make([][]int32, firstMultiset), index: map[string]value{},
		sums: map[[2]value]value{}}
	for r := range c.Ranks {
		v.base[r+1] = v.base[r] + int32(c.InChunks(r))
	}
	return v
}

// of returns the number of a sorted multiset.
func (v *values) of(list []int32) value {
	v.key = v.key[:0]
	for _, leaf := range list {
		v.key = binary.LittleEndian.AppendUint32(v.key, uint32(leaf))
	}
	if x, ok := v.index[string(v.key)]; ok {
		return x
	}
	x := value(len(v.lists))
	v.lists = append(v.lists, list)
	v.index[string(v.key)] = x
	return x
}

func (v *values) leaf(rank, index int) value { return v.of([]int32{v.base[rank] + int32(index)}) }

// sum returns the multiset of the leaves of a and b.
func (v *values) sum(a, b value) value {
	if a < firstMultiset || b < firstMultiset {
		if a == endless && b >= endless || b == endless && a >= endless {
			return endless
		}
		return spoiled
	}
	key := [2]value{min(a, b), max(a, b)}
	if x, ok := v.sums[key]; ok {
		return x
	}
	x := endless
	if len(v.lists[a])+len(v.lists[b]) <= maxLeaves {
		list := slices.Concat(v.lists[a], v.lists[b])
		slices.Sort(list)
		x = v.of(list)
	}
	v.sums[key] = x
	return x
}

// wanted returns the value that w asks for, and false where it asks for none.
func (v *values) wanted(c *ir.Collective, w ir.Want) (value, bool) {
	leaf := func(p ir.Part) int32 { return v.base[p.Rank] + p.Index }
	switch {
	case w.Any:
		return nothing, false
	case w.Sum:
		list := make([]int32, c.Ranks)
		for r := range list {
			list[r] = leaf(ir.Part{Rank: int32(r), Index: w.Part.Index})
		}
		return v.of(list), true
	case w.List == nil:
		return v.of([]int32{leaf(w.Part)}), true
	}
	list := make([]int32, len(w.List))
	for i, p := range w.List {
		list[i] = leaf(p)
	}
	slices.Sort(list)
	return v.of(list), true
}

// parts returns the leaves of x, sorted, and false where it is no multiset.
func (v *values) parts(x value) ([]ir.Part, bool) {
	if x < firstMultiset {
		return nil, false
	}
	var list []ir.Part
	for _, leaf := range v.lists[x] {
		rank, found := slices.BinarySearch(v.base, leaf)
		if !found {
			rank--
		}
		for v.base[rank+1] == v.base[rank] { // ranks without input
			rank++
		}
		list = append(list, ir.Part{Rank: int32(rank), Index: leaf - v.base[rank]})
	}
	return list, true
}
