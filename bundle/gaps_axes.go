package bundle

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"mscclc/executor/data"
	"mscclc/ir"
)

// This file is what calls differ in, and describes groups of calls by what these have in common.

// A Gap is a group of calls of a collective that no program of a bundle runs: NCCL does. Reason is what MSCCLC_STATS
// names.
type Gap struct {
	Collective string   `json:"collective"`
	Eager      bool     `json:"eager"`
	Captured   bool     `json:"captured"`
	Windows    string   `json:"windows,omitempty" doc:"yes: only calls between registered windows, no: only others; absent: both"`
	DTypes     []string `json:"dtypes,omitempty" doc:"absent: any"`
	RedOps     []string `json:"ops,omitempty" doc:"absent: any"`
	Roots      []string `json:"roots,omitempty" doc:"absent: any"`
	Calls      []string `json:"calls,omitempty" doc:"numbers of calls of the group, as 1-4 or 5-; absent: any"`
	Above      uint64   `json:"above,omitempty" doc:"calls of more bytes than these"`
	UpTo       uint64   `json:"up_to,omitempty" doc:"calls of up to this many bytes; absent: all above"`
	Reason     string   `json:"reason"`
}

// A call is all that a choice depends on but bytes, as Call of the library.
type call struct {
	kind, dtype, redop, root, group uint32
	windows, apart                  bool
	then                            bool  // it has an epilogue; Gaps are of calls without
	when                            uint8 // WhenEager or WhenCaptured
}

// The axes by which calls differ.
const (
	axisWindows = iota
	axisLaunch
	axisOp
	axisRoot
	axisCalls
	axisType
	numAxes
)

// A variant is a kind of calls: for each axis, the number of a value. A block is a set of variants: for each axis a bit
// for each value, and all combinations of these.
type (
	variant [numAxes]uint8
	block   [numAxes]uint16
)

// axes are the values that calls of a collective may have: how many on each axis, and of the last but one, the least
// calls of groups.
type axes struct {
	count [numAxes]int
	calls []int
}

// axes returns those by which the rules of s differ.
func (s *Set) axes(kind ir.Kind) (x axes) {
	x.calls = []int{1}
	x.count = [numAxes]int{axisWindows: 2, axisLaunch: 2, axisOp: 1, axisRoot: 1, axisType: int(data.NumDTypes)}
	if kind.Rooted() {
		x.count[axisWindows], x.count[axisRoot] = 1, s.Ranks
	}
	if kind.Reduces() {
		x.count[axisOp] = int(data.NumRedOps)
	}
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Kind == uint8(kind) && r.Calls > 0 {
			x.calls = append(x.calls, int(r.Calls)+1)
		}
	}
	x.calls = sorted(x.calls)
	x.calls = x.calls[:min(len(x.calls), 16)] // a block has no bits for more
	x.count[axisCalls] = len(x.calls)
	return x
}

// variants returns all combinations, in order.
func (x *axes) variants() (list []variant) {
	var v variant
	for {
		list = append(list, v)
		a := numAxes - 1
		for a >= 0 && int(v[a])+1 == x.count[a] {
			v[a] = 0
			a--
		}
		if a < 0 {
			return list
		}
		v[a]++
	}
}

// call returns the calls of a variant.
func (x *axes) call(kind ir.Kind, v variant) call {
	return call{kind: uint32(kind), dtype: uint32(v[axisType]), redop: uint32(v[axisOp]), root: uint32(v[axisRoot]),
		group: uint32(x.calls[v[axisCalls]]), windows: v[axisWindows] != 0,
		when: [2]uint8{WhenEager, WhenCaptured}[v[axisLaunch]]}
}

// blocksOf returns blocks that together have the variants of a list, which is in order, and no other: few of them.
func blocksOf(list []variant) []block {
	var whole block
	for _, v := range list {
		for a := range v {
			whole[a] |= 1 << v[a]
		}
	}
	size := 1
	for _, set := range whole {
		size *= bits.OnesCount16(set)
	}
	if size == len(list) {
		return []block{whole}
	}
	for a := range whole {
		parts := split(list, a)
		if len(parts) < 2 {
			continue
		}
		var blocks []block
		for _, part := range parts {
			blocks = append(blocks, blocksOf(part)...)
		}
		return blocks
	}
	return nil // the variants differ by no axis, so that they are a block
}

// split divides variants by their values on an axis. Values for which all else is the same stay together.
func split(list []variant, axis int) (parts [][]variant) {
	type of struct{ rest, all []variant }
	values := map[uint8]*of{}
	var order []uint8
	for _, v := range list {
		value := v[axis]
		if values[value] == nil {
			values[value] = &of{}
			order = append(order, value)
		}
		o := values[value]
		o.all = append(o.all, v)
		v[axis] = 0
		o.rest = append(o.rest, v)
	}
	slices.Sort(order)
	var seen []*of
	for _, value := range order {
		o := values[value]
		i := slices.IndexFunc(seen, func(s *of) bool { return slices.Equal(s.rest, o.rest) })
		if i >= 0 {
			seen[i].all = append(seen[i].all, o.all...)
			continue
		}
		seen = append(seen, o)
	}
	for _, o := range seen {
		slices.SortFunc(o.all, func(a, b variant) int { return slices.Compare(a[:], b[:]) })
		parts = append(parts, o.all)
	}
	return parts
}

// describe writes the calls of a block to a gap.
func (x *axes) describe(g *Gap, of block) {
	names := func(axis int, name func(i int) string) (list []string) {
		if bits.OnesCount16(of[axis]) == x.count[axis] {
			return nil
		}
		for i := range x.count[axis] {
			if of[axis]>>i&1 != 0 {
				list = append(list, name(i))
			}
		}
		return list
	}
	g.Eager, g.Captured = of[axisLaunch]&1 != 0, of[axisLaunch]&2 != 0
	if list := names(axisWindows, func(i int) string { return [2]string{"no", "yes"}[i] }); len(list) > 0 {
		g.Windows = list[0]
	}
	g.DTypes = names(axisType, func(i int) string { return data.DType(i).String() })
	g.RedOps = names(axisOp, func(i int) string { return data.RedOp(i).String() })
	g.Roots = names(axisRoot, strconv.Itoa)
	g.Calls = names(axisCalls, func(i int) string {
		if i+1 == len(x.calls) {
			return fmt.Sprintf("%d-", x.calls[i])
		}
		return fmt.Sprintf("%d-%d", x.calls[i], x.calls[i+1]-1)
	})
}

// Text says what the calls of g have in common, beside their collective and size.
func (g *Gap) Text() string {
	words := []string{"eager", "captured"}
	if !g.Eager {
		words = words[1:]
	} else if !g.Captured {
		words = words[:1]
	}
	text := strings.Join(words, ", ")
	switch g.Windows {
	case "yes":
		text += "; in windows"
	case "no":
		text += "; not in windows"
	}
	for _, part := range []struct {
		what   string
		values []string
	}{{"", g.RedOps}, {"", g.DTypes}, {"root ", g.Roots}, {"groups of ", g.Calls}} {
		if len(part.values) > 0 {
			text += "; " + part.what + strings.Join(part.values, ", ")
		}
	}
	return text
}
