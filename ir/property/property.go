// Package property has the properties of an InstDAG that passes need and give, as a table with a checker for each.
// Check reports which of the requested properties do not hold, and why. It may import ir, ir/diag, ir/eval, ir/form and
// ir/vclock.
package property

import (
	"fmt"
	"slices"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/ir/form"
)

// A Property is a fact about an InstDAG that, once a pass has given it, every
// later pass preserves. Each has one checker.
type Property uint

// The properties.
const (
	Meaning Property = 1 << iota // evaluation yields the collective's result
	Matched                      // each send has one receive: peer, channel, count, class and order agree
	// dependences and matches form no cycle, and every conflict on a cell is a dependence
	Acyclic
	// each block has the peers and channel that its instructions need, each connection end one block
	Placed
	Ordered       // steps are dense and agree with dependences and matches
	Live          // no cycle, with the slots that connections have
	Synced        // every dependence across blocks has its flag
	Bounded       // the program fits the target's limits
	NumProperties = iota
)

// Options are what some properties depend on.
type Options struct {
	Slots        int       // of a connection, for Live; 0 is what the protocol has
	MessageCount int       // chunks that one message holds, for Live; 0 is 1
	Limits       ir.Limits // for Bounded
}

var checks = [NumProperties]struct {
	name  string
	check func(d *ir.InstDAG, opt *Options) diag.List
}{
	{"meaning", func(d *ir.InstDAG, _ *Options) diag.List { return eval.Insts(d) }},
	{"matched", checkMatched},
	{"acyclic", checkAcyclic},
	{"placed", checkPlaced},
	{"ordered", checkOrdered},
	{"live", checkLive},
	{"synced", checkSynced},
	{"bounded", checkBounded},
}

func (p Property) String() string {
	var names []string
	for i, c := range checks {
		if p&(1<<i) != 0 {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, " ")
}

// Check says which of the wanted properties d lacks, and every reason why; the
// error is a diag.List. What a wanted property rests on is wanted too, and a
// property that rests on one that does not hold is not looked at.
func Check(d *ir.InstDAG, want Property, opt Options) error {
	if opt.Slots <= 0 {
		opt.Slots = d.Protocol.Slots()
	}
	opt.MessageCount = max(opt.MessageCount, 1)
	if list := form.CheckInsts(d); len(list) > 0 {
		return list
	}
	for i := NumProperties - 1; i >= 0; i-- {
		if want&(1<<i) != 0 {
			want |= restsOn(1 << i)
		}
	}
	var all diag.List
	broken := Property(0)
	for i, c := range checks {
		p := Property(1) << i
		if want&p == 0 || broken&restsOn(p) != 0 {
			continue
		}
		list := c.check(d, &opt)
		for k := range list {
			list[k].Text = fmt.Sprintf("not %s: %s", c.name, list[k].Text)
		}
		if len(list) > 0 {
			broken |= p
		}
		all = slices.Concat(all, list)
	}
	return all.Err()
}

// restsOn returns what a checker takes for granted.
func restsOn(p Property) Property {
	switch p {
	case Ordered:
		return Placed
	case Live, Synced:
		return Placed | Ordered
	}
	return 0
}
