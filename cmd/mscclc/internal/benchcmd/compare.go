package benchcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/tuning"
	"mscclc/executor/data"
	"mscclc/ir/diag"
	"mscclc/selection"

	"github.com/spf13/cobra"
)

// Compare returns mscclc compare.
func Compare(a *cli.App) *cobra.Command {
	f := benchFlags{task: toCompare}
	cmd := &cobra.Command{
		Use:   "compare COLLECTIVE [FILE...]",
		Short: "Compare what is chosen for a collective with all programs of the catalog",
		Long: `Measure what is chosen for each size of a COLLECTIVE, and every variant of the catalog, each with its best
number of CTAs as far as --time allows. Then measure the chosen and the fastest variant alternately, and print both and
their ratio. The exit code is 1 where a chosen variant takes 5 % longer than the fastest.

What is chosen is what mscclc bench COLLECTIVE measures: by --table, by what mscclc search found on these hosts, by the
table that mscclc has for the devices, or by simulation. -o FILE has all measured times, one JSON object per line.

` + choosing.OwnUsage,
		Example: `  mscclc compare allreduce --device cuda -o times.jsonl
  mscclc compare allgather --device cuda --table mine.table -b 64K -e 16M`,
		Args: cli.AtLeast(1, "a collective"),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, a, args) },
	}
	flags := cmd.Flags()
	f.addCollective(flags)
	f.choiceFlags.add(flags)
	f.AddNodes(flags, "choose by --table,")
	flags.DurationVar(&f.limit, "time", 1500*time.Millisecond,
		"look this long for faster widths of a size, after one width of each variant")
	flags.StringVarP(&f.out, "output", "o", "", "write all times as JSON lines to `FILE`.jsonl")
	return cmd
}

// checkCompare says what of compare's flags makes no sense.
func (f *benchFlags) checkCompare() error {
	if f.limit <= 0 {
		return cli.Usagef("--time takes a time above 0, not %v", f.limit)
	}
	return f.wrongOutput(cli.TimesEndings)
}

// tolerance is how much longer than the best a chosen variant may take.
const tolerance = 1.05

// A comparing is one run of compare.
type comparing struct {
	*benchWorld
	app    *cli.App
	search *bench.Search
	rows   []comparedRow
	times  []comparedTime
	failed error
}

// A ComparedDocument is what compare --json prints.
type ComparedDocument struct {
	Schema     int            `json:"schema"`
	Collective string         `json:"collective"`
	Ranks      int            `json:"ranks"`
	Device     string         `json:"device"`
	Rows       []comparedRow  `json:"rows"`
	Within     int            `json:"within" doc:"rows whose chosen variant is within 5 % of the best"`
	Mean       float64        `json:"geometric_mean" doc:"of ratio"`
	Problems   []diag.Problem `json:"problems"`
	cli.Noted
}

// A comparedRow is one size in one placement.
type comparedRow struct {
	Bytes   int64        `json:"bytes"`
	Inplace bool         `json:"inplace"`
	Chosen  comparedForm `json:"chosen" doc:"by the tables or the simulation"`
	Best    comparedForm `json:"best"`
	Ratio   float64      `json:"ratio" doc:"how many times as long the chosen one takes"`
	Tried   int          `json:"tried" doc:"variants, in any width"`
}

type comparedForm struct {
	selection.Choice
	Micros float64 `json:"us"`
}

// A comparedTime is a line of -o: one measurement.
type comparedTime struct {
	Collective string `json:"collective"`
	selection.Choice
	Ranks   int     `json:"ranks"`
	Root    int     `json:"root,omitempty"`
	Inplace bool    `json:"inplace"`
	Bytes   int64   `json:"bytes"`
	DType   string  `json:"dtype"`
	Device  string  `json:"device"`
	Micros  float64 `json:"us"`
	Chosen  bool    `json:"chosen,omitempty"` // by table or simulation
	Final   bool    `json:"final,omitempty"`  // measured in turns with the chosen one, for longer
}

// compareAll measures, for each size, what is chosen beside all that the catalog has, and says how far it is from the
// best.
func compareAll(ctx context.Context, a *cli.App, w *benchWorld) error {
	j := &comparing{benchWorld: w, app: a}
	j.search = &bench.Search{Site: w.site, Measuring: w.searching(), Most: tuning.MostMeasured, Within: w.limit}
	w.bar = a.Progress(2*len(w.sizes), "compare")
	stop := w.bar.Watch()
	defer stop()
	if !a.JSON {
		fmt.Fprintf(a.Stdout, "# mscclc compare: %v of %s on %s, what is chosen beside all of the catalog\n",
			w.coll.Kind, diag.Counted(w.coll.Ranks, "rank"), w.site.Name())
		fmt.Fprintf(a.Stdout, "# %10s  %-12s  %9s  %-42s  %9s  %-42s  %5s  %s\n", "size (B)", "place", "chosen us",
			"chosen", "best us", "best", "ratio", "measured")
	}
	var ended error
	for _, bytes := range w.sizes {
		for _, inplace := range [2]bool{false, true} {
			if !w.measures(inplace) || ended != nil {
				continue
			}
			ended = j.size(ctx, bytes, inplace)
			w.bar.Step()
		}
	}
	stop()
	if w.out != "" { // what was measured counts, whatever came then
		ended = errors.Join(ended, a.WriteTo(w.out, j.writeTimes))
	}
	if ended != nil {
		return ended
	}
	return j.verdict()
}

