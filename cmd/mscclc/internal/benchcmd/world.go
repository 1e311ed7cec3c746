package benchcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path"

	"mscclc"
	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/executor/exchange"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// A benchWorld is what bench measures, and on what.
type benchWorld struct {
	*benchPlan
	site   bench.Site
	rivals func(context.Context, *bench.Call) ([]bench.Op, error)

	nccl     int // version
	ncclPath string
	exchange *exchange.Member

	chooser  *choose.Chooser
	measured *bundle.Measured // of --rules, or nil
	trying   *choose.Online // of --online, or nil
	given    [2]*ir.Program // the file's, out of place and in place
	coll     *ir.Collective
	multiple int64
	algo     string
	first    bool // whether this process is the one that reports
	bar      *cli.Progress

	forms map[formKey]*bench.Form // that checkCTAs has made already
}

// A formKey is the size and the placement of calls.
type formKey struct {
	bytes   int64
	inplace bool
}

// close frees the site, and leaves the other processes.
func (w *benchWorld) close() error {
	err := w.site.Close()
	if w.exchange != nil {
		err = errors.Join(err, w.exchange.Close())
	}
	return err
}

// Open compiles what is to be measured, and opens the device.
func (p *benchPlan) Open(ctx context.Context, arg string, job *processJob, a *cli.App) (*benchWorld, error) {
	w := &benchWorld{benchPlan: p, first: true}
	check := verify.Options{}
	if !p.named {
		var err error
		if check, err = w.read(arg, a); err != nil {
			return nil, err
		}
	} else if err := w.collective(job); err != nil {
		return nil, err
	}
	for _, given := range w.given {
		if given != nil {
			if _, _, err := w.ctas.Replicas(given, w.mostReplicas()); err != nil {
				return nil, err
			}
		}
	}
	if w.coll.Kind == ir.Custom || w.coll.Kind == ir.Opaque {
		return nil, fmt.Errorf("a custom collective has no size that bench could go by; run runs it: %w",
			executor.ErrNotSupported)
	}
	if err := w.openSite(ctx, job, check); err != nil {
		return nil, err
	}
	w.chooser = &choose.Chooser{Table: p.table, Device: w.site.Name(), By: p.figure, Own: p.own,
		Shared: shared(w.site.Devices())}
	// the tables that are built in were measured with a GPU for each rank, and their replicas have no room here
	if w.chooser.Shared {
		w.chooser.Table = p.chosenBy
	}
	kept, err := sizing.WithData(w.sizes, sizing.Measure{Coll: w.coll, DType: w.dtype, Unit: w.multiple}, "-e")
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	if w.first {
		sizing.NoteEmpty(a, w.sizes, kept)
	}
	w.sizes = kept
	w.chooseOnline(a)
	if err := errors.Join(w.readRules(), w.checkOwn(), w.checkTable(a), w.checkCTAs(ctx, a)); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// measures reports whether calls in place, or out of place, are to be measured.
func (w *benchWorld) measures(inplace bool) bool {
	return inplace && w.place != "out" || !inplace && w.place != "in"
}

// checkCTAs refuses --ctas where a program that is chosen cannot have so many. It keeps the forms, to measure them.
func (w *benchWorld) checkCTAs(ctx context.Context, a *cli.App) error {
	if !w.named || w.tune || !w.ctas.Given() || w.trying != nil {
		return nil
	}
	w.forms = map[formKey]*bench.Form{}
	for _, bytes := range w.sizes {
		for _, inplace := range [2]bool{false, true} {
			var usage cli.UsageError
			form, err := w.form(ctx, a, bytes, inplace)
			if errors.As(err, &usage) {
				return err
			}
			if err == nil {
				w.forms[formKey{bytes, inplace}] = form
			}
		}
	}
	return nil
}

// checkOwn refuses files beside the collective that are for none of the calls that are to be measured.
func (w *benchWorld) checkOwn() error {
	for i := range w.own {
		var why error
		fits := false
		for _, inplace := range [2]bool{false, true} {
			if !w.measures(inplace) {
				continue
			}
			if err := w.own[i].Unfit(w.call(inplace)); err == nil {
				fits = true
			} else if why == nil {
				why = err
			}
		}
		if !fits {
			return choosing.Unfit(&w.own[i], why)
		}
	}
	return nil
}

// shared says whether ranks have a device in common.
func shared(devices []bench.Device) bool {
	type place struct {
		host   string
		number int
	}
	seen := map[place]bool{}
	for _, d := range devices {
		at := place{d.Host, d.Number}
		if seen[at] {
			return true
		}
		seen[at] = true
	}
	return false
}

// Collective is what the name and the flags of a collective say.
func (w *benchWorld) collective(job *processJob) error {
	ranks, err := w.count(job)
	if err != nil {
		return err
	}
	if ranks%w.nodes != 0 {
		return cli.Usagef("%s are not as many in each of --nodes %d", diag.Counted(ranks, "rank"), w.nodes)
	}
	w.coll = &ir.Collective{Kind: w.kind, Ranks: ranks, Chunks: 1, Root: w.root}
	w.algo = "the catalog's variants"
	for i := range w.own {
		w.algo += ", " + diag.Printable(w.own[i].Name)
	}
	if w.kind == ir.SendRecv {
		w.coll.Peer = nextPeers(ranks)
	}
	if w.root != 0 && !w.kind.Rooted() {
		return cli.Usagef("%v has no root", w.kind)
	}
	if w.root < 0 || w.root >= ranks {
		return cli.Usagef("there is no rank %d of %d to be --root", w.root, ranks)
	}
	return nil
}

// nextPeers has each rank send to the next, as nccl-tests has it.
func nextPeers(ranks int) []int32 {
	peers := make([]int32, ranks)
	for r := range peers {
		peers[r] = int32((r + 1) % ranks)
	}
	return peers
}

// Read compiles or reads what arg names, for calls out of place and in place, as
// far as it is for them.
func (w *benchWorld) read(arg string, a *cli.App) (verify.Options, error) {
	var check verify.Options
	var why error
	s, err := a.Open(arg, &w.Limits)
	if err != nil {
		return check, err
	}
	defer s.Close()
	for i, inplace := range [2]bool{false, true} {
		if want := w.Inplace.Value; want != nil && *want != inplace {
			continue
		}
		r := &compiling.Request{Flags: w.Flags}
		r.Inplace.Value = &inplace
		p, o, err := compiling.RunnableOf(a, s, r)
		if err == nil && w.given[0] == nil {
			check, w.coll = o, p.Coll
			w.algo = p.Name
		}
		if err == nil {
			w.given[i] = p
			if p.Even {
				w.multiple = int64(max(p.Coll.Chunks, 1))
			}
			continue
		}
		var usage cli.UsageError
		if why = errors.Join(why, err); errors.As(err, &usage) {
			return check, err
		}
	}
	if w.coll == nil {
		return check, why
	}
	return check, nil
}

// anyGiven is the file's program, for calls out of place where it has one for them, else in place.
func (w *benchWorld) anyGiven() *ir.Program { return cmp.Or(w.given[0], w.given[1]) }

// form is what measures a size.
func (w *benchWorld) form(ctx context.Context, a *cli.App, bytes int64, inplace bool) (*bench.Form, error) {
	if f, ok := w.forms[formKey{bytes, inplace}]; ok {
		return f, nil
	}
	if !w.measures(inplace) {
		return nil, nil
	}
	if w.measured != nil {
		return w.byRules(bytes, inplace)
	}
	f := &bench.Form{}
	if !w.named {
		if f.Program = w.given[0]; inplace {
			f.Program = w.given[1]
		}
		if f.Program == nil {
			return nil, nil
		}
		f.Name = fmt.Sprintf("%s %v", path.Base(f.Program.Name), f.Program.Protocol)
	} else {
		call := w.call(inplace)
		v, _, err := w.chooser.Choose(call, bytes, w.dtype.Size())
		if errors.Is(err, choose.ErrNotInPlace) {
			return nil, nil
		}
		if err == nil && w.trying != nil {
			v, err = w.settle(ctx, call, bytes)
		}
		if err != nil {
			return nil, err
		}
		if f, err = w.variant(v, call); err != nil {
			return nil, err
		}
	}
	if w.ctas.Given() || w.threads > 0 || w.tileBytes > 0 {
		n, note, err := w.ctas.Replicas(f.Program, w.mostReplicas())
		if err != nil {
			return nil, err
		}
		if note != "" && w.first {
			a.Note("", "%s", note)
		}
		f.Columns, f.Threads, f.Tile = n, w.threads, w.tileBytes
	}
	f.Name += choose.Variant{Columns: f.Columns, Threads: f.Threads, Tile: f.Tile}.Width()
	return f, nil
}

// mostReplicas is how many replicas of a program the device may have.
func (w *benchWorld) mostReplicas() int {
	if devices.GPUs[w.device] == nil {
		return executor.DefaultMaxColumns
	}
	return math.MaxInt32
}

func (w *benchWorld) call(inplace bool) choose.Call {
	return choose.Call{Kind: w.coll.Kind, Ranks: w.coll.Ranks, Root: w.coll.Root, Inplace: inplace, Nodes: w.nodes}
}

// variant makes a form of a variant. Its name is without the width.
func (w *benchWorld) variant(v choose.Variant, call choose.Call) (*bench.Form, error) {
	p, err := w.chooser.Program(v, call)
	if err != nil {
		return nil, err
	}
	if target, err := codegen.TargetByName("program"); err == nil {
		if err := mscclc.Fits(p, target).Err(); err != nil {
			return nil, err
		}
	}
	f := &bench.Form{Program: p, Columns: v.Columns, Threads: v.Threads, Tile: v.Tile}
	if devices.GPUs[w.device] == nil {
		f.Threads = 0
	}
	v.Columns, v.Threads, v.Tile = 0, 0, 0
	f.Name = v.String()
	return f, nil
}
