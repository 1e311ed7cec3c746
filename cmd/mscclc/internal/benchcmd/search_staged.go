package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"time"

	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/tuning"
	"mscclc/ir/either"
)

// searchTime is how long the widths of a size are searched.
const searchTime = 5 * time.Second

// A stagedSearch measures the staged programs of a collective.
type stagedSearch struct {
	*benchWorld
	a     *cli.App
	rules *bundle.Measured
	tuner *tuning.Tuner
}

// searchStaged measures the staged programs of a collective at all sizes beside NCCL, and writes rules to -o. Rules of
// other collectives that are in the file stay. The file has what was found so far after each size.
func searchStaged(ctx context.Context, a *cli.App, w *benchWorld) error {
	site, ok := w.site.(bench.EagerSite)
	if !ok {
		return cli.Usagef("search --staged measures launches of GPUs, and --device is %s", w.device)
	}
	layout, err := w.inBlocks()
	if err != nil {
		return err
	}
	t := &stagedSearch{benchWorld: w, a: a}
	if err := w.together(ctx, a, t.prepare(site, layout)); err != nil {
		return err
	}
	w.bar = a.Progress(len(w.benchPlan.sizes), "search")
	stop := w.bar.Watch()
	defer stop()
	failed := t.all(ctx)
	stop()
	if len(t.tuner.Sizes) == 0 || !w.first || !cli.IsStdout(t.out) {
		return failed // keep has written the file
	}
	return errors.Join(t.write(), failed)
}

// prepare reads the rules that are in -o, and makes the programs. The first process has the file.
func (t *stagedSearch) prepare(site bench.EagerSite, layout string) (err error) {
	t.rules = &bundle.Measured{}
	if t.first {
		t.rules, err = readMeasured(t.out, t.site.Name())
	}
	lab := &tuning.Lab{Site: site, Rivals: t.rivals, Chooser: t.chooser, Own: t.own, DType: t.dtype, RedOp: t.redop,
		Replicas: t.replicas, Shared: devices.SharesCTAs(t.device), Measuring: t.measuring, Windows: t.windows,
		Layout: layout}
	var none error
	t.tuner, none = lab.Tuner(t.coll, t.call(false), t.benchPlan.sizes)
	return errors.Join(err, none)
}

// replicas returns how many replicas of p --ctas has room for.
func (t *stagedSearch) replicas(p *either.Program) (int, error) {
	shared := devices.SharesCTAs(t.device)
	replicas, _, err := t.ctas.Replicas(p, math.MaxInt32, shared)
	if replicas == 0 && err == nil {
		replicas = p.Replicas(tuning.UsualCTAs, shared)
	}
	return replicas, err
}

// readMeasured reads the rules that are in -o, if there are some. It fails where they are another device's.
func readMeasured(name, device string) (*bundle.Measured, error) {
	fresh := &bundle.Measured{Device: device}
	if cli.IsStdout(name) {
		return fresh, nil
	}
	rules, err := openMeasured(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	} else if err != nil {
		return nil, err
	}
	return rules, ofDevice(name, rules, device)
}

// all measures all sizes, and then those between where rules may end. It keeps what was found where one fails.
func (t *stagedSearch) all(ctx context.Context) error {
	keep := func(bytes int64, list []bench.Entrant) error { return t.together(ctx, t.a, t.keep(bytes, list)) }
	for _, bytes := range t.benchPlan.sizes {
		bytes, list, err := t.tuner.Measure(ctx, bytes, searchTime)
		if err != nil {
			return devices.Impossible(err)
		}
		t.bar.Step()
		if err := keep(bytes, list); err != nil {
			return err
		}
	}
	failed := func(bytes int64, err error) {
		if t.first {
			t.bar.Over(func() { t.a.Note("", "%v %s: no program runs: %v", t.coll.Kind, cli.SizeText(bytes), err) })
		}
	}
	if _, err := t.tuner.Refine(ctx, tuning.Borders{Room: t.arenaBytes, Kept: keep, Failed: failed}); err != nil {
		return devices.Impossible(err)
	}
	return nil
}

// keep has the first process tell what was found of a size, and write the rules of all sizes so far.
func (t *stagedSearch) keep(bytes int64, list []bench.Entrant) error {
	if !t.first {
		return nil
	}
	t.bar.Over(func() { t.tell(bytes, list) })
	for _, list := range t.tuner.Rules(t.arenaBytes) {
		t.rules.Put(list)
	}
	if cli.IsStdout(t.out) {
		return nil
	}
	return t.write()
}

func (t *stagedSearch) write() error {
	return t.a.WriteTo(t.out, func(out io.Writer) error { return t.rules.Write(out) })
}

// tell says which form is the fastest in a graph and which one by one, and how many times as fast as NCCL.
func (t *stagedSearch) tell(bytes int64, list []bench.Entrant) {
	s := t.tuner.Of(bytes)
	text := ""
	for how, name := range [bench.NumLaunches]string{bench.Captured: "captured", bench.Plain: "eager"} {
		best := t.tuner.Fastest(list, how)
		text += fmt.Sprintf(", %s %.2f us %v", name, best.Micros[how], best.Choice)
		if s.NCCL[how] > 0 {
			text += fmt.Sprintf(" (NCCL %.2f, %.2fx)", s.NCCL[how], s.NCCL[how]/best.Micros[how])
		}
	}
	t.a.Say("%v %s%s", t.coll.Kind, cli.SizeText(bytes), text)
}
