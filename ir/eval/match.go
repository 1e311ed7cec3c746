package eval

import (
	"slices"

	"mscclc/ir"
)

// This file compares values with what a collective asks for.

// Matches reports whether x is what w asks for, as a multiset of leaves: no leaf missing, none twice, none foreign.
// Where x begins a run, and w one of wants (see Collective.Wants), it says so of all of them.
func (v *Values) Matches(x Value, w ir.Want) bool {
	switch {
	case w.Any:
		return true
	case x.shape < 0:
		return false
	case w.Sum:
		return x.at == w.Part.Index && v.complete(x.shape)
	case w.List == nil:
		return x == v.Leaf(int(w.Part.Rank), int(w.Part.Index))
	}
	if v.Size(x) != len(w.List) {
		return false
	}
	got, _ := v.flatten(x, len(w.List))
	return slices.Equal(got, v.wanted(w))
}

// complete reports whether the shape s, at the place of a chunk of the first rank's input, is the reduction of that
// chunk of all ranks' inputs. Each shape is taken apart once in the life of v.
func (v *Values) complete(s int32) bool {
	if int(v.shapes[s].size) != v.coll.Ranks || s == 0 {
		return int(v.shapes[s].size) == v.coll.Ranks
	}
	if int(s) >= len(v.proved) {
		v.proved = append(v.proved, make([]int8, len(v.shapes)-len(v.proved))...)
	}
	if v.proved[s] == 0 {
		v.proved[s] = -1
		if v.takeApart(s) {
			v.proved[s] = 1
		}
	}
	return v.proved[s] > 0
}

// takeApart is complete of a shape of as many leaves as there are ranks, each of which has as many chunks of input, as
// those of a collective that sums have: leaves that are whole ranks apart, each of another rank, are all if there are
// as many as ranks.
func (v *Values) takeApart(s int32) bool {
	if v.Limit -= int64(v.coll.Ranks); v.Limit < 0 {
		v.Over = true
		return false
	}
	if v.seen == nil {
		v.seen = make([]int32, v.coll.Ranks)
		for r := range v.seen {
			v.seen[r] = -1
		}
	}
	chunks := v.base[1]
	v.stack = append(v.stack[:0], Value{s, 0})
	for len(v.stack) > 0 {
		top := v.stack[len(v.stack)-1]
		v.stack = v.stack[:len(v.stack)-1]
		for top.shape > 0 {
			a, b := v.Operands(top)
			v.stack = append(v.stack, b)
			top = a
		}
		rank := top.at / chunks
		if top.at%chunks != 0 || int(rank) >= len(v.seen) || v.seen[rank] == s {
			return false
		}
		v.seen[rank] = s
	}
	return true
}

// wanted returns the places of the leaves that w asks for, in ascending order.
func (v *Values) wanted(w ir.Want) []int32 {
	switch {
	case w.Any:
		return nil
	case w.Sum:
		want := make([]int32, v.coll.Ranks)
		for r := range want {
			want[r] = v.base[r] + w.Part.Index
		}
		return want
	case w.List == nil:
		return []int32{v.base[w.Part.Rank] + w.Part.Index}
	}
	want := make([]int32, len(w.List))
	for i, p := range w.List {
		want[i] = v.base[p.Rank] + p.Index
	}
	slices.Sort(want)
	return want
}

// flatten returns the places of the leaves of x in ascending order, or some of
// more than limit and false: shared operands can stand for more leaves than
// any memory holds. The result is valid until the next call.
func (v *Values) flatten(x Value, limit int) (leaves []int32, whole bool) {
	v.leaves, v.stack = v.leaves[:0], v.stack[:0]
	if x != None {
		v.stack = append(v.stack, x)
	}
	for len(v.stack) > 0 {
		top := v.stack[len(v.stack)-1]
		v.stack = v.stack[:len(v.stack)-1]
		switch {
		case top.IsSum():
			a, b := v.Operands(top)
			v.stack = append(v.stack, b, a)
		case len(v.leaves) == limit:
			slices.Sort(v.leaves)
			return v.leaves, false
		default:
			v.leaves = append(v.leaves, top.at)
		}
	}
	slices.Sort(v.leaves)
	return v.leaves, true
}