// size compares one call. Only what ends all is an error.
func (j *comparing) size(ctx context.Context, bytes int64, inplace bool) error {
	call := j.call(inplace)
	c := &bench.Call{Coll: bench.Whole(j.coll, inplace), DType: j.dtype, RedOp: j.redop}
	c.Elems = data.PieceElems(c.Coll, bytes, j.dtype)
	v, err := choosing.Together(ctx, j.exchange, j.chooser, call, c.Bytes(), j.dtype.Size())
	if errors.Is(err, choose.ErrNotInPlace) {
		return nil
	}
	if err != nil {
		return err
	}
	chosen, err := j.variant(v, call)
	if err != nil {
		return err
	}
	forms := j.catalog(call, c.Bytes())
	var wide *bench.Form // chosen, as the executor makes it: it is measured first
	j.search.Seen = func(t bench.Tried, final bool) {
		if wide == nil && t.Name == chosen.Name {
			wide = &t.Form
		}
		row := comparedTime{Collective: call.Kind.String(), Choice: j.measuredAs(t), Ranks: call.Ranks, Root: call.Root,
			Inplace: inplace, Bytes: c.Bytes(), DType: j.dtype.String(), Device: j.site.Name(),
			Micros: choosing.Hundredths(t.Micros),
			Chosen: wide != nil && t.Form == *wide, Final: final}
		j.times = append(j.times, row)
	}
	found, err := j.search.Judge(ctx, c, chosen, forms)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		j.failed = errors.Join(j.failed, fmt.Errorf("%s %s: %w", cli.SizeText(c.Bytes()), choosing.PlaceName(inplace), err))
		return nil
	}
	row := comparedRow{Bytes: c.Bytes(), Inplace: inplace, Ratio: found.Ratio(), Tried: found.Tried,
		Chosen: comparedForm{j.measuredAs(found.Chosen), choosing.Hundredths(found.Chosen.Micros)},
		Best:   comparedForm{j.measuredAs(found.Best), choosing.Hundredths(found.Best.Micros)}}
	j.rows = append(j.rows, row)
	if !j.app.JSON {
		j.bar.Over(func() {
			fmt.Fprintf(j.app.Stdout, "  %10d  %-12s  %9.2f  %-42v  %9.2f  %-42v  %5.3f  %d\n", row.Bytes, choosing.PlaceName(inplace),
				row.Chosen.Micros, row.Chosen.Choice, row.Best.Micros, row.Best.Choice, row.Ratio, row.Tried)
		})
	}
	return nil
}

// Catalog are the forms of all one-sided variants that serve a call, each in a width that is about right.
func (j *comparing) catalog(call choose.Call, bytes int64) (forms []*bench.Form) {
	for _, v := range append(choose.Candidates(call.Kind), j.own.Own()...) {
		if v.Sided == selection.TwoSided && !j.own.Compiled(v.Program) {
			continue
		}
		list := []selection.Choice{v}
		if p, ok := choose.Ported(v); ok && bytes >= portWorth && devices.GPUs[j.device] != nil {
			list = append(list, p)
		}
		for _, v := range list {
			f, err := j.variant(v, call)
			if err != nil {
				continue
			}
			if f.Choice.Replicas, f.Choice.Threads = tuning.Guessed(bytes); devices.GPUs[j.device] == nil ||
				v.Sided == selection.TwoSided {
				f.Choice.Replicas, f.Choice.Threads = 0, 0
			}
			forms = append(forms, f)
		}
	}
	return forms
}

// writeTimes writes what was measured, a JSON object a line.
func (j *comparing) writeTimes(out io.Writer) error {
	e := json.NewEncoder(out)
	for i := range j.times {
		if err := e.Encode(&j.times[i]); err != nil {
			return err
		}
	}
	return nil
}

// verdict says how many sizes are within 5 %, and what is worst; others make the command fail.
func (j *comparing) verdict() error {
	if len(j.rows) == 0 && j.failed == nil {
		return cli.Usagef("nothing was measured: there is no program of this kind for the placement that was asked for")
	}
	within, sum := 0, 0.0
	for _, r := range j.rows {
		if r.Ratio <= tolerance {
			within++
		}
		sum += math.Log(r.Ratio)
	}
	mean := math.Exp(sum / float64(max(len(j.rows), 1)))
	if j.app.JSON {
		doc := ComparedDocument{cli.Schema, j.coll.Kind.String(), j.coll.Ranks, j.site.Name(), j.rows, within, mean,
			[]diag.Problem{}, j.app.Notes.List()}
		if j.failed != nil {
			doc.Problems = diag.Report(j.app.File, cli.Placed(cli.Problems(devices.Impossible(j.failed)), j.app.File)).Problems
		}
		if err := j.app.WriteJSON(doc); err != nil {
			return err
		}
	} else if len(j.rows) > 0 {
		worst := slices.MaxFunc(j.rows, func(a, b comparedRow) int { return cmp.Compare(a.Ratio, b.Ratio) })
		fmt.Fprintf(j.app.Stdout,
			"# within 5 %% of the best: %d of %d; geometric mean %.3f; worst %.3f at %s %s: %v, best %v\n", within, len(j.rows),
			mean, worst.Ratio, cli.SizeText(worst.Bytes), choosing.PlaceName(worst.Inplace), worst.Chosen.Choice,
			worst.Best.Choice)
	}
	switch {
	case j.failed != nil && j.app.JSON:
		return cli.ReportedError{Code: cli.ExitMachine}
	case j.failed != nil:
		return devices.Impossible(j.failed)
	case within < len(j.rows):
		return cli.ReportedError{Code: cli.ExitInput}
	}
	return nil
}
