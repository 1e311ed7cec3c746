package verify

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/eval"
	"mscclc/ir/form"
)

// A Report is what Check saw.
type Report struct {
	Ranks, Channels, Blocks, Steps int

	Slots, MessageChunks int  // that the program was judged with
	Ran                  bool // the outputs were compared with the collective

	Counterexamples []Counterexample

	Warnings diag.List // of who unrolled the program: what has no use in it
}

func (r Report) String() string {
	return fmt.Sprintf("%d ranks, %s, %s, %s", r.Ranks, diag.Counted(r.Channels, "channel"), diag.Counted(r.Blocks, "block"),
		diag.Counted(r.Steps, "step"))
}

// Check judges p. An empty list means that p is proven. A program that is for
// calls in place and for others is judged as both: first as Coll.Inplace says.
func Check(p *ir.Program, opt Options) (Report, diag.List) { return check(p, opt, false) }

// CheckAndMark judges p as Check does, and sets the flags Final of p as ir.MarkFinal does: the run that proves the
// result shows which steps make complete sums. No step of p has the flag yet. p is for sends and receives.
func CheckAndMark(p *ir.Program, opt Options) (Report, diag.List) { return check(p, opt, true) }

// InPlace begins the text of what is wrong in calls in place, of a program that is for calls out of place first.
const InPlace = "in place: "

func check(p *ir.Program, opt Options, mark bool) (Report, diag.List) {
	c := &twoSided{&checker{p: p, opt: opt, mark: mark}}
	c.judge()
	report, list := c.report(), decided(c.Done())
	if len(list) > 0 || !p.InPlace || !p.OutOfPlace {
		return report, list
	}
	q := p.Called(!p.Coll.Inplace)
	q.OutOfPlace = false // judged already
	report, list = Check(q, opt)
	how := "out of place: "
	if q.Coll.Inplace {
		how = InPlace
	}
	for i := range list {
		list[i].Text = how + list[i].Text
	}
	for i := range report.Counterexamples {
		report.Counterexamples[i].Problem.Text = how + report.Counterexamples[i].Problem.Text
		report.Counterexamples[i].OtherPlace = true
	}
	return report, list
}

// A twoSided judges a two-sided program.
type twoSided struct{ *checker }

// judge judges a program of either kind.
func (c *twoSided) judge() {
	c.budgets()
	if c.List = form.Check(c.p, c.bounds()); len(c.List) > 0 {
		return
	}
	if c.p.OneSided != nil {
		judgeOneSided(c.checker)
		return
	}
	if !c.across() {
		return
	}
	c.sizes()
	c.w = eval.Wire(c.p)
	if flags, matching := c.flags(), c.matching(); !flags || !matching {
		return
	}
	order := c.liveness()
	if order == nil {
		return
	}
	run := c.races(order)
	if run != nil {
		c.result(run)
		c.ran = true
	}
}

// sizes decides how many slots a connection has and how many chunks a message.
func (c *twoSided) sizes() {
	p := c.p
	if c.opt.Slots <= 0 {
		c.opt.Slots = p.Protocol.Slots()
	}
	if c.opt.SlotBytes <= 0 {
		c.opt.SlotBytes = p.Protocol.SlotBytes()
	}
	c.bySize = c.opt.MessageChunks <= 0
	if c.bySize {
		c.opt.MessageChunks = 1
		if p.Sizes.Max > 0 {
			c.opt.MessageChunks = p.Coll.MessageChunks(p.Sizes.Max-1, c.opt.SlotBytes)
		}
	}
	switch {
	case c.opt.MostChunks > 0:
	case c.bySize && p.Sizes.Min > 0:
		c.opt.MostChunks = p.Coll.MessageChunks(p.Sizes.Min, c.opt.SlotBytes)
	default:
		c.opt.MostChunks = ir.MaxMessageChunks
	}
	c.opt.MostChunks = max(c.opt.MostChunks, c.opt.MessageChunks)
}

func (c *twoSided) report() Report {
	r := Report{Channels: c.p.Channels, Blocks: len(c.p.Blocks), Steps: len(c.p.Steps), Slots: c.opt.Slots,
		MessageChunks: c.opt.MessageChunks, Ran: c.ran, Counterexamples: c.counterexamples}
	if c.p.Coll != nil {
		r.Ranks = c.p.Coll.Ranks
	}
	return r
}
