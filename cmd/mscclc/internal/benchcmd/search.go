package benchcmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/tuning"
	"mscclc/executor/data"
	"mscclc/files"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"

	"github.com/spf13/cobra"
)

// Search returns mscclc search.
func Search(a *cli.App) *cobra.Command {
	f := benchFlags{task: toSearch}
	cmd := &cobra.Command{
		Use:   "search COLLECTIVE [FILE...]",
		Short: "Find the fastest programs for a collective by measuring, and write a table or rules",
		Long: `Measure the catalog's variants of a COLLECTIVE at each size, find how many CTAs they run best with, and
write a table to -o, by default to stdout. Entries of other devices, ranks, collectives and placements that are in the
file stay. bench and run take it by --table. Processes search together: the first writes the table, and on several
nodes each size takes about 30 s (--time). What is found is also kept in the user's cache, and later runs of bench
COLLECTIVE and run COLLECTIVE on the same hosts choose by it. MSCCLC_CACHE=FOLDER moves the cache, and MSCCLC_CACHE=off
turns it off.

--staged measures staged programs, which reach only scratch and packets of other ranks, for a bundle. It takes programs
that are proven in place and out of place and, for allreduce, whose ranks end with the same bits. Each rank has up to
--ctas CTAs (default 32). Graphs launch each program, and then it is launched one by one. -o FILE.rules gets the
fastest program for both kinds of launches, or "nccl" where --vs nccl found no program that is 3 % faster than NCCL.
Programs that take at most 2 % longer replace others, so that few programs and little memory are needed. Where they
need more than --arena, slower ones with less memory replace some. Powers of two between sizes are measured where one
rule ends and the next begins. Rules for other collectives stay in the file, which is written after each size.
mscclc bundle --rules reads it. With --procs, each rank is a process, as in training jobs:
then NCCL registers the buffers of captured calls, and is faster. With --windows instead of --staged, programs are
direct: they reach buffers of other ranks. All buffers are symmetric windows of NCCL's then, and the rules are for
calls between windows. mscclc tune does all this for all collectives that a library can run, and keeps it for mscclc
with.

` + choosing.OwnUsage + `

` + jobUsage,
		Example: `  mscclc search allgather --device cuda -o h200.table
  mscclc search allreduce ring.mscl --device cuda -o mine.table
  mscclc search allgather --device cuda --staged --ctas 32 --procs 4 --vs nccl -o h200.rules`,
		Args: cli.AtLeast(1, "a collective"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, a, args) },
	}
	flags := cmd.Flags()
	f.addCollective(flags)
	f.addJob(flags)
	flags.DurationVar(&f.limit, "time", 0,
		"look so long for the fastest program of a size in a placement (default: no limit, and over nodes 30s)")
	flags.StringVarP(&f.out, "output", "o", "",
		"write the table (default: stdout) to `FILE`.table, or the rules of --staged and --windows to FILE.rules")
	f.AddStaged(flags, "measure staged programs, whose calls may use any buffers, and write rules")
	flags.BoolVar(&f.windows, "windows", false,
		"measure direct programs, between buffers that NCCL has registered as symmetric windows, and write rules")
	cli.WordFlag(flags, &f.vs, "vs", "", "", "measure `RIVAL` beside ours: nccl (--staged, --windows)", []string{"nccl"})
	f.addNCCL(flags)
	f.ctas.Flags(flags, "let a rank have up to `N` CTAs (--staged, --windows)")
	flags.StringVar(&f.arena, "arena", "32M",
		"use up to `N` bytes of a rank's memory for the programs of a collective (--staged)")
	return cmd
}

