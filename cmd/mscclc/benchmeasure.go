package main

import (
	"context"
	"io"
	"os"
	"time"

	"mscclc/bench"
)

// report is the report of a world, yet without rows.
func (w *benchWorld) report() *bench.Report {
	processes := 1
	if w.exchange != nil {
		processes = w.exchange.Size()
	}
	return &bench.Report{Coll: bench.Whole(w.coll, false), DType: w.dtype, RedOp: w.redop, Algo: w.algo,
		Device: w.site.Name(), Driver: w.site.Driver(), Devices: w.site.Devices(), NCCL: w.nccl, NCCLPath: w.ncclPath,
		MinBytes: w.sizes[0], MaxBytes: w.sizes[len(w.sizes)-1], Factor: w.factor, Measuring: w.measuring,
		Processes: processes}
}

// measureAll measures all sizes, and prints them.
func (a *app) measureAll(ctx context.Context, w *benchWorld) error {
	start := time.Now()
	r := w.report()
	lines := io.Writer(a.stdout)
	if a.json || !w.first {
		lines = io.Discard
	}
	if !w.coll.Reduces() && w.oneGiven("op") != "" && w.first {
		a.noteNoOp(w.coll)
	}
	if w.first && !w.named {
		a.noteOutside(a.file, w.anyGiven(), w.sizes)
	}
	r.Header(lines)
	bar := a.progress(len(w.sizes), "bench")
	w.bar = bar
	stop := bar.watch()
	worst, failed := exitGood, error(nil)
	measured := false
	job := &bench.Job{Site: w.site, Coll: w.coll, DType: w.dtype, RedOp: w.redop, Sizes: w.sizes, Multiple: w.multiple,
		Rivals: w.rivals, Measuring: w.measuring,
		Form: func(bytes int64, inplace bool) (*bench.Form, error) { return w.form(ctx, bytes, inplace) },
		Row: func(row *bench.Row) {
			bar.over(func() { r.WriteRow(lines, row) })
			bar.step()
			for _, p := range []*bench.Result{row.OutOfPlace, row.InPlace} {
				measured = measured || p != nil
				if p != nil && p.Err != nil {
					failed = impossible(p.Err)
					worst = max(worst, exitCode(problems(failed)))
				}
			}
		}}
	err := job.Run(ctx, r)
	stop()
	if err != nil {
		return err
	}
	if !measured {
		return usagef("nothing was measured: there is no program of this kind for the placement that was asked for")
	}
	r.Footer(lines)
	if w.plot != "" && w.first {
		if err := a.writeTo(w.plot, func(out io.Writer) error { return r.Plot(out, w.plot) }); err != nil {
			return err
		}
	}
	if a.json && w.first {
		doc := r.Document(schema, os.Args, start, time.Now())
		doc.Notes = a.notes.list().Notes
		if err := a.writeJSON(doc); err != nil {
			return err
		}
	}
	switch {
	case failed != nil:
		a.show(placed(problems(failed), a.file))
		return reportedError{worst}
	case r.Wrong() > 0 || r.Outside() > 0:
		return reportedError{exitInput}
	}
	return nil
}
