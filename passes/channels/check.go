package channels

import (
	"slices"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/onesided"
	"mscclc/ir/verify"
)

// turnsChecked are the numbers of turns of loops that Check looks at, to show what is wrong where it is easily seen.
const turnsChecked = 3

// Check judges p as the one-sided program that it means: where it has loops, in 1, 2 and 3 turns, and then by what one
// turn shows of any number (any.go). What that does not decide is rejected as undecided, though CheckTurns proves
// single numbers of turns. An empty list means that p is proven, in any number of turns.
//
// The program is the one that was judged last: the report's counterexamples are of its steps, and problems name
// operations of p. The report's warnings are of packets that nothing reads.
func Check(p *ir.ChannelProgram, opt verify.Options) (*onesided.Program, verify.Report, diag.List) {
	if leastLoop(p) == nil {
		return CheckTurns(p, 1, opt)
	}
	for turns := 1; ; turns++ {
		g, report, found := CheckTurns(p, turns, opt)
		if len(found) > 0 {
			return g, report, found
		}
		if turns == turnsChecked {
			if u, err := unroll(p, 1); err == nil { // as above
				found = u.anyTurns()
			}
			return g, report, found
		}
	}
}

// CheckTurns judges p in a number of turns, as Unroll counts them.
func CheckTurns(p *ir.ChannelProgram, turns int, opt verify.Options) (*onesided.Program, verify.Report, diag.List) {
	u, err := unroll(p, turns)
	if err != nil {
		g, report := u.shown(opt)
		return g, report, inTurns(p, turns, err.(diag.List))
	}
	report, found := verify.Check(either.OfOneSided(u.program), opt)
	report.Warnings = u.unread.FoldRanks()
	u.flushHints(report.Counterexamples, found)
	for i := range found {
		u.translate(&found[i])
	}
	for i := range report.Counterexamples {
		u.translate(&report.Counterexamples[i].Problem)
	}
	found = found.FoldRanks()
	report.Counterexamples = slices.DeleteFunc(report.Counterexamples, func(w verify.Counterexample) bool {
		return !slices.ContainsFunc(found, w.Problem.Same)
	})
	return u.program, report, inTurns(p, turns, found)
}

// inTurns says of problems in how many turns they are.
func inTurns(p *ir.ChannelProgram, turns int, list diag.List) diag.List {
	if leastLoop(p) == nil {
		return list
	}
	for i := range list {
		list[i].Text += ", with " + diag.Counted(turns, "loop iteration")
	}
	return list
}

// translate makes d, a problem of a step of the program, one of the operation that the step was made of.
func (u *unroller) translate(d *diag.Diagnostic) {
	if s := u.source(d.Rank, d.Block, d.Step); s != nil {
		d.Block, d.Step = int(s.block), int(s.op)
	}
}

// flushHints has a hint with each race, of those that counterexamples show and of found, of a port that may still read
// what it was to put, or that copies packets which need not be there.
func (u *unroller) flushHints(counterexamples []verify.Counterexample, found diag.List) {
	for i := range counterexamples {
		w := &counterexamples[i]
		if w.Problem.Code != diag.Race || w.Reader < 0 || !u.ofPort(w.Reader) {
			continue
		}
		hint := flushHint
		if u.sources[w.Reader].lies && w.Apart == 0 {
			hint = packHint
		}
		for k := range found {
			if found[k].Same(w.Problem) {
				found[k].Hint = hint
			}
		}
		w.Problem.Hint = hint
	}
}

const packHint = "a put over a port copies packets as they lie: have a block barrier, a barrier, or a semaphore with a " +
	"nop before its release and one after its acquire, between those that make them and the put, or have the put wait " +
	"for them (rppkt in plans)"

const flushHint = "flush the port: a put completes at the next flush (pwsf in plans), or when a signal that depends on it arrives"

// ofPort reports whether a step of the program is a port's.
func (u *unroller) ofPort(step int32) bool {
	rank, block, _ := u.program.Place(step)
	return block >= len(u.p.Ranks[rank].Blocks)
}

// source returns the operation of a step of the program, or nil.
func (u *unroller) source(rank, block, step int) *source {
	g := u.program
	if rank < 0 || block < 0 || step < 0 || rank >= len(g.Rank) || block >= len(g.TBsOf(rank)) {
		return nil
	}
	at := int(g.TBsOf(rank)[block].Steps.First) + step
	if at >= len(u.sources) {
		return nil
	}
	return &u.sources[at]
}