// checkSearch says what of search's flags makes no sense.
func (f *benchFlags) checkSearch(p *benchPlan) error {
	switch {
	case f.vs != "" && f.vs != "nccl":
		return cli.Usagef("--vs takes nccl, not %q", f.vs)
	case f.limit < 0:
		return cli.Usagef("--time takes a time from 0 on, not %v", f.limit)
	case f.forRules():
		return f.checkStaged(p.kind)
	}
	if given := f.OneGiven("arena", "ctas", "vs"); given != "" {
		return cli.Usagef("%s is of searches for rules: it goes with --staged or --windows", given)
	}
	return f.wrongOutput(cli.TableEndings)
}

// checkStaged says what does not go with --staged and --windows.
func (f *benchFlags) checkStaged(kind ir.Kind) error {
	switch {
	case devices.GPUs[f.device] == nil:
		return cli.Usagef("search --staged measures launches of GPUs, and --device is %s", f.device)
	case f.place != "both" || f.root > 0:
		return cli.Usagef("search --staged measures both placements, and root 0: it takes no --place and --root")
	case f.OneGiven("time") != "":
		return cli.Usagef("search --staged takes no --time: it looks for %v at each size", searchTime)
	}
	return cmp.Or(f.checkWindows(kind), f.wrongOutput(cli.RulesEndings))
}

// searchAll measures the variants of a collective at all sizes, and writes what is
// fastest to the table, among what the table has of other calls. Of several processes the first has the file, and
// writes it after each size.
func searchAll(ctx context.Context, a *cli.App, w *benchWorld) error {
	table, err := w.tuned()
	if err := w.together(ctx, a, err); err != nil {
		return err
	}
	search := &bench.Search{Site: w.site, Measuring: w.searching(), Most: tuning.MostMeasured, Within: w.searchLimit(),
		Widths: w.widths()}
	if w.exchange != nil { // processes disturb each other more than threads do
		search.Fine = w.measuring
	}
	w.bar = &cli.Progress{}
	if w.first {
		w.bar = a.Progress(2*len(w.sizes), "search")
	}
	stop := w.bar.Watch()
	defer stop()
	found, failed := 0, error(nil)
	keep := func(entry selection.Entry) error {
		found++
		table.Put(entry)
		return w.together(ctx, a, w.keepTable(a, table))
	}
	for _, inplace := range [2]bool{false, true} {
		if w.measures(inplace) && failed == nil {
			failed = searchPlacement(ctx, a, w, search, inplace, keep)
		}
	}
	failed = w.because(failed)
	if found == 0 && failed != nil {
		return failed
	}
	if found == 0 {
		where := ""
		if w.place != "both" {
			where = " " + choosing.PlaceName(w.place == "in")
		}
		return diag.List{diag.New(diag.Unavailable, diag.Span{}, "no variant of %v runs%s with %s on %s", w.coll.Kind,
			where, diag.Counted(w.coll.Ranks, "rank"), w.site.Name())}
	}
	stop()
	if !w.first {
		return failed
	}
	return printTable(a, w.out, table, failed)
}

// tuned reads the table that is in -o, in the first process.
func (w *benchWorld) tuned() (*selection.Table, error) {
	fresh := &selection.Table{}
	if cli.IsStdout(w.out) || !w.first {
		return fresh, nil
	}
	old, err := files.Open(w.out)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	} else if err != nil {
		return nil, err
	}
	defer old.Close()
	return w.own.ReadTable(w.out, old)
}

// keepTable has the first process write the table to -o, if that is a file.
func (w *benchWorld) keepTable(a *cli.App, table *selection.Table) error {
	if cli.IsStdout(w.out) || !w.first {
		return nil
	}
	return a.WriteTo(w.out, table.Write)
}

// A SearchedDocument is what search --json prints: the table, which --table reads.
type SearchedDocument struct {
	Schema int    `json:"schema"`
	Output string `json:"output,omitempty" doc:"the file that it was written to"`
	*selection.Table
	Problems []diag.Problem `json:"problems"`
	cli.Noted
}

