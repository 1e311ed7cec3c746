package runcmd

import (
	"context"
	"fmt"
	"io"
	"time"

	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/picture"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/text"
	"mscclc/play"
)

// runSizes runs all sizes. One that fails is reported, and the next is tried.
func runSizes(ctx context.Context, a *cli.App, arg string, files []string, f *runFlags) error {
	arg = a.About(arg)
	return processes.In(ctx, a, func(job *processes.Job) error { return runIn(ctx, a, job, arg, files, f) })
}

// runIn is runSizes in a job, or in a process alone, where job is nil.
func runIn(ctx context.Context, a *cli.App, job *processes.Job, arg string, files []string, f *runFlags) error {
	plan, err := f.plan()
	if err != nil {
		return err
	}
	if f.procs > 0 && !processes.Started() {
		return processes.Start(ctx, a, f.procs)
	}
	chosen, err := newChosen(a, arg, files, f, plan)
	if err != nil {
		return err
	}
	if f.team, err = joinTeam(ctx, a, job, f); err != nil {
		return err
	}
	defer chosen.close()
	if err := chosen.place(ctx, plan.sizes); err != nil {
		return err
	}
	if err := leaveOut(ctx, a, plan, chosen); err != nil {
		return err
	}
	var p, traced *either.Program
	runs, worst := []runResult{}, cli.ExitGood
	noted := f.OneGiven("op") == ""
	bar := a.Progress(len(plan.sizes)*f.iters, "run")
	stop := bar.Watch()
	defer stop()
	for i, bytes := range plan.sizes {
		l, err := chosen.of(ctx, bytes)
		if err != nil {
			return devices.Impossible(err)
		}
		p, traced = l.program, l.loaded.Program()
		if i == 0 && chosen.chooser == nil {
			sizing.NoteOutside(a, arg, p, plan.sizes)
		}
		if !noted && !p.Coll.Reduces() {
			a.NoteNoOp(p.Coll)
			noted = true
		}
		r, err := plan.run(ctx, l.loaded, p, bytes, bar.Step)
		if ctx.Err() != nil {
			break
		}
		if f.team.lost() {
			return devices.Impossible(err)
		}
		if err != nil {
			r.found = cli.Placed(cli.Problems(devices.Impossible(err)), arg)
			r.Problems = diag.Report(arg, r.found).Problems
			worst = max(worst, cli.ExitCode(r.found))
		} else if r.Wrong > 0 || r.fault != nil {
			worst = max(worst, cli.ExitInput)
		}
		r.observed = l.observed
		if r.turns = l.turns; r.turns.Asked > 1 {
			r.Turns = r.turns.Did
		}
		r.Beside = chosen.beside(p, &r)
		runs = append(runs, r)
		if !a.JSON {
			bar.Over(func() { printRun(a, p, r, f.team.first()) })
		}
	}
	if len(runs) > 0 {
		chosen.suggest(&runs[len(runs)-1])
	}
	if f.trace != "" && len(runs) > 0 && runs[0].ran {
		file, looks := f.team.traceFile(f.trace), play.LooksOf(traced, f.team.on(traced.Coll.Ranks))
		if err := picture.SaveTrace(a, file, traced, &plan.trace, looks); err != nil {
			return err
		}
	}
	if a.JSON {
		doc := Document{a.Noted(cli.NewReport(arg, nil, p)), runs}
		doc.OK = worst == cli.ExitGood && ctx.Err() == nil
		if err := a.WriteJSON(doc); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case worst > cli.ExitGood:
		return cli.ReportedError{Code: worst}
	}
	return nil
}

// A Document is what run --json prints. It is ok where every run came to its end, and no element was wrong.
type Document struct {
	cli.Report
	Runs []runResult `json:"runs" doc:"one a size"`
}

// leaveOut leaves out sizes of which calls have no data, if others have.
func leaveOut(ctx context.Context, a *cli.App, plan *runPlan, chosen *chosen) error {
	var kept []int64
	var m sizing.Measure
	for _, bytes := range plan.sizes {
		l, err := chosen.of(ctx, bytes)
		if err != nil {
			return devices.Impossible(err)
		}
		if m = plan.measure(l.program, l.loaded.Even()); m.Elems(bytes) > 0 {
			kept = append(kept, bytes)
		}
	}
	if len(kept) > 0 {
		m.NoteEmpty(a, plan.sizes, kept)
		plan.sizes = kept
	}
	return nil
}

