package verify

import (
	"mscclc/ir"
)

// A oneSided judges a one-sided program.
type oneSided struct {
	*checker
	links   *ir.Links
	cells   *ir.Memory
	use     []flagUse // of each flag
	sender  []part    // of each chunk of packets
	readers parts     // of each chunk of packets

	group    []int32 // of a step: the group of its block's chain that it is in
	groupsOf []int32 // of a block: how many its chain has up to its end
	chain    []int32 // of a block; see groups
	chains   int32
	events   []event
	eventsOf []ir.Range // of a step
	takes    []int32    // the events whose packets events read

	spans         []span  // scratch of overlaps
	packets, cuts []int32 // scratch of cutStep
}

// judgeOneSided is judge of a one-sided program.
func (c *checker) judgeOneSided() {
	o := &oneSided{checker: c}
	if !o.form() {
		return
	}
	o.links, o.cells = ir.Link(c.p), c.p.Memory()
	if !o.matching() {
		return
	}
	order := o.liveness()
	if order == nil {
		return
	}
	if !o.cut(order) {
		return
	}
	o.races()
	c.result(&run{p: c.p, order: order, links: o.links})
	c.ran = true
}
