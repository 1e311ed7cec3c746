package benchcmd

import (
	"context"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// This file measures several files one after the other, and compares their times.

// custom is the word for what files alone are measured for.
var custom = ir.Custom.String()

// filesOf returns the arguments of a bench of files alone: bench custom FILE... is bench FILE...
func filesOf(arg string, files []string) (string, []string, error) {
	if arg != custom || cli.Exists(arg) {
		return arg, files, nil
	}
	if len(files) == 0 {
		return "", nil, cli.Usagef("bench of a custom collective needs a file that has it: mscclc bench FILE")
	}
	return files[0], files[1:], nil
}

// benchFiles measures each of some files, then prints their times side by side.
func benchFiles(ctx context.Context, a *cli.App, job *processes.Job, args []string, f *benchFlags) error {
	given := f.OneGiven("plot", "output-file", "procs", "vs", "run-cycles")
	switch {
	case a.JSON:
		given = "--json"
	case job != nil:
		return cli.Usagef("several files are measured in one process: start a job for each file")
	}
	if f.allRoots {
		given = f.OneGiven("root") + " " + f.rootText
	}
	if given != "" {
		return cli.Usagef("several files are compared by their times alone: %s goes with one file", given)
	}
	worlds := make([]*benchWorld, len(args))
	for i, arg := range args { // all are read before the first is measured
		of := *f // which plan completes for its file
		w, err := openFile(ctx, a, arg, &of)
		if err != nil {
			return err
		}
		defer w.close()
		if worlds[i] = w; w.coll.Kind != worlds[0].coll.Kind || w.coll.Ranks != worlds[0].coll.Ranks {
			return diag.List{diag.New(diag.Unsupported, cli.FileSpan(arg), "it is for %v of %s, and %s for %v of %d",
				w.coll.Kind, diag.Counted(w.coll.Ranks, "rank"), diag.Printable(args[0]), worlds[0].coll.Kind,
				worlds[0].coll.Ranks).WithHint("files are compared where they are for the same calls: -p ranks=N may make them so")}
		}
	}
	reports := make([]*bench.Report, len(args))
	for i, w := range worlds {
		if a.About(args[i]); i > 0 {
			fmt.Fprintln(a.Stdout)
		}
		if err := measureAll(ctx, a, w); err != nil {
			return err
		}
		reports[i] = w.result
	}
	fmt.Fprintln(a.Stdout)
	return printBeside(a, args, reports)
}

// openFile makes ready what measures one file.
func openFile(ctx context.Context, a *cli.App, arg string, f *benchFlags) (*benchWorld, error) {
	arg = a.About(arg)
	plan, err := f.plan(a, arg, nil)
	if err != nil {
		return nil, err
	}
	w, err := plan.Open(ctx, arg, nil, a)
	if err != nil {
		return nil, devices.Impossible(err)
	}
	return w, nil
}

// A besideKey is what a time is of.
type besideKey struct {
	bytes   int64
	of      benchCase
	inplace bool
}

// printBeside prints the times of files for each size and placement, and which is the fastest.
func printBeside(a *cli.App, args []string, reports []*bench.Report) error {
	var keys []besideKey
	times := map[besideKey][]float64{}
	for i, r := range reports {
		for k := range r.Rows {
			row := r.Rows[k]
			for p, result := range [2]*bench.Result{row.OutOfPlace, row.InPlace} {
				if result == nil || result.Err != nil || result.Time == 0 {
					continue
				}
				key := besideKey{row.Bytes, benchCase{row.DType, row.RedOp, row.Root}, p == 1}
				if times[key] == nil {
					keys, times[key] = append(keys, key), make([]float64, len(reports))
				}
				times[key][i] = result.Time
			}
		}
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "# bytes\tplacement\ttype\tredop\t")
	for _, arg := range args {
		fmt.Fprintf(w, "%s us\t", diag.Printable(filepath.Base(arg)))
	}
	fmt.Fprintln(w, "fastest\t")
	for _, key := range keys {
		fmt.Fprintf(w, "%d\t%s\t%v\t%v\t", key.bytes, choosing.PlaceName(key.inplace), key.of.dtype, key.of.redop)
		best := -1
		for i, t := range times[key] {
			if t == 0 {
				fmt.Fprint(w, "N/A\t")
				continue
			}
			fmt.Fprintf(w, "%.2f\t", t)
			if best < 0 || t < times[key][best] {
				best = i
			}
		}
		fmt.Fprintf(w, "%s\t\n", diag.Printable(filepath.Base(args[best])))
	}
	return w.Flush()
}