// printTable prints what was tuned until something failed, or nothing did. Without --json it prints the table alone,
// and only where file is stdout: another file has it already.
func printTable(a *cli.App, file string, table *selection.Table, failed error) error {
	stdout := cli.IsStdout(file)
	if !a.JSON && stdout {
		return errors.Join(a.WriteTo(file, table.Write), failed)
	}
	if !a.JSON {
		return failed
	}
	if stdout {
		file = ""
	}
	written := *table
	written.Version = selection.Version // as files have it, also before an entry was put
	doc := SearchedDocument{cli.Schema, file, &written, []diag.Problem{}, a.Notes.List()}
	code := cli.ExitGood
	if failed != nil {
		var list diag.List
		list, code = cli.FailureOf(failed, a.File)
		doc.Problems = diag.Report(a.File, list).Problems
	}
	if err := a.WriteJSON(doc); err != nil || code == cli.ExitGood {
		return err
	}
	return cli.ReportedError{Code: code}
}

// searchPlacement measures one placement at all sizes. After each it calls keep with the rules so far.
func searchPlacement(ctx context.Context, a *cli.App, w *benchWorld, search *bench.Search, inplace bool,
	keep func(selection.Entry) error) error {
	call := w.call(inplace)
	entry := call.Entry(w.site.Name())
	widths := map[string]bench.Form{} // that the size before ran best with, by name
	for i, bytes := range w.sizes {
		c := &bench.Call{Coll: bench.Whole(w.coll, inplace), DType: w.dtype, RedOp: w.redop}
		c.Elems = data.PieceElems(c.Coll, bytes, w.dtype)
		found, err := w.candidates(ctx, call, c.Bytes(), widths)
		if err != nil {
			return devices.Impossible(err)
		}
		if len(found.forms) == 0 {
			return nil // the collective has no program in this placement
		}
		tried, err := w.fastest(ctx, search, c, call, found)
		if err != nil {
			return devices.Impossible(err)
		}
		best := tried[0]
		for _, t := range slices.Backward(tried) {
			widths[t.Name] = t.Form
		}
		v := w.measuredAs(best)
		w.bar.Step()
		w.tell(func() {
			note := choosing.DifferNote(v.Program, w.chooser.Differs(v, call), w.dtype)
			if note != "" {
				note = " (" + note + ")"
			}
			a.Say("%v %s %s: %.2f us, %v%s", call.Kind, choosing.PlaceName(inplace), cli.SizeText(c.Bytes()), best.Micros, v, note)
		})
		rule := selection.Rule{Choice: v, Micros: math.Round(best.Micros*100) / 100}
		entry.Rules = ruled(entry.Rules, rule, w.sizes, i, w.factor)
		if w.found != nil {
			w.found.Tuned(call.Entry(w.site.Name()), rule, c.Bytes())
		}
		if err := keep(entry); err != nil {
			return err
		}
	}
	return nil
}

// measuredAs returns what was measured.
func (w *benchWorld) measuredAs(t bench.Tried) selection.Choice {
	c := t.Choice
	if devices.GPUs[w.device] == nil {
		c.Threads = 0 // which only a GPU's blocks have
	}
	return c
}

// tell has the first process print something where the bar stands.
func (w *benchWorld) tell(print func()) {
	if w.first {
		w.bar.Over(print)
	}
}

// ruled adds the rule of size i. It ends there, as rules of bundles do (bundle.End). The last one reaches half a factor
// further, as the logarithm goes, or to all larger calls if it is large. Equal neighbours are one rule.
func ruled(rules []selection.Rule, r selection.Rule, sizes []int64, i int, factor int64) []selection.Rule {
	switch {
	case i+1 < len(sizes):
		r.UpTo = sizes[i]
	case sizes[i] < tuning.Large:
		r.UpTo = int64(float64(sizes[i]) * math.Sqrt(float64(factor)))
	}
	if n := len(rules); n > 0 && rules[n-1].Choice == r.Choice {
		rules[n-1] = r
		return rules
	}
	return append(rules, r)
}
