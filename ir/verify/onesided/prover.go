// Package onesided proves one-sided programs. The comment of package verify has the rules.
//
//	match.go, live.go     which signals and packets end each wait; whether all steps end
//	events.go             events. An event is a Signal, an Await, or a part of a Move. A Move that reads packets has a
//	                      part for each set of sending events: the chunks that are computed from their packets. Any
//	                      other Move is one event
//	chains.go             chains of blocks: the first step of a block waits for the last step of the block before it in
//	                      the chain. So the blocks of a chain run one after the other, and a vector clock needs one
//	                      count for each chain
//	known.go, clocks.go   the vector clock of a block, and what the block acquires in a tile iteration
//	threads.go            what one thread of a block acquired, and releases without a block barrier
//	race.go, user.go      races in scratch and packets; accesses to input and output of a rank outside its launch
//	meet.go               the hint of an error about a race: where the threads of a block should synchronise
//	across.go             several nodes
package onesided

import (
	"mscclc/ir"
	"mscclc/ir/eval"
	"mscclc/ir/onesided"
	"mscclc/ir/verify/checker"
)

// A prover proves a one-sided program.
type prover struct {
	*checker.Checker
	P       *onesided.Program
	links   *eval.Links
	cells   *ir.Memory
	use     []flagUse // of each flag
	sender  []part    // of each chunk of packets
	readers parts     // of each chunk of packets

	group    []int32 // by step: the group of its block's chain that it is in
	groupsOf []int32 // by block: how many its chain has up to its end
	before   []int32 // by block: the number of its first group
	chain    []int32 // of a block; see groups
	chains   int32
	events   []event
	eventsOf []ir.Range // of a step
	takes    []int32    // the events whose packets events read

	packets, cuts []int32 // scratch of cutStep
}

// Prove proves p, the one-sided program of c, and reports what is wrong to it.
func Prove(c *checker.Checker, p *onesided.Program) {
	if !c.Across() {
		return
	}
	o := newProver(c, p)
	if order := o.schedule(); order != nil && o.cut(order) {
		o.behaviour(&checker.Run{P: c.P, Order: order, Links: o.links})
		o.sends()
	}
}

func newProver(c *checker.Checker, p *onesided.Program) *prover {
	return &prover{Checker: c, P: p, links: eval.Link(p), cells: p.Memory()}
}

// schedule returns an order in which the steps may end, or nil where they do not fit together or do not end.
func (o *prover) schedule() []int32 {
	if !o.matching() {
		return nil
	}
	return o.liveness()
}

// judgedAgain has what was judged beside the passes judged again after them. Tests set it.
var judgedAgain bool

// behaviour judges what the passes of a launch do to each other, then launches, then what the outputs hold at the end.
// The last two are judged while the first is, as if it found nothing. Where both find something, they are judged again,
// so that the same is found in the same order however fast each is.
func (o *prover) behaviour(pass *checker.Run) {
	onePass := o.P.OnePass // launches then begin with what the passes know at their end
	apart := *o
	apart.Checker = &checker.Checker{P: o.Checker.P, Opt: o.Opt}
	beside := apart.newRacer()
	beside.share = memoryBeside
	decided := ir.InBackground(func() bool {
		if !onePass {
			beside.launches()
		}
		apart.Result(pass)
		return !beside.stopped
	})
	r := o.newRacer()
	passed := r.passes()
	kept := decided() && passed && !judgedAgain
	alone := func() bool { return len(o.List) == 0 || len(apart.List) == 0 }
	if passed && (onePass || !kept || !alone()) {
		r.launches()
	}
	if r.stopped {
		o.tooMuch()
	}
	switch {
	case !kept || !alone():
		o.Result(pass)
	case len(apart.List) > 0:
		o.Problems, o.Counterexamples = apart.Problems, apart.Counterexamples
	}
	o.Ran = true
}
