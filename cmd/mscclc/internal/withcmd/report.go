package withcmd

import (
	"os"
	"slices"
	"strings"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// This file says which calls of the job programs run, and which NCCL runs.

// A SetReport says what communicators of a given number of ranks run.
type SetReport struct {
	Ranks   int               `json:"ranks"`
	Nodes   string            `json:"nodes,omitempty" doc:"the ranks of each node; absent: one node"`
	Reduced []string          `json:"reduced" doc:"types of calls that compute, of which programs may run calls"`
	Moved   []string          `json:"moved" doc:"types of calls that only move, of which programs may run calls"`
	Gaps    []bundle.Gap      `json:"gaps" doc:"calls that no program runs: NCCL does, or they fail without NCCL"`
	Wide    []bundle.RuleInfo `json:"wide" doc:"rules that need more CTAs, so that they do not count"`
	Refuses bool              `json:"refuses,omitempty" doc:"sums of floats are errors: no rule is for invariant bits"`

	title string
	empty bool // it has no programs
}

// report fills in what the bundle's programs run, and what not.
func (doc *Document) report(a *cli.App, b *bundle.Bundle) {
	doc.CTAs, doc.Sets = ctas(a), []SetReport{}
	machine, _ := tuned.Here("") // without GPUs, none are apart
	for _, s := range setsOf(b) {
		gaps := b.Gaps(s, doc.CTAs, s.Node == nil && machine.Apart(s.Ranks))
		r := SetReport{Ranks: s.Ranks, Nodes: s.Nodes(), Gaps: doc.learned(gaps), Wide: b.Wide(s, doc.CTAs),
			title: s.Title(), empty: len(s.Programs) == 0}
		r.Reduced, r.Moved = s.Types()
		r.Refuses = invariant() && s.Ranks > 2 && !s.Invariant
		doc.Sets = append(doc.Sets, r)
	}
}

// bitsVariable is the variable by which a job wants the same bits for all sizes.
const bitsVariable = "MSCCLC_BITS"

// invariant reports whether the job wants them, as the library reads the environment (invariant_bits in runtime/src).
func invariant() bool { return os.Getenv(bitsVariable) == selection.Invariant }

// checkBits refuses a value of the variable that the library would only warn of: NCCL would run the sums.
func checkBits() error {
	if text := os.Getenv(bitsVariable); text != "" && !invariant() {
		return cli.Usagef("%s takes %s, not %q", bitsVariable, selection.Invariant, text)
	}
	return nil
}

// setsOf returns the sets that communicators of the job have, as set_open in runtime/src finds them.
func setsOf(b *bundle.Bundle) (list []*bundle.Set) {
	for i := range b.Sets {
		s := &b.Sets[i]
		n := len(list)
		switch {
		case s.Invariant && !invariant():
		case s.Invariant: // it follows the one for other jobs
			list[n-1] = s
		default:
			list = append(list, s)
		}
	}
	return list
}

// learned returns gaps as the environment has them: without NCCL candidates are rules, and learning may be off.
func (doc *Document) learned(gaps []bundle.Gap) []bundle.Gap {
	if doc.NCCL == none {
		return slices.DeleteFunc(gaps, func(g bundle.Gap) bool { return g.Reason == bundle.ToLearn })
	}
	if learns() {
		return gaps
	}
	for i := range gaps {
		if gaps[i].Reason == bundle.ToLearn {
			gaps[i].Reason = "not measured, and learning is off (MSCCLC_LEARN, CUBLAS_WORKSPACE_CONFIG)"
		}
	}
	return gaps
}

// learns reports whether the library learns in a job, as it reads the environment (learn_setting in runtime/src).
func learns() bool {
	return os.Getenv("MSCCLC_LEARN") != "0" && os.Getenv("CUBLAS_WORKSPACE_CONFIG") == ""
}

// noteSums notes that most sums of floats are not learned by default.
func (doc *Document) noteSums(a *cli.App) {
	learns := func(r SetReport) bool {
		return r.Ranks > 2 && slices.ContainsFunc(r.Gaps, func(g bundle.Gap) bool { return g.Reason == bundle.ToLearn })
	}
	if !invariant() && os.Getenv("MSCCLC_LEARN") != "all" && slices.ContainsFunc(doc.Sets, learns) {
		a.Note("", "sums of floats of more than 2 ranks are learned with MSCCLC_LEARN=all only, since their bits may change")
	}
}

// noteBits notes what MSCCLC_BITS=invariant makes errors.
func (doc *Document) noteBits(a *cli.App) {
	if !invariant() {
		return
	}
	a.Note("", "with MSCCLC_BITS=invariant, sums of floats of more than 2 ranks that no program runs are errors")
	for i := range doc.Sets {
		if r := &doc.Sets[i]; r.Refuses {
			a.Note("", "with %s all sums of floats are errors: no rule of the bundle is for invariant bits; mscclc bundle "+
				"--candidates adds such rules", r.title)
		}
	}
}

// print says in a few lines what report found.
func (doc *Document) print(a *cli.App) {
	rest, who := "NCCL runs all others, and Send and Recv", "NCCL runs"
	if doc.NCCL == none {
		rest, who = "all others, and Send and Recv, are errors", "these are errors"
	}
	var ranks []string
	for i := range doc.Sets {
		if r := &doc.Sets[i]; !r.empty {
			ranks = append(ranks, r.title)
		} else {
			a.Note("", "%s all calls of %s: the bundle has no programs for them", who, r.title)
		}
	}
	if len(ranks) == 0 {
		return
	}
	if invariant() && doc.NCCL != none {
		who = "NCCL runs these, and sums of floats among them are errors"
	}
	a.Note("", "programs run collective calls of communicators with %s; %s", strings.Join(ranks, ", "), rest)
	for i := range doc.Sets {
		if r := &doc.Sets[i]; !r.empty {
			r.print(a, who, doc.CTAs)
		}
	}
	doc.noteBits(a)
	doc.noteSums(a)
}

// shown is how many lines on a number of ranks are printed at most.
const shown = 20

// print prints a line for each group of calls.
func (r *SetReport) print(a *cli.App, who string, ctas int) {
	if len(r.Wide) > 0 {
		most := slices.MaxFunc(r.Wide, func(a, b bundle.RuleInfo) int { return int(a.CTAs) - int(b.CTAs) }).CTAs
		a.Note("", "with %s, a launch has at most %s (MSCCLC_CTAS, NCCL_MAX_CTAS); left out, as they need up to %d: %s",
			r.title, diag.Counted(ctas, "CTA"), most, diag.Counted(len(r.Wide), "rule"))
	}
	var keys []string
	collectives := map[string][]string{} // by the rest of the line
	for i := range r.Gaps {
		g := &r.Gaps[i]
		if g.Reason == bundle.NoKernel {
			continue // the last line has the types
		}
		key := g.Text() + "\t" + sizes(g)
		if g.Reason != bundle.ToNCCL {
			key += "\t" + g.Reason
		}
		if collectives[key] == nil {
			keys = append(keys, key)
		}
		collectives[key] = append(collectives[key], g.Collective)
	}
	var rows []string
	for _, key := range keys {
		rows = append(rows, "  "+strings.Join(collectives[key], ", ")+"\t"+key)
	}
	a.Say("with %s, %s:", r.title, who)
	for line := range strings.Lines(cli.Table(rows[:min(len(rows), shown)]...)) {
		a.Say("%s", strings.TrimRight(line, " \n"))
	}
	if len(rows) > shown {
		a.Say("  and %s that --json prints", diag.Counted(len(rows)-shown, "group"))
	}
	a.Say("  types: all but %s in calls that reduce; all but %s in calls that move", orNone(r.Reduced), orNone(r.Moved))
}

// sizes says for which bytes a gap is.
func sizes(g *bundle.Gap) string {
	switch {
	case g.UpTo == 0 && g.Above == 0:
		return "any size"
	case g.UpTo == 0:
		return "above " + diag.SizeText(int64(g.Above))
	case g.Above == 0:
		return "up to " + diag.SizeText(int64(g.UpTo))
	}
	return diag.SizeText(int64(g.Above)) + " to " + diag.SizeText(int64(g.UpTo))
}

// orNone lists types.
func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
