package benchcmd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"time"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/executor/data"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// usualCTAs are those of a rank that staged programs are tuned for unless --ctas says another number: as many as NCCL's
// kernels have.
const usualCTAs = 32

// searchTime is how long the widths of a size are searched.
const searchTime = 5 * time.Second

// A stagedTuning measures the staged programs of a collective.
type stagedTuning struct {
	*benchWorld
	a       *cli.App
	rules   *bundle.Measured
	layout  string // how the ranks lie on several nodes, as rules have it
	contest *bench.Contest
	stock   []stagedProgram
	inplace map[*ir.Program]*ir.Program    // the same programs for calls in place
	widths  map[*ir.Program]bench.Form     // the fastest of the size before
	variant map[*ir.Program]choose.Variant // without widths
	sizes   []bundle.TimedSize
}

// A stagedProgram is a staged program of the collective that has room for columns replicas.
type stagedProgram struct {
	choose.Variant
	program *ir.Program
	columns int
}

// tuneStaged measures the staged programs of a collective at all sizes beside NCCL, and writes rules to -o. Rules of
// other collectives that are in the file stay. The file has what was found so far after each size.
func tuneStaged(ctx context.Context, a *cli.App, w *benchWorld) error {
	site, ok := w.site.(bench.EagerSite)
	if !ok {
		return cli.Usagef("--tune --staged measures launches of GPUs, and --device is %s", w.device)
	}
	layout, err := w.inBlocks()
	if err != nil {
		return err
	}
	t := &stagedTuning{benchWorld: w, a: a, layout: layout, inplace: map[*ir.Program]*ir.Program{},
		widths: map[*ir.Program]bench.Form{}, variant: map[*ir.Program]choose.Variant{}}
	if err := w.together(ctx, a, t.prepare()); err != nil {
		return err
	}
	coarse := w.measuring
	coarse.Replays, coarse.Warmup, coarse.Target = min(3, w.replays), min(1, w.warmup), w.length/4
	t.contest = &bench.Contest{Site: site, Rivals: w.rivals, Coarse: coarse, Fine: w.measuring, Most: mostMeasured,
		Within: searchTime, Widths: t.widthsOf, InPlace: t.inPlace}
	w.bar = a.Progress(len(w.benchPlan.sizes), "tune")
	stop := w.bar.Watch()
	defer stop()
	failed := t.all(ctx)
	stop()
	if len(t.sizes) == 0 || !w.first || !cli.IsStdout(t.out) {
		return failed // keep has written the file
	}
	return errors.Join(t.write(), failed)
}

// prepare reads the rules that are in -o, and makes the programs. The first process has the file.
func (t *stagedTuning) prepare() (err error) {
	t.rules = &bundle.Measured{}
	if t.first {
		t.rules, err = readMeasured(t.out, t.site.Name())
	}
	return errors.Join(err, t.compile())
}

