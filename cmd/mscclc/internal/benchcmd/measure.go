package benchcmd

import (
	"context"
	"io"
	"os"
	"time"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/sizing"
)

// Report is the report of a world, yet without rows.
func (w *benchWorld) report() *bench.Report {
	processes := 1
	if w.exchange != nil {
		processes = w.exchange.Size()
	}
	return &bench.Report{Coll: bench.Whole(w.coll, false), DType: w.dtype, RedOp: w.redop, Algo: w.algo,
		Device: w.site.Name(), Driver: w.site.Driver(), Devices: w.site.Devices(), NCCL: w.nccl, NCCLPath: w.ncclPath,
		MinBytes: w.sizes[0], MaxBytes: w.sizes[len(w.sizes)-1], Factor: w.factor, Measuring: w.measuring,
		Processes: processes, Beside: w.beside()}
}

// measureAll measures all sizes, and prints them.
func measureAll(ctx context.Context, a *cli.App, w *benchWorld) error {
	start := time.Now()
	r := w.report()
	lines := io.Writer(a.Stdout)
	if a.JSON || !w.first {
		lines = io.Discard
	}
	if !w.coll.Reduces() && w.OneGiven("op") != "" && w.first {
		a.NoteNoOp(w.coll)
	}
	if w.first && !w.named {
		sizing.NoteOutside(a, a.File, w.anyGiven(), w.sizes)
	}
	r.Header(lines)
	bar := a.Progress(len(w.sizes), "bench")
	w.bar = bar
	stop := bar.Watch()
	worst, failed := cli.ExitGood, error(nil)
	measured := false
	job := &bench.Job{Site: w.site, Coll: w.coll, DType: w.dtype, RedOp: w.redop, Sizes: w.sizes, Multiple: w.multiple,
		Rivals: w.rivals, Measuring: w.measuring,
		Form: func(bytes int64, inplace bool) (*bench.Form, error) { return w.form(ctx, a, bytes, inplace) },
		Row: func(row *bench.Row) {
			bar.Over(func() { r.WriteRow(lines, row) })
			bar.Step()
			for _, p := range []*bench.Result{row.OutOfPlace, row.InPlace} {
				measured = measured || p != nil
				if p != nil && p.Err != nil {
					failed = w.Nodes.Hinted(devices.Impossible(p.Err), func() []int { return w.node })
					worst = max(worst, cli.ExitCode(cli.Problems(failed)))
				}
			}
		}}
	err := job.Run(ctx, r)
	stop()
	if err != nil {
		return err
	}
	if !measured {
		return cli.Usagef("nothing was measured: there is no program of this kind for the placement that was asked for")
	}
	r.Footer(lines)
	if w.plot != "" && w.first {
		if err := a.WriteTo(w.plot, func(out io.Writer) error { return r.Plot(out, w.plot) }); err != nil {
			return err
		}
	}
	if a.JSON && w.first {
		doc := r.Document(cli.Schema, os.Args, start, time.Now())
		doc.Notes = a.Notes.List().Notes
		if err := a.WriteJSON(doc); err != nil {
			return err
		}
	}
	switch {
	case failed != nil && !w.first: // the first has the same row
		processes.Short(a, 0, failed)
		return cli.ReportedError{Code: worst}
	case failed != nil:
		a.Show(cli.Placed(cli.Problems(failed), a.File))
		return cli.ReportedError{Code: worst}
	case r.Wrong() > 0 || r.Outside() > 0:
		return cli.ReportedError{Code: cli.ExitInput}
	}
	return nil
}
