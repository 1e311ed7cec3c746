package bitwise

import (
	"cmp"
	"fmt"
	"strings"

	"mscclc/ir"
	"mscclc/ir/either"
)

// Orders say in which orders a program sums the elements of its outputs. The sum of an element has an order: a tree of
// additions, whose leaves are ranks, and which says where a result is rounded.
//
// An element lies in a chunk, and the size of the call says in which. A program has one tree for all elements of a
// chunk, whatever the size, the alignment, the width of a launch and its tile are. So where all chunks have the same
// tree, the bits of an element depend on its inputs alone. Placements and lanes are parts of a program: programs for
// others are compared by the keys of their orders.
type Orders struct {
	Sums   int // output chunks that hold a sum of all ranks' inputs
	Others int // output chunks that hold other sums, such as those of a scan, whose order is not judged
	Of     [NumRoundings][]Tree

	// Ranks says that some ranks hold the same sum in different orders, so that an element's order depends on its rank.
	Ranks bool
}

// A Tree is the order in which some output chunks are summed.
type Tree struct {
	// Text is the tree, with r0 for rank 0's input. Additions run from left to right. Parentheses stand around a sum that
	// is made before; of Chain, around a sum that is rounded before. A tree of over 64 ranks is shortened.
	Text string
	// Key is the same for the same tree, of all programs.
	Key [2]uint64
	// Unknown says that a switch adds, in an order that nobody knows.
	Unknown bool
	// Chunks are the output chunks, by rank and index. There is one at least.
	Chunks []ir.Part
}

// One reports whether all elements have the same order, whatever the type.
func (o *Orders) One() bool {
	if o.Others > 0 {
		return false
	}
	for _, trees := range o.Of {
		if len(trees) > 1 || len(trees) == 1 && trees[0].Unknown {
			return false
		}
	}
	return true
}

// OrdersOf returns the orders of p, where verify.Check accepts p; of other programs it may say anything. They are those
// of mscclc's executor (Rounding).
func OrdersOf(p *either.Program) Orders {
	o := Orders{}
	if !p.Coll.Reduces() {
		return o
	}
	run := newOrderRun(p)
	run.exec()
	var places []ir.Part
	for r := range p.Coll.Ranks {
		for i := range p.Coll.OutChunks(r) {
			place := ir.Part{Rank: int32(r), Index: int32(i)}
			if x := run.at(place).expr; x == noExpr || !run.exprs.isSum(x) {
				continue
			}
			if p.Coll.Want(r, i).Sum { // then each rank's input is added once
				places = append(places, place)
			} else {
				o.Others++
			}
		}
	}
	o.Sums = len(places)
	for by := range NumRoundings {
		o.Of[by] = run.trees(places, by)
		o.Ranks = o.Ranks || apart(p.Coll, o.Of[by])
	}
	return o
}

// apart reports whether two ranks hold the same sum in different orders.
func apart(c *ir.Collective, trees []Tree) bool {
	number := map[int32]int{} // by which sum it is: its tree
	for i, t := range trees {
		for _, place := range t.Chunks {
			sum := c.Want(int(place.Rank), int(place.Index)).Part.Index
			if first, known := number[sum]; known && first != i {
				return true
			}
			number[sum] = i
		}
	}
	return false
}

// trees returns the trees of output chunks that hold sums, in the order in which the chunks come.
func (r *orderRun) trees(places []ir.Part, by Rounding) (list []Tree) {
	base := make([]expr, r.p.Coll.Ranks+1)
	for i := range base {
		base[i] = expr(i)
	}
	byRank, class := r.exprs.mapped(base, func(x expr) expr { return expr(r.exprs.part(x).Rank) }, by == Each)
	keys, unknown := byRank.keys()
	number := map[expr]int{}
	text := exprText{exprs: byRank, by: by, ranks: true, low: byRank.lowest()}
	for _, place := range places {
		x := class[r.at(place).expr]
		at, known := number[x]
		if !known {
			at = len(list)
			number[x] = at
			sum := x - byRank.first()
			list = append(list, Tree{Text: text.of(x), Key: keys[sum], Unknown: unknown[sum]})
		}
		list[at].Chunks = append(list[at].Chunks, place)
	}
	return list
}

// lowest returns the first leaf of each sum.
func (e *exprs) lowest() []expr {
	low := make([]expr, len(e.sums))
	of := func(x expr) expr {
		if e.isSum(x) {
			return low[x-e.first()]
		}
		return x
	}
	for i, s := range e.sums {
		low[i] = min(of(s.a), of(s.b))
	}
	return low
}

// keys returns, for each sum, a fingerprint of its tree, and whether a switch made some of it.
func (e *exprs) keys() (keys [][2]uint64, unknown []bool) {
	of := func(x expr) ([2]uint64, bool) {
		if e.isSum(x) {
			return keys[x-e.first()], unknown[x-e.first()]
		}
		m := mixed(uint64(x))
		return [2]uint64{m, mixed(m)}, false
	}
	for i := range e.sums {
		s := &e.sums[i]
		a, wasA := of(s.a)
		b, wasB := of(s.b)
		if cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) > 0 {
			a, b = b, a
		}
		how := uint64(1)
		if s.open {
			how = 2
		}
		switched := s.switched != 0 || wasA || wasB
		if s.switched != 0 {
			how += 2
		}
		keys = append(keys, [2]uint64{mixed(mixed(a[0]+how) ^ b[0]), mixed(mixed(a[1]+how) ^ b[1])})
		unknown = append(unknown, switched)
	}
	return keys, unknown
}

// InRankOrder reports whether p adds the inputs of all ranks in their order, whatever the type, and rounds the sums of
// short types once: r0 + r1 + r2 as one sum. All such programs for as many ranks give an element the same bits. It is
// false where p sums nothing. It takes programs of at most 64 ranks, and p must be one that verify.Check accepts.
func InRankOrder(p *either.Program) bool {
	o := OrdersOf(p)
	if o.Sums == 0 || !o.One() {
		return false
	}
	var want []string
	for r := range p.Coll.Ranks {
		want = append(want, fmt.Sprintf("r%d", r))
	}
	for _, trees := range o.Of {
		if trees[0].Text != strings.Join(want, " + ") {
			return false
		}
	}
	return true
}
