package tunecmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/nccllib"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/tuned"
	"mscclc/cmd/mscclc/internal/tuning"
	"mscclc/executor"
	"mscclc/executor/exchange"
	prepared "mscclc/executor/plan"
	"mscclc/ir"
)

// This file measures one group of ranks, of which each is a process.

// firstSize are the bytes of the smallest calls that are measured. Its rules serve smaller ones, too.
const firstSize = 1 << 10

// Of most collectives each size that is measured is usualStep times the one before. Rooted ones and windows, which jobs
// use less, have wideStep. Sizes between are measured where one rule ends and the next begins, and where NCCL is near.
const usualStep, wideStep = 4, 16

// A task is a group of rules, and the sizes that are measured for them.
type task struct {
	tuned.Group
	kind     ir.Kind
	step     int64
	sizes    []int64
	optional bool // not every NCCL has it
}

// tasks returns all that is measured of a given number of ranks, which lie on nodes so.
func (p *plan) tasks(ranks int, nodes string) (list []task) {
	if p.bits != "" && (ranks == 2 || nodes != "") {
		return nil
	}
	apart := nodes == "" && p.machine.Apart(ranks)
	if apart && p.bits != "" {
		return nil
	}
	for _, windows := range [2]bool{false, true} {
		if windows && (p.bits != "" || p.nccl == nccllib.None || nodes != "" || apart) {
			break
		}
		for _, kind := range p.kinds {
			if windows && kind.Rooted() || p.bits != "" && !kind.Reduces() {
				continue
			}
			t := task{Group: tuned.Group{Collective: kind.String(), Ranks: ranks, Nodes: nodes, Windows: windows, Bits: p.bits,
				Apart: apart}, kind: kind, step: usualStep, optional: windows}
			if windows || kind.Rooted() {
				t.step = wideStep
			}
			for bytes := int64(firstSize); bytes < p.end; bytes *= t.step {
				t.sizes = append(t.sizes, bytes)
			}
			t.sizes = append(t.sizes, p.end)
			list = append(list, t)
		}
	}
	return list
}

// A worker is a process that measures.
type worker struct {
	*plan
	a        *cli.App
	x        *exchange.Member
	first    bool
	layout   string // how ranks lie on several nodes, or ""
	on       string // choose.Call.On
	nodes    int
	bar      *cli.Progress
	deadline time.Time
	total    int // sizes that are to be measured
	left     int // of these, those that are not yet
	rough    int // tasks of which there was no time to measure all borders of rules
	lab      *tuning.Lab
}

// measure measures what the ranks of a job lack.
func (p *plan) measure(ctx context.Context, a *cli.App, job *processes.Job) error {
	w := &worker{plan: p, a: a, deadline: time.Now().Add(p.time)}
	gpus := job.GPUs("cuda")
	if _, err := gpus.GPUs(); err != nil {
		return devices.Impossible(err) // before the others are waited for
	}
	var err error
	if w.x, err = job.Join(ctx, p.wait); err != nil {
		return devices.Impossible(fmt.Errorf("%w: %w", err, executor.ErrNoDevice))
	}
	w.first = w.x.Index() == 0
	prepared.DescribeRanks(w.x, job.Size)
	if err := processes.Same(ctx, w.x, p.arguments); err != nil {
		return err
	}
	if err := w.findNodes(ctx, gpus); err != nil {
		return err
	}
	lists, err := exchange.Agree(ctx, w.x, w.lacking(job.Size), nil)
	if err != nil {
		return devices.Impossible(err)
	}
	todo := slices.DeleteFunc(p.tasks(job.Size, w.layout), func(t task) bool {
		return !slices.Contains(lists[0], t.Group) || t.among(p.without)
	})
	for _, t := range todo {
		w.left += len(t.sizes)
	}
	w.total, w.bar = w.left, &cli.Progress{}
	if w.first && !processes.Started() { // else the process that started this one draws a bar
		w.bar = a.Progress(w.left, progressTitle(job.Size))
	}
	stop := w.bar.Watch()
	defer stop()
	split := slices.IndexFunc(todo, func(t task) bool { return t.Windows })
	if split < 0 {
		split = len(todo)
	}
	if err := w.all(ctx, gpus, todo[:split]); err != nil {
		return err
	}
	if split < len(todo) {
		w.at(windowsTask, "the windows of NCCL")
	}
	if err := w.all(ctx, gpus, todo[split:]); err != nil {
		return err
	}
	w.noteRough()
	return nil
}

