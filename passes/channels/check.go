package channels

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// turnsChecked are the numbers of turns of loops that Check looks at, to show what is wrong where it is easily seen.
const turnsChecked = 3

// Check judges p as the one-sided program that it means: where it has loops, in 1, 2 and 3 turns, and then by what one
// turn shows of any number (any.go). What that does not decide is rejected as undecided, though CheckTurns proves
// single numbers of turns. An empty list means that p is proven, in any number of turns.
//
// The program is the one that was judged last: the report's witnesses are of its steps, and problems name operations of
// p.
func Check(p *ir.ChannelProgram, opt verify.Options) (*ir.Program, verify.Report, diag.List) {
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

// CheckTurns judges p in so many turns, as Unroll counts them.
func CheckTurns(p *ir.ChannelProgram, turns int, opt verify.Options) (*ir.Program, verify.Report, diag.List) {
	u, err := unroll(p, turns)
	if err != nil {
		g, report := u.shown(opt)
		return g, report, inTurns(p, turns, err.(diag.List))
	}
	report, found := verify.Check(u.program, opt)
	for i := range found {
		u.rename(&found[i])
	}
	for i := range report.Witnesses {
		u.rename(&report.Witnesses[i].Problem)
	}
	report.Names = u.renamed
	found = found.FoldRanks()
	report.Witnesses = slices.DeleteFunc(report.Witnesses, func(w verify.Witness) bool {
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
		list[i].Text += ", where loops have " + diag.Counted(turns, "turn")
	}
	return list
}

// What verify's problems name.
var (
	namedStep  = regexp.MustCompile(`rank (\d+) block (\d+) step (\d+)( \(\w+\))?`)
	namedStill = regexp.MustCompile(
		`(rank (\d+) block (\d+) step \d+ \(\w+\)[^;]*; that block is still at )step (\d+) \(\w+\)`)
	namedApart = regexp.MustCompile(`rank (\d+) block (\d+) do not meet between step (\d+) \(\w+\) and step (\d+) \(\w+\)`)
	namedOther = regexp.MustCompile(`step (\d+) of rank (\d+) block (\d+)`)
	namedChunk = regexp.MustCompile(`\b(in|input|output|scratch|packets)(\[\w+\])?\[(\d+)\]`)
	namedRange = regexp.MustCompile(`\boutput\[(\d+)\.\.(\d+)\]`) // of a WrongList
	namedBlock = regexp.MustCompile(`rank (\d+) block (\d+)\b`)
)

// rename has a problem, and its notes, name operations and chunks of the channel program.
func (u *unroller) rename(d *diag.Diagnostic) {
	d.Text = u.renamed(d.Text)
	for i := range d.Notes {
		d.Notes[i].Text = u.renamed(d.Notes[i].Text)
	}
	if u.ofPort(d) {
		d.Hint = "a port is done with what was put when a flush behind it is over (in plans pwsf), or when what comes back for a signal behind it says so: flush it"
	}
	if s := u.source(d.Rank, d.Block, d.Step); s != nil {
		d.Block, d.Step = int(s.block), int(s.op)
	}
}

// ofPort says whether a problem, which names the program's steps, is that a port may still read what it was to put.
func (u *unroller) ofPort(d *diag.Diagnostic) bool {
	switch {
	case d.Code != diag.Race || d.Rank < 0 || d.Block < 0:
		return false
	case d.Block >= len(u.p.Ranks[d.Rank].Blocks):
		return strings.Contains(d.Text, " reads ")
	}
	return slices.ContainsFunc(d.Notes, func(n diag.Note) bool { return strings.Contains(n.Text, "a port of rank") }) &&
		slices.ContainsFunc(d.Notes, func(n diag.Note) bool { return strings.HasSuffix(n.Text, " reads it") })
}

// source is the operation of a step of the program, or nil.
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

// chunkPart names the n-th part of a buffer whose chunks are divided.
func (u *unroller) chunkPart(n int) string {
	return fmt.Sprintf("%d, part %d of %d", n/int(u.parts), n%int(u.parts)+1, u.parts)
}

// renamed is a text of verify's, with the operations and chunks of the channel program for those of the program.
func (u *unroller) renamed(text string) string {
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	text = namedStill.ReplaceAllStringFunc(text, func(s string) string {
		m := namedStill.FindStringSubmatch(s)
		if at := u.source(number(m[2]), number(m[3]), number(m[4])); at != nil {
			return m[1] + at.short()
		}
		return s
	})
	text = namedApart.ReplaceAllStringFunc(text, func(s string) string {
		m := namedApart.FindStringSubmatch(s)
		before, behind := u.source(number(m[1]), number(m[2]), number(m[3])),
			u.source(number(m[1]), number(m[2]), number(m[4]))
		if before != nil && behind != nil {
			return fmt.Sprintf("rank %s block %d do not meet between %s and %s", m[1], before.block, before.short(),
				behind.short())
		}
		return s
	})
	text = namedStep.ReplaceAllStringFunc(text, func(s string) string {
		m := namedStep.FindStringSubmatch(s)
		if at := u.source(number(m[1]), number(m[2]), number(m[3])); at != nil {
			return at.name(int32(number(m[1])))
		}
		return s
	})
	text = namedOther.ReplaceAllStringFunc(text, func(s string) string {
		m := namedOther.FindStringSubmatch(s)
		if at := u.source(number(m[2]), number(m[3]), number(m[1])); at != nil {
			return at.short() + " of rank " + m[2] + " block " + strconv.Itoa(int(at.block))
		}
		return s
	})
	text = namedBlock.ReplaceAllStringFunc(text, func(s string) string {
		m := namedBlock.FindStringSubmatch(s)
		if r, b := number(m[1]), number(m[2]); r < len(u.blocks) && b < len(u.blocks[r]) && b >= len(u.p.Ranks[r].Blocks) {
			return fmt.Sprintf("a port of rank %d block %d", r, u.blocks[r][b].owner)
		}
		return s
	})
	if u.parts > 1 {
		text = namedChunk.ReplaceAllStringFunc(text, func(s string) string {
			m := namedChunk.FindStringSubmatch(s)
			n := number(m[3])
			return m[1] + m[2] + "[" + u.chunkPart(n) + "]"
		})
		text = namedRange.ReplaceAllStringFunc(text, func(s string) string {
			m := namedRange.FindStringSubmatch(s)
			from, to, parts := number(m[1]), number(m[2]), int(u.parts)
			switch {
			case from%parts != 0 || to%parts != 0:
				return "output[" + u.chunkPart(from) + ", to " + u.chunkPart(to-1) + "]"
			case to-from == parts:
				return fmt.Sprintf("output[%d]", from/parts)
			}
			return fmt.Sprintf("output[%d..%d]", from/parts, to/parts)
		})
	}
	return strings.ReplaceAll(text, "packets[", "packets of scratch[")
}
