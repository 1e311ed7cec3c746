package benchcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/cmd/mscclc/internal/hostcache"
	"mscclc/cmd/mscclc/internal/processes"
	"mscclc/cmd/mscclc/internal/tuned"
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
	on       string // choose.Call.On, where ranks are of several nodes
	node     []int  // the node of each rank, in a job of several processes
	process  []int  // the node of each process, likewise

	found   *hostcache.Store // what was found on these hosts, or nil where it does not count
	chooser *choose.Chooser
	choices map[planKey]*planChoice // of --target mscclpp
	trying  *choose.Online          // of --online, or nil
	compiled
	roots    []compiled // those of each root, where --root all has a file compiled for each
	rootless string     // a root that is given to what has none, or ""
	first    bool       // whether this process is the one that reports
	bar      *cli.Progress

	result *bench.Report // what was measured

	forms map[formKey]*bench.Form // that checkCTAs has made already
}

// A formKey is the size and the placement of calls.
type formKey struct {
	bytes   int64
	inplace bool
	of      benchCase
}

// close frees the site. The other processes are left by the job.
func (w *benchWorld) close() error { return w.site.Close() }

// because returns err as what this machine could not do, where another process of the job is gone.
func (w *benchWorld) because(err error) error {
	if err == nil || w.exchange == nil || w.exchange.Lost() == nil {
		return err
	}
	return devices.Impossible(err)
}

// An ending is why a process ends, as it tells the others.
type ending struct {
	Text string    `json:",omitempty"`
	Code diag.Code `json:",omitempty"`
}

// together returns an error if err is not nil in some process. It is err, or that of the first process that has failed:
// that process tells it, and this one prints a line.
func (w *benchWorld) together(ctx context.Context, a *cli.App, err error) error {
	var own ending
	var usage cli.UsageError
	switch {
	case errors.As(err, &usage):
		own = ending{usage.Error(), diag.Usage}
	case err != nil:
		list, _ := cli.FailureOf(err, a.File)
		own = ending{list[0].Text, list[0].Code}
	}
	all, lost := exchange.Agree(ctx, w.exchange, own, nil)
	switch i := slices.IndexFunc(all, func(e ending) bool { return e != ending{} }); {
	case err != nil:
		return err
	case lost != nil:
		return devices.Impossible(lost)
	case i >= 0 && all[i].Code == diag.Usage:
		return processes.Short(a, i, cli.Usagef("%s", all[i].Text))
	case i >= 0:
		return processes.Short(a, i, diag.List{diag.New(all[i].Code, diag.Span{}, "%s", all[i].Text)})
	}
	return nil
}

