// Package bitwise reports whether all ranks of a proven program end with the same bits. OrderOf runs the program with
// expressions in place of data. If output chunks must hold the same sum, it compares their expressions: sums in the
// same order have the same bits.
package bitwise

import (
	"encoding/binary"

	"mscclc/ir"
	"mscclc/ir/either"
)

// Rounding is a class of element types that sums depend on in the same way.
// Integers, and min and max of every type, depend on no order at all: their
// sums have the same bits on every rank of every program that verify.Check accepts.
// Of floats, a ⊕ b and b ⊕ a have the same bits too (but for which of two NaNs
// an f32 or f64 sum passes on), so that only the grouping and the places where
// a sum is rounded matter.
type Rounding uint8

// The classes, as mscclc's executor sums: of f16, bf16 and fp8 it rounds a chain
// of reductions that it fuses once, at its end. The runtimes of MSCCL-IR round
// each addition of every type, and msccl adds a chain's destination after its
// sources: of programs with chains this says nothing for them.
const (
	Each  Rounding = iota // every addition is rounded: f32 and f64
	Chain                 // every step or chain of fused steps is: f16, bf16 and fp8
	NumRoundings
)

// An Order says whether the sums that several output chunks must hold have the
// same bits in all of them: sums and products of any data of these types, and
// averages, which divide what was summed.
type Order struct {
	Sums   int               // that two or more output chunks must hold
	Differ [NumRoundings]int // of those, the ones that are not alike everywhere

	// Counterexample shows the first that is not alike, or is nil.
	Counterexample [NumRoundings]*Difference
}

// Same reports whether all ranks end with the same bits, whatever the type.
func (o *Order) Same() bool { return o.Differ == [NumRoundings]int{} }

// A Difference is two output chunks that must hold the same sum and hold it in
// another grouping.
type Difference struct {
	Chunk [2]ir.Part // rank and index in its output
	Step  [2]int32   // the steps, in p.Steps, that complete the sums; others may pass them on
	// the sums; of Chain, parentheses stand around what is rounded, else what has none runs from left to right
	Expr [2]string
	Part bool // Expr shows the part of the sums in which they differ: the whole is long
}

// OrderOf says which sums of p have the same bits on every rank, where
// verify.Check accepts p; of other programs it may say anything.
//
// It runs the program on expressions in place of chunks. Equal expressions have
// equal ids, so that a step costs one probe for each chunk, and two sums are
// compared by their ids.
func OrderOf(p *either.Program) Order {
	o := Order{}
	if !p.Coll.Reduces() {
		return o
	}
	run := newOrderRun(p)
	run.exec()
	g := grouper{run: run, groups: map[string]int{}}
	for r := range p.Coll.Ranks {
		for i := range p.Coll.OutChunks(r) {
			g.add(r, i)
		}
	}
	each, class := run.exprs.flat()
	o.compare(Chain, run, run.exprs, nil, g.list)
	o.compare(Each, run, each, class, g.list)
	for _, places := range g.list {
		if len(places) > 1 {
			o.Sums++
		}
	}
	return o
}

// compare looks for the sums of which two places hold different expressions.
// class, where not nil, gives the expression in e for each of the run's.
func (o *Order) compare(by Rounding, run *orderRun, e *exprs, class []expr, sums [][]ir.Part) {
	at := func(place ir.Part) expr {
		x := run.at(place).expr
		if class != nil {
			x = class[x]
		}
		return x
	}
	for _, places := range sums {
		first := at(places[0])
		for _, place := range places[1:] {
			x := at(place)
			if x == first {
				continue
			}
			o.Differ[by]++
			if o.Counterexample[by] == nil {
				d := e.difference(first, x, by)
				d.Chunk, d.Step = [2]ir.Part{places[0], place}, [2]int32{run.at(places[0]).step, run.at(place).step}
				o.Counterexample[by] = d
			}
			break
		}
	}
}

// A grouper gathers the output chunks that must hold the same sum. Where the
// format does not say what a collective wants, those are the chunks that do
// hold a sum of the same chunks of input.
type grouper struct {
	run    *orderRun
	groups map[string]int // by what they are the sum of
	list   [][]ir.Part
	key    []byte
}

func (g *grouper) add(rank, index int) {
	place := ir.Part{Rank: int32(rank), Index: int32(index)}
	want := g.run.p.Coll.Want(rank, index)
	g.key = g.key[:0]
	switch {
	case want.Sum:
		g.key = binary.AppendVarint(g.key, int64(want.Part.Index))
	case want.List != nil:
		for _, p := range want.List {
			g.key = binary.AppendVarint(binary.AppendVarint(g.key, int64(p.Rank)), int64(p.Index))
		}
	case g.run.p.Coll.Kind == ir.Opaque:
		x := g.run.at(place).expr
		if x == noExpr || !g.run.exprs.isSum(x) {
			return
		}
		for _, part := range g.run.exprs.mark(x) {
			g.key = binary.AppendUvarint(g.key, part)
		}
	default:
		return
	}
	id, ok := g.groups[string(g.key)]
	if !ok {
		id = len(g.list)
		g.groups[string(g.key)] = id
		g.list = append(g.list, nil)
	}
	g.list[id] = append(g.list[id], place)
}