// lacking returns the groups that were not measured to their end.
func (w *worker) lacking(ranks int) (list []tuned.Group) {
	for _, t := range w.tasks(ranks, w.layout) {
		if w.again || !w.doc.Done(t.Group, t.sizes[len(t.sizes)-1]) {
			list = append(list, t.Group)
		}
	}
	return list
}

// findNodes says how the ranks lie on several nodes.
func (w *worker) findNodes(ctx context.Context, gpus executor.GPUs) error {
	node, err := prepared.NodesOf(ctx, w.x, gpus)
	if err != nil {
		return devices.Impossible(err)
	}
	if w.on, w.nodes = choose.OnNodes(node); w.on == "" {
		return nil
	}
	if !slices.IsSorted(node) {
		return cli.Usagef("rules are for blocks of ranks, and the ranks are on nodes %s: start the processes of a node one "+
			"after the other", w.on)
	}
	w.layout = choose.NodesText(node)
	return nil
}

// one measures a task. What cannot be measured is left to NCCL, with a note.
func (w *worker) one(ctx context.Context, t task) error {
	w.at(t.name(), t.title())
	coll := &ir.Collective{Kind: t.kind, Ranks: t.Ranks, Chunks: 1}
	call := choose.Call{Kind: t.kind, Ranks: t.Ranks, Nodes: w.nodes, On: w.on}
	tuner, err := w.lab.Tuner(coll, call, t.sizes)
	if err == nil && !w.again {
		err = w.resume(ctx, t, tuner)
	}
	for i := 0; i < len(t.sizes) && err == nil; i++ {
		if tuner.Has(t.sizes[i]) {
			w.step()
			continue
		}
		w.at(t.name(), t.title()+", "+cli.SizeText(t.sizes[i]))
		var within time.Duration
		if within, err = w.within(ctx); err != nil {
			break
		}
		if _, _, err = tuner.Measure(ctx, t.sizes[i], within); err == nil {
			w.step()
			err = w.keep(tuner, t, false)
		}
	}
	whole := false
	if err == nil {
		whole, err = w.refine(ctx, t, tuner)
	}
	_, lost := exchange.Agree(ctx, w.x, true, err)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.x.Lost() != nil:
		return devices.Impossible(lost)
	case lost != nil && w.first:
		w.bar.Over(func() { w.a.Note("", "%s %s: %v", t.lost(), t.title(), lost) })
	}
	if lost == nil && !whole {
		w.rough++
	}
	if err := w.keep(tuner, t, whole || lost != nil); err != nil {
		return err
	}
	switch {
	case !errors.Is(lost, exchange.ErrEnd):
		w.reportGain(t)
		return nil
	case processes.Started():
		return cli.ReportedError{Code: startAgain}
	}
	return cli.Unavailable("NCCL failed, and these processes cannot measure more: start the job again, and mscclc tune " +
		"measures the rest")
}

// at reports what is measured now.
func (w *worker) at(task, title string) {
	processes.Send(processes.Report{Task: task, At: title, Done: w.total - w.left, Total: w.total})
}

// step counts a size that was measured.
func (w *worker) step() {
	w.left--
	w.bar.Step()
}

// resume has a tuner begin with what the first process has found of a task before.
func (w *worker) resume(ctx context.Context, t task, tuner *tuning.Tuner) error {
	all, err := exchange.Agree(ctx, w.x, w.doc.Of(t.Group), nil)
	if err == nil {
		tuner.Sizes, tuner.F32 = all[0].Sizes, all[0].F32
	}
	return err
}

// keep has the first process write what was found of a task so far. The task is done, or goes on.
func (w *worker) keep(tuner *tuning.Tuner, t task, done bool) error {
	if !w.first {
		return nil
	}
	found := tuned.Sizes{Group: t.Group, Done: done}
	if tuner != nil {
		found.Sizes, found.F32 = tuner.Sizes, tuner.F32
	}
	w.doc.Put(found, time.Now())
	if err := w.doc.Write(); err != nil {
		return cli.Unavailable("what was found cannot be kept: %v", err)
	}
	return nil
}

// usualRoom is the memory that most collectives get, more or less, once all are measured.
const usualRoom = 16 << 20

// reportGain has the first process say how many times as fast as NCCL a task became.
func (w *worker) reportGain(t task) {
	if !w.first {
		return
	}
	w.bar.Over(func() {
		found := w.doc.Of(t.Group)
		if text := summary(found.Took(usualRoom), t.Group); text != "" {
			w.a.Say("%s", text)
		}
	})
}
