package eval

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir"
)

// This file says in words what a value is and how it differs from what a
// collective wants. in[r][i] is chunk i of rank r's initial input.

// describedLeaves bounds the leaves that a description looks at beyond those
// that are wanted, and describedParts those that it names.
const (
	describedLeaves = 4096
	describedParts  = 6
)

// Describe says what x is.
func (v *Values) Describe(x Value) string {
	leaves, whole := v.flatten(x, describedLeaves)
	switch {
	case len(leaves) == 0:
		return "nothing"
	case len(leaves) == 1:
		return v.nameAt(leaves[0])
	}
	text := "the sum of " + v.list(leaves)
	if !whole {
		text += " and more"
	}
	return text
}

// DescribeWant says what w asks for.
func (v *Values) DescribeWant(w ir.Want) string {
	switch want := v.wanted(w); {
	case w.Any:
		return "anything"
	case len(want) == 0:
		return "nothing"
	case len(want) == 1:
		return v.nameAt(want[0])
	default:
		return "the sum of " + v.list(want)
	}
}

// Differs says how x differs from what w asks for, as the rest of a sentence
// about the chunk: "holds in[1][3] twice, lacks in[2][3]". It is empty where
// x matches w.
func (v *Values) Differs(x Value, w ir.Want) string {
	if v.Matches(x, w) {
		return ""
	}
	want := v.wanted(w)
	got, whole := v.flatten(x, len(want)+describedLeaves)
	if len(got) == 0 {
		return "holds nothing"
	}
	missing, extra, times := difference(got, want)
	var says []string
	if len(extra) == 0 || len(missing) == len(want) { // nothing to say but what it is
		says = append(says, "holds "+v.Describe(x))
	} else {
		for i, e := range extra[:min(len(extra), describedParts)] {
			says = append(says, fmt.Sprintf("holds %s%s", v.nameAt(e), timesText(times[i])))
		}
		if n := len(extra) - describedParts; n > 0 {
			says = append(says, fmt.Sprintf("holds %d others that it should not", n))
		}
	}
	if !whole {
		return strings.Join(append(says, "holds far more than it should"), ", ")
	}
	if len(missing) > 0 && len(missing) < len(want) {
		says = append(says, "lacks "+v.list(missing))
	}
	return strings.Join(says, ", ")
}

// Unequal compares x with what w asks for. It returns a leaf that x lacks, a wanted leaf that x has too often, and
// whether w asks for a sum. A leaf is nil if there is none, and both are nil for sums with too many leaves to look at.
func (v *Values) Unequal(x Value, w ir.Want) (lacks, twice *ir.Part, sum bool) {
	want := v.wanted(w)
	got, whole := v.flatten(x, len(want)+describedLeaves)
	if !whole || len(got) == 0 {
		return nil, nil, false
	}
	missing, extra, times := difference(got, want)
	for i, e := range extra {
		if _, wanted := slices.BinarySearch(want, e); wanted && times[i] > 1 && twice == nil {
			p := v.partAt(e)
			twice = &p
		}
	}
	if len(missing) > 0 {
		p := v.partAt(missing[0])
		lacks = &p
	}
	return lacks, twice, len(want) > 1
}

// difference compares two ascending lists of leaves' places: what want has and got lacks, and
// what got has that want lacks or has less often, with how often got has it.
func difference(got, want []int32) (missing, extra []int32, times []int) {
	for len(got) > 0 || len(want) > 0 {
		switch {
		case len(got) == 0 || len(want) > 0 && want[0] < got[0]:
			missing = append(missing, want[0])
			want = want[1:]
		default:
			x, has, may := got[0], repeats(got), 0
			if len(want) > 0 && want[0] == x {
				may = repeats(want)
				want = want[may:]
			}
			got = got[has:]
			if has > may {
				extra, times = append(extra, x), append(times, has)
			}
			for range may - has {
				missing = append(missing, x)
			}
		}
	}
	return missing, extra, times
}

// repeats returns how often the first of an ascending list is repeated.
func repeats(list []int32) int {
	n := 1
	for n < len(list) && list[n] == list[0] {
		n++
	}
	return n
}

func timesText(n int) string {
	switch n {
	case 1:
		return ", which is foreign"
	case 2:
		return " twice"
	}
	return fmt.Sprintf(" %d times", n)
}

// list names the leaves at some places, in ascending order: chunks of one index by their ranks,
// otherwise one by one.
func (v *Values) list(leaves []int32) string {
	index, same := v.partAt(leaves[0]).Index, true
	var ranks []int
	for i, x := range leaves {
		p := v.partAt(x)
		same = same && p.Index == index && (i == 0 || leaves[i-1] != x)
		ranks = append(ranks, int(p.Rank))
	}
	if same && len(leaves) > 1 {
		return fmt.Sprintf("in[r][%s] of ranks %s", v.index(index), ranges(ranks))
	}
	var names []string
	for at := 0; at < len(leaves); {
		n := repeats(leaves[at:])
		name := v.nameAt(leaves[at])
		if n > 1 {
			name += timesText(n)
		}
		names = append(names, name)
		if at += n; len(names) == describedParts && at < len(leaves) {
			return fmt.Sprintf("%s and %d more", strings.Join(names, ", "), len(leaves)-at)
		}
	}
	return strings.Join(names, ", ")
}

// nameAt names the leaf at a place: in[2][3].
func (v *Values) nameAt(leaf int32) string {
	p := v.partAt(leaf)
	return fmt.Sprintf("in[%d][%s]", p.Rank, v.index(p.Index))
}

// index returns the index of one chunk.
func (v *Values) index(n int32) string { return ir.ChunksText(v.Source, int(n), int(n)+1) }

// ranges writes ascending numbers as "0-2, 5, 7-9".
func ranges(n []int) string {
	var b strings.Builder
	parts := 0
	for at := 0; at < len(n); {
		end := at
		for end+1 < len(n) && n[end+1] == n[end]+1 {
			end++
		}
		if parts > 0 {
			b.WriteString(", ")
		}
		if parts == describedParts {
			fmt.Fprintf(&b, "and %d more", len(n)-at)
			break
		}
		b.WriteString(strconv.Itoa(n[at]))
		if end > at {
			fmt.Fprintf(&b, "-%d", n[end])
		}
		at, parts = end+1, parts+1
	}
	return b.String()
}
