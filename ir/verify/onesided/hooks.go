package onesided

import (
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/ir/verify/checker"
)

// This file is for the tests of package verify: variants of the proof, which must find the same.

// OneAfterTheOther runs f while what is found of a one-sided program is what is found without judging two things at
// once.
func OneAfterTheOther(f func()) {
	judgedAgain = true
	defer func() { judgedAgain = false }()
	f()
}

// Unchained runs f while each block of a one-sided program is a chain, each pair of a block and a rank of another node
// has a count, and clocks judge each reuse.
func Unchained(f func()) {
	unchained, counted, byClocks = true, true, true
	defer func() { unchained, counted, byClocks = false, false, false }()
	f()
}

// Chains returns how many of the blocks of p, which is one-sided and in order, take over from a block of their own rank
// and of another, and how many pairs of a block and a rank of another node have a count, and have none.
func Chains(p *onesided.Program, node []int32) (own, other, counts, none int) {
	o := newProver(&checker.Checker{P: either.OfOneSided(p), Opt: checker.Options{Nodes: node}}, p)
	o.groups()
	from, _ := o.handovers()
	for b, a := range from {
		switch {
		case a < 0:
		case p.Blocks[a].Rank == p.Blocks[b].Rank:
			own++
		default:
			other++
		}
	}
	if a := o.newArrivals(o.newRacer().absent(ir.Enter | ir.Leave)); a != nil {
		counts, none = int(a.counts), len(a.pair)-int(a.counts)
	}
	return own, other, counts, none
}
