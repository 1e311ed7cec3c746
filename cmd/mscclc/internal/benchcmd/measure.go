package benchcmd

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"time"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
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
	return &bench.Report{Coll: bench.Whole(w.coll, false), Algo: w.algo, Step: w.stepBytes, Unalign: w.unalign,
		CPUTime: w.cpuTime > 0, Spread: w.spread > 0, Skip: w.skip, Stamps: w.stamps > 0,
		Device: w.site.Name(), Driver: w.site.Driver(), Devices: w.site.Devices(), NCCL: w.nccl, NCCLPath: w.ncclPath,
		MinBytes: w.sizes[0], MaxBytes: w.sizes[len(w.sizes)-1], Factor: w.factor, Measuring: w.measuring,
		Processes: processes, Beside: w.beside(), Finished: w.rows()}
}

// measureAll measures all sizes, and prints them.
func measureAll(ctx context.Context, a *cli.App, w *benchWorld) error {
	start := time.Now()
	r := w.report()
	w.result = r
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
	if w.first {
		w.note(a)
		w.noteFound(a)
	}
	r.Header(lines)
	bar := a.Progress(len(w.sizes)*len(w.cases())*max(w.cycles, 1), "bench")
	w.bar = bar
	stop := bar.Watch()
	m := &measurement{world: w, app: a, report: r, lines: lines}
	err := m.cycles(ctx)
	stop()
	if err != nil {
		return err
	}
	worst, failed := m.worst, m.failed
	if !m.measured {
		return cli.Usagef("nothing was measured: there is no program of this kind for the placement that was asked for")
	}
	r.Footer(lines)
	if w.plot != "" && w.first {
		if err := a.WriteTo(w.plot, func(out io.Writer) error { return r.Plot(out, w.plot) }); err != nil {
			return err
		}
	}
	if w.first && (a.JSON || w.document != "") {
		doc := r.Document(cli.Schema, os.Args, start, time.Now())
		doc.Notes = a.Notes.List().Notes
		if err := w.writeDocument(a, doc); err != nil {
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

// noteFound notes which programs were found on these hosts.
func (w *benchWorld) noteFound(a *cli.App) {
	for _, inplace := range [2]bool{false, true} {
		if w.found != nil && w.measures(inplace) && w.trying == nil {
			choosing.NoteFound(a, w.chooser, w.call(inplace), w.sizes, w.dtype.Size())
		}
	}
}

// writeDocument writes the document of a report to where it is asked for.
func (w *benchWorld) writeDocument(a *cli.App, doc *bench.Document) error {
	if w.document != "" {
		err := a.WriteTo(w.document, func(out io.Writer) error {
			e := json.NewEncoder(out)
			e.SetIndent("", "  ")
			return e.Encode(doc)
		})
		if err != nil {
			return err
		}
	}
	if !a.JSON {
		return nil
	}
	return a.WriteJSON(doc)
}

// A measurement is a run of measureAll.
type measurement struct {
	world    *benchWorld
	app      *cli.App
	report   *bench.Report
	lines    io.Writer
	measured bool  // some row has a time
	worst    int   // exit code
	failed   error // what a row failed with
}

// cycles measures all cases as often as -N says.
func (m *measurement) cycles(ctx context.Context) error {
	w := m.world
	cases, sizes := w.cases(), w.sizes
	for cycle := 0; w.cycles == 0 || cycle < w.cycles; cycle++ {
		if w.cycles == 0 {
			m.report.Rows = nil
		}
		for _, c := range cases {
			w.use(c)
			w.sizes = sizes
			kept, err := w.withData(c.dtype)
			if err != nil {
				continue // another type has data
			}
			w.sizes = kept
			if err := m.one(ctx); err != nil {
				return err
			}
		}
	}
	w.sizes = sizes
	return nil
}

// one measures what w uses.
func (m *measurement) one(ctx context.Context) error {
	w := m.world
	job := &bench.Job{Site: w.site, Coll: w.coll, DType: w.dtype, RedOp: w.redop, Sizes: w.sizes, Multiple: w.multiple,
		Rows:   w.rows(),
		Rivals: w.rivals, Unalign: w.unalign, Measuring: w.measuring,
		Form: func(bytes int64, inplace bool) (*bench.Form, error) { return w.form(ctx, m.app, bytes, inplace) },
		Row:  m.row}
	return job.Run(ctx, m.report)
}

// row prints a row, and notes how it went.
func (m *measurement) row(row *bench.Row) {
	w := m.world
	w.bar.Over(func() { m.report.WriteRow(m.lines, row) })
	w.bar.Step()
	for _, p := range []*bench.Result{row.OutOfPlace, row.InPlace} {
		m.measured = m.measured || p != nil
		if p != nil && p.Err != nil {
			m.failed = w.Nodes.Hinted(devices.Impossible(p.Err), func() []int { return w.node })
			m.worst = max(m.worst, cli.ExitCode(cli.Problems(m.failed)))
		}
	}
}