// readMeasured reads the rules that are in -o, if there are some. It fails where they are another device's.
func readMeasured(name, device string) (*bundle.Measured, error) {
	fresh := &bundle.Measured{Version: bundle.RulesVersion, Device: device}
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

// compile makes the staged programs, without those that are another one by another name.
func (t *stagedTuning) compile() error {
	why := choose.ErrNotStaged
	seen := map[[sha256.Size]byte]bool{}
	for _, v := range append(choose.StagedCandidates(t.call(false)), t.laned()...) {
		v.Staged, v.Direct = !t.windows, t.windows
		p, err := t.chooser.Program(v, t.call(false))
		if err != nil {
			why = errors.Join(why, fmt.Errorf("%v: %w", v, err))
			continue
		}
		shared := devices.SharesCTAs(t.device)
		columns, _, err := t.ctas.Replicas(p, math.MaxInt32, shared)
		if columns == 0 && err == nil {
			columns = p.Replicas(usualCTAs, shared)
		}
		if what := contents(p); err == nil && columns > 0 && !seen[what] {
			seen[what] = true
			t.stock = append(t.stock, stagedProgram{v, p, columns})
			t.variant[p] = v
		}
	}
	if len(t.stock) == 0 {
		word := "staged"
		if t.windows {
			word = "direct"
		}
		return diag.List{diag.New(diag.Unavailable, diag.Span{}, "no %s program of %v runs with %s: %v", word, t.coll.Kind,
			diag.Counted(t.coll.Ranks, "rank"), why)}
	}
	return nil
}

// all measures all sizes, and keeps what was found where one fails.
func (t *stagedTuning) all(ctx context.Context) error {
	for _, bytes := range t.benchPlan.sizes {
		c := &bench.Call{Coll: bench.Whole(t.coll, false), DType: t.dtype, RedOp: t.redop}
		c.Elems = data.PieceElems(c.Coll, bytes, t.dtype)
		list, err := t.contest.Run(ctx, c, t.forms(c.Bytes()))
		if err != nil {
			return devices.Impossible(err)
		}
		t.sizes = append(t.sizes, t.timed(c.Bytes(), list))
		if err := t.together(ctx, t.a, t.keep(c.Bytes(), list)); err != nil {
			return err
		}
	}
	return nil
}

// keep has the first process tell what was found of a size, and write the rules of all sizes so far.
func (t *stagedTuning) keep(bytes int64, list []bench.Entrant) error {
	if !t.first {
		return nil
	}
	t.bar.Step()
	t.bar.Over(func() { t.tell(bytes, list) })
	eager, captured := bundle.Merge(t.coll.Kind.String(), t.coll.Ranks, t.sizes, t.factor, t.arenaBytes)
	for _, list := range [][]bundle.MeasuredRule{eager, captured} {
		for i := range list {
			list[i].Nodes = t.layout
			list[i].Windows, list[i].Direct = t.windows, t.windows && list[i].Program != bundle.NCCL
		}
		t.rules.Put(list)
	}
	if cli.IsStdout(t.out) {
		return nil
	}
	return t.write()
}

func (t *stagedTuning) write() error {
	return t.a.WriteTo(t.out, func(out io.Writer) error { return t.rules.Write(out) })
}

// timed returns what was found of a size. NCCL's time is its least.
func (t *stagedTuning) timed(bytes int64, list []bench.Entrant) bundle.TimedSize {
	s := bundle.TimedSize{Bytes: bytes}
	for _, e := range slices.Backward(list) {
		v := t.variant[e.Program]
		t.widths[e.Program] = e.Form
		f := bundle.Timed{Program: v.Program, Protocol: v.Protocol, InLanes: v.InLanes, Columns: e.Columns,
			Threads: e.Threads, Tile: e.Tile, Micros: e.Micros}
		f.Share, f.Room = t.room(&e.Form, bytes)
		s.Forms = append(s.Forms, f)
		for how, us := range e.NCCL {
			if s.NCCL[how] == 0 || us < s.NCCL[how] {
				s.NCCL[how] = us
			}
		}
	}
	slices.Reverse(s.Forms)
	return s
}

// tell says which form is the fastest in a graph and which one by one, and how many times as fast as NCCL.
func (t *stagedTuning) tell(bytes int64, list []bench.Entrant) {
	s := &t.sizes[len(t.sizes)-1]
	text := ""
	for how, name := range [bench.NumLaunches]string{bench.Captured: "captured", bench.Plain: "eager"} {
		best := slices.MinFunc(list, func(a, b bench.Entrant) int {
			if a.Micros[how] < b.Micros[how] {
				return -1
			}
			return 1
		})
		v := t.variant[best.Program]
		v.Staged, v.Direct, v.Columns, v.Threads, v.Tile = false, false, best.Columns, best.Threads, best.Tile
		text += fmt.Sprintf(", %s %.2f us %v", name, best.Micros[how], v)
		if s.NCCL[how] > 0 {
			text += fmt.Sprintf(" (NCCL %.2f, %.2fx)", s.NCCL[how], s.NCCL[how]/best.Micros[how])
		}
	}
	t.a.Say("%v %s%s", t.coll.Kind, cli.SizeText(bytes), text)
}