// run runs one size, as often as --iters says; step is called after each.
func (r *runPlan) run(ctx context.Context, l runner, p *either.Program, bytes int64,
	step func()) (runResult, error) {
	m := r.measure(p, l.Even())
	elems := m.Elems(bytes)
	geo := r.geometry(p, elems)
	result := runResult{Device: r.flags.device, Bytes: sizing.CallBytes(p.Coll, elems, r.dtype), DType: r.dtype.String(),
		Inplace: p.Coll.Inplace, Protocol: p.Protocol.String(), Row: r.flags.row,
		Then: p.Then.String(), Iters: r.flags.iters}
	if p.Coll.Reduces() {
		result.Op = r.redop.String()
	}
	if elems == 0 && bytes > 0 {
		return result, m.TooSmall(bytes, "--bytes %[1]d")
	}
	size := int64(r.dtype.Size() * max(r.flags.row, 1))
	if err := r.flags.team.agree(ctx, checkMemory(p, geo, size, r.flags.team)); err != nil {
		return result, err
	}
	if err := l.Prove(r.asked(p, geo)); err != nil {
		return result, err
	}
	call := r.newData(p, geo)
	modifies := p.ModifiesInput()
	for i := range r.flags.iters {
		if i > 0 {
			call.reset()
		}
		args := call.args
		args.Threads, args.Wait = r.flags.threads, r.flags.wait
		if r.flags.trace != "" && i == r.flags.iters-1 {
			args.Trace = &r.trace
		}
		done, err := l.Run(ctx, args)
		result.ran = err == nil || len(r.trace.Spans) > 0
		if err != nil {
			return result, err
		}
		result.timed(p.Coll, done.Elapsed)
		found, err := call.check(ctx)
		if err != nil {
			return result, err
		}
		if modifies { // a program from elsewhere; load has reported it
			found.Changed = nil
		}
		result.Checked += found.Checked
		result.Wrong += found.Wrong
		if err := found.Err(); err != nil && result.fault == nil {
			result.fault = err
		}
		step()
	}
	switch {
	case result.Checked > 0 || result.fault != nil:
		return result, nil
	case elems == 0:
		return result, m.TooSmall(bytes, "--bytes %[1]d")
	case p.Coll.AllowsAnything():
		result.anything = true
		return result, nil
	}
	d := diag.New(diag.NothingCompared, diag.Span{}, "nothing was compared: the program does not say what must hold")
	if p.Coll.Kind == ir.Opaque {
		d = d.WithHint("without --unproven, outputs are compared with what the proof finds")
	}
	return result, diag.List{d}
}

// timed notes the time of an iteration, if it is the fastest.
func (r *runResult) timed(c *ir.Collective, elapsed time.Duration) {
	if s := elapsed.Seconds(); s < r.Seconds || r.Seconds == 0 {
		r.Seconds = s
		r.AlgBW, r.BusBW = bench.Bandwidths(c, r.Bytes, s*1e6)
	}
}

// timeText returns the time and the bandwidths of the fastest iteration, in the words and units of bench. It is empty
// where an iteration did not end, or nothing was compared.
func (r *runResult) timeText() string {
	if r.Seconds == 0 || len(r.found) > 0 {
		return ""
	}
	text := fmt.Sprintf("   time %.2f us   algbw %.2f GB/s   busbw %.2f GB/s", r.Seconds*1e6, r.AlgBW, r.BusBW)
	if r.Micros > 0 {
		text += fmt.Sprintf("   %s of the bound (the cut is %s)", r.Text(), r.Cut)
	}
	return text
}

// printRun prints a run. Of several processes the first prints what is wrong, which all know, and the others its cause.
func printRun(a *cli.App, p *either.Program, r runResult, first bool) {
	verdict := "ok  "
	if len(r.found) > 0 || r.Wrong > 0 || r.fault != nil {
		verdict = "FAIL"
	}
	name := text.Title(p)
	op := r.DType
	if r.Op != "" {
		op += " " + r.Op
	}
	if r.Row > 0 {
		op += fmt.Sprintf("   rows of %d, then %s", r.Row, r.Then)
	}
	wrong := fmt.Sprintf("%d wrong", r.Wrong)
	switch {
	case len(r.found) > 0:
		wrong = string(r.found[0].Code)
	case r.anything:
		wrong = "nothing to compare: outputs may hold anything"
	case r.observed && r.Wrong == 0:
		wrong = "0 wrong, by its own evaluation: the file states no result to compare with"
	}
	fmt.Fprintf(a.Stdout, "%s  %s    %s   %s   %s   %s%s%s   %s\n", verdict, name, diag.Counted(p.Coll.Ranks, "rank"), r.Device,
		cli.SizeText(r.Bytes), op, r.turns.Text(), r.timeText(), wrong)
	switch {
	case len(r.found) > 0 && !first:
		processes.Short(a, 0, r.found)
	case len(r.found) > 0:
		a.Show(r.found)
	}
	if r.fault != nil && first {
		io.WriteString(a.Stderr, r.fault.Error()+"\n")
	}
}

// checkMemory refuses a run whose buffers, references and scratch this machine has no memory for. size is the bytes of
// an element, or of a row of them. Where the machine does not say how much it has, nothing is refused.
func checkMemory(p *either.Program, geo data.Geometry, size int64, t *team) error {
	need, longest := float64(0), int64(0)
	for r := range p.Coll.Ranks {
		in, out, _, _, mem := geo.Buffers(r)
		need += float64(size) * (2*float64(in) + float64(out)*sizing.Outputs(p.Then))
		if t != nil { // ranks have their buffers in shared memory too
			need += float64(size) * float64(max(in+out, mem))
		}
		if mem > 0 {
			need += float64(size) * (float64(mem) - float64(in) - float64(out))
		}
		if r < len(p.Scratch) {
			need += float64(size) * float64(p.Scratch[r]) * float64(geo.Chunk)
		}
		longest = max(longest, out)
	}
	need += 16 * float64(longest) // the reference and its bounds
	return devices.RefuseMemory(need, "give fewer --bytes")
}
