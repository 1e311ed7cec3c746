package verify

import (
	"fmt"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/eval"
	"mscclc/ir/fifo"
	"mscclc/ir/form"
	"mscclc/ir/verify/checker"
	"mscclc/ir/verify/onesided"
)

// Options are what a judgement depends on besides the program.
type Options = checker.Options

// A Counterexample is what shows one problem, so that it can be replayed.
type Counterexample = checker.Counterexample

// A Report is what Check saw.
type Report struct {
	Ranks, Channels, Blocks, Steps int

	Slots, MessageChunks int  // that the program was judged with
	Ran                  bool // the outputs were compared with the collective

	Counterexamples []checker.Counterexample

	Warnings diag.List // of who unrolled the program: what has no use in it
}

func (r Report) String() string {
	return fmt.Sprintf("%d ranks, %s, %s, %s", r.Ranks, diag.Counted(r.Channels, "channel"), diag.Counted(r.Blocks, "block"),
		diag.Counted(r.Steps, "step"))
}

// Check judges p. An empty list means that p is proven. A program that is for
// calls in place and for others is judged as both: first as Coll.Inplace says.
func Check(p *either.Program, opt checker.Options) (Report, diag.List) { return check(p, opt, false) }

// CheckAndMark judges p as Check does, and sets the flags Final of p as ir.MarkFinal does: the run that proves the
// result shows which steps make complete sums. No step of p has the flag yet. p is for sends and receives.
func CheckAndMark(p *either.Program, opt checker.Options) (Report, diag.List) {
	return check(p, opt, true)
}

// InPlace begins the text of what is wrong in calls in place, of a program that is for calls out of place first.
const InPlace = "in place: "

func check(p *either.Program, opt checker.Options, mark bool) (Report, diag.List) {
	c := &checker.Checker{P: p, Opt: opt, Mark: mark}
	judge(c)
	report, list := reportOf(c), checker.Decided(c.Done())
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

// judge judges a program of either kind.
func judge(c *checker.Checker) {
	c.Budgets()
	if c.List = form.Check(c.P, c.Bounds()); len(c.List) > 0 {
		return
	}
	if c.P.OneSided != nil {
		onesided.Prove(c, c.P.OneSided)
		return
	}
	(&twoSided{c, c.P.Fifo}).prove()
}

// A twoSided proves P, a two-sided program.
type twoSided struct {
	*checker.Checker
	P *fifo.Program
}

func (c *twoSided) prove() {
	if !c.Across() {
		return
	}
	c.sizes()
	c.W = eval.Wire(c.P)
	if flags, matching := c.flags(), c.matching(); !flags || !matching {
		return
	}
	order := c.liveness()
	if order == nil {
		return
	}
	run := c.races(order)
	if run != nil {
		c.Result(run)
		c.Ran = true
	}
}

// sizes decides how many slots a connection has and how many chunks a message.
func (c *twoSided) sizes() {
	p := c.P
	if c.Opt.Slots <= 0 {
		c.Opt.Slots = p.Protocol.Slots()
	}
	if c.Opt.SlotBytes <= 0 {
		c.Opt.SlotBytes = p.Protocol.SlotBytes()
	}
	c.BySize = c.Opt.MessageChunks <= 0
	if c.BySize {
		c.Opt.MessageChunks = 1
		if p.Sizes.Max > 0 {
			c.Opt.MessageChunks = p.Coll.MessageChunks(p.Sizes.Max-1, c.Opt.SlotBytes)
		}
	}
	switch {
	case c.Opt.MostChunks > 0:
	case c.BySize && p.Sizes.Min > 0:
		c.Opt.MostChunks = p.Coll.MessageChunks(p.Sizes.Min, c.Opt.SlotBytes)
	default:
		c.Opt.MostChunks = ir.MaxMessageChunks
	}
	c.Opt.MostChunks = max(c.Opt.MostChunks, c.Opt.MessageChunks)
}

func reportOf(c *checker.Checker) Report {
	r := Report{Channels: c.P.Channels(), Blocks: len(c.P.Blocks), Steps: len(c.P.Steps), Slots: c.Opt.Slots,
		MessageChunks: c.Opt.MessageChunks, Ran: c.Ran, Counterexamples: c.Counterexamples}
	if c.P.Coll != nil {
		r.Ranks = c.P.Coll.Ranks
	}
	return r
}