// Open compiles what is to be measured, and opens the device.
func (p *benchPlan) Open(ctx context.Context, arg string, job *processes.Job, a *cli.App) (*benchWorld, error) {
	w := &benchWorld{benchPlan: p, first: true}
	check := verify.Options{}
	if !p.named {
		var err error
		if check, err = w.read(arg, a); err != nil {
			return nil, err
		}
		if err = w.fitRows(); err != nil {
			return nil, err
		}
	} else if err := w.collective(job); err != nil {
		return nil, err
	}
	for _, given := range w.programs() {
		if given != nil {
			if _, _, err := w.ctas.Replicas(given, w.mostReplicas(), devices.SharesCTAs(w.device)); err != nil {
				return nil, err
			}
		}
	}
	if w.coll.Kind == ir.Opaque {
		return nil, fmt.Errorf("without the proof nobody knows what %s computes: %w", diag.Printable(arg),
			executor.ErrNotSupported)
	}
	if w.coll.Kind == ir.Custom && w.vs == "nccl" {
		return nil, cli.Usagef("NCCL has no custom collective, which --vs nccl could measure")
	}
	if err := w.openSite(ctx, job, check); err != nil {
		return nil, err
	}
	w.chooser = &choose.Chooser{Given: p.chosenBy, Table: p.table, Device: w.site.Name(), By: p.figure, Own: p.own,
		Shared: shared(w.site.Devices())}
	w.chooser.Apart = devices.GPUs[w.device] != nil && !w.chooser.Shared && tuned.ApartHere(w.coll.Ranks)
	if err := w.openFound(ctx, a); err != nil {
		return nil, errors.Join(devices.Impossible(err), w.close())
	}
	// the tables that are built in were measured with a GPU for each rank, and their replicas have no room here
	if w.chooser.Shared {
		w.chooser.Table = p.chosenBy
	}
	kept, err := w.withData(w.dtypes[0])
	for i := 1; i < len(w.dtypes) && err != nil; i++ {
		kept, err = w.withData(w.dtypes[i])
	}
	if err != nil {
		return nil, errors.Join(err, w.close())
	}
	if w.first && w.rootless != "" {
		a.Note("", "%s has no effect: %s has no root", w.rootless, w.coll.Kind)
	}
	if w.first && w.sizes[0] > 0 { // after 0 sizes grow from 1 on
		w.measure(w.dtypes[0]).NoteEmpty(a, w.sizes, kept)
	}
	if len(w.dtypes) == 1 {
		w.sizes = kept
	}
	w.chooseOnline(a)
	if w.vs == besideTwo {
		w.rivals = w.twoSidedOps
	}
	if err := errors.Join(w.checkDevice(), w.checkOwn(), w.checkTable(a), w.checkCTAs(ctx, a)); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// openFound has programs be chosen by what was found on these hosts. It was found without the user's programs.
func (w *benchWorld) openFound(ctx context.Context, a *cli.App) (err error) {
	if !w.named || len(w.own) > 0 || w.forRules() || w.plans() {
		return nil
	}
	if w.found, err = hostcache.Open(ctx, a, w.exchange, w.process, w.site.Name()); err == nil {
		w.chooser.Here = w.found.Here()
	}
	return err
}

// measures reports whether calls in place, or out of place, are to be measured.
func (w *benchWorld) measures(inplace bool) bool {
	return inplace && w.place != "out" || !inplace && w.place != "in"
}

// checkCTAs refuses --ctas where a program that is chosen cannot have that many. It keeps the forms, to measure them.
func (w *benchWorld) checkCTAs(ctx context.Context, a *cli.App) error {
	if w.task != toMeasure || !w.named || !w.ctas.Given() || w.trying != nil {
		return nil
	}
	w.forms = map[formKey]*bench.Form{}
	defer w.use(w.cases()[0])
	for _, c := range w.cases() {
		w.use(c)
		if err := w.checkForms(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// key returns the key of a call of what is measured.
func (w *benchWorld) key(bytes int64, inplace bool) formKey {
	return formKey{bytes, inplace, benchCase{w.dtype, w.redop, w.coll.Root}}
}

// checkForms is checkCTAs of what is measured.
func (w *benchWorld) checkForms(ctx context.Context, a *cli.App) error {
	for _, bytes := range w.sizes {
		for _, inplace := range [2]bool{false, true} {
			var usage cli.UsageError
			form, err := w.form(ctx, a, bytes, inplace)
			if errors.As(err, &usage) {
				return err
			}
			if err == nil {
				w.forms[w.key(bytes, inplace)] = form
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
			return choosing.Unfit(&w.own[i], why, "give --ranks %d")
		}
	}
	return nil
}

// shared reports whether ranks have a device in common.
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
func (w *benchWorld) collective(job *processes.Job) error {
	ranks, err := w.count(job)
	if err != nil {
		return err
	}
	node, err := w.Nodes.Of(ranks)
	if err != nil {
		return cli.Usagef("%s are not on --nodes %s", diag.Counted(ranks, "rank"), string(w.Nodes)).Hint(
			"it is a number of nodes that have equally many, or the ranks of each, as in 4,4")
	}
	// equal nodes only say which entries of --table count: their programs may run on one node, too
	if on, nodes := choose.OnNodes(node); ranks%max(nodes, 1) != 0 || on != choose.InBlocks(ranks, nodes) {
		w.on = on
	}
	w.coll = &ir.Collective{Kind: w.kind, Ranks: ranks, Chunks: 1, Root: w.root}
	w.algo = "the catalog's variants"
	for i := range w.own {
		w.algo += ", " + diag.Printable(w.own[i].Name)
	}
	if w.kind == ir.SendRecv {
		w.coll.Peer = nextPeers(ranks)
	}
	if !w.kind.Rooted() {
		w.ignoreRoot()
	}
	return cli.CheckRoot(w.kind, ranks, w.root, w.allRoots)
}

// nextPeers has each rank send to the next, as nccl-tests has it.
func nextPeers(ranks int) []int32 {
	peers := make([]int32, ranks)
	for r := range peers {
		peers[r] = int32((r + 1) % ranks)
	}
	return peers
}
