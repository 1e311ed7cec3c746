package benchcmd

import (
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/files"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/selection"
)

// forRules reports whether programs are measured that rules name.
func (f *benchFlags) forRules() bool { return f.Staged() || f.windows }

// checkRules says what does not go with --rules, and with programs that only rules name.
func (f *benchFlags) checkRules(named bool, kind ir.Kind) error {
	switch {
	case f.rules == "" && !f.windows && (!named || !f.Staged()):
		return nil
	case f.rules == "" || !named || !f.forRules():
		return cli.Usagef("--staged and --windows measure a collective by --rules FILE; mscclc search finds the rules")
	case f.online > 0 || f.table != "" || f.ctas.Given() || f.threads > 0 || f.tile != "":
		return cli.Usagef("--rules says what runs: it takes no --online, --table, --ctas, --threads and --tile")
	}
	return f.checkWindows(kind)
}

// checkWindows says what does not go with --windows.
func (f *benchFlags) checkWindows(kind ir.Kind) error {
	switch {
	case f.windows && f.Staged():
		return cli.Usagef("--windows measures direct programs: it takes no --staged")
	case f.windows && f.vs == "":
		return cli.Usagef("NCCL registers windows: --windows needs --vs nccl")
	case f.windows && kind.Rooted():
		return cli.Usagef("rules for windows are for collectives without a root, and %v has one", kind)
	}
	return nil
}

// openMeasured reads a file of rules.
func openMeasured(name string) (*bundle.Measured, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return bundle.ReadRules(name, file)
}

// checkDevice refuses --rules of another device.
func (w *benchWorld) checkDevice() error {
	if w.measured == nil {
		return nil
	}
	return ofDevice(w.benchFlags.rules, w.measured, w.site.Name())
}

// ofDevice refuses rules of another device, from a file of that name.
func ofDevice(name string, rules *bundle.Measured, device string) error {
	if rules.Device == device {
		return nil
	}
	return cli.Usagef("%s has rules of %q, and the device is %q: name another file", diag.Printable(name), rules.Device,
		device)
}

// inBlocks returns how the ranks lie on nodes, as rules of bundles have it, and refuses what these cannot say. It is ""
// on one node.
func (w *benchWorld) inBlocks() (string, error) {
	if w.on == "" {
		return "", nil
	}
	node, _ := choose.ReadOn(w.on)
	switch {
	case w.windows:
		return "", cli.Usagef("windows are memory of one node, and the processes are on %d nodes", w.nodes)
	case !slices.IsSorted(node):
		return "", cli.Usagef("rules of bundles are for blocks of ranks, and the ranks are on nodes %s: start the processes of "+
			"a node one behind the other", w.on)
	}
	return choose.NodesText(node), nil
}

// byRules returns the form for a size that --rules has, or nil where NCCL runs the call.
func (w *benchWorld) byRules(bytes int64, inplace bool) (*bench.Form, error) {
	if inplace && !choose.HasInPlace(w.coll.Kind) {
		return nil, nil
	}
	when := bundle.Captured
	if w.noGraph {
		when = bundle.Eager
	}
	nodes, err := w.inBlocks()
	if err != nil {
		return nil, err
	}
	r, ok := w.measured.Rule(w.coll.Kind.String(), w.coll.Ranks, nodes, when, w.windows, bytes)
	if !ok || r.Program == bundle.NCCL {
		return nil, nil
	}
	v := r.Choice
	if v.Placement != selection.Direct {
		v.Placement = selection.Staged
	}
	f, err := w.variant(v, w.call(inplace))
	if err == nil {
		f.Name += v.WidthText()
	}
	return f, err
}
