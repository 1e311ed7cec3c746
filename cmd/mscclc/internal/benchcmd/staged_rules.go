package benchcmd

import (
	"mscclc/algorithms/choose"
	"mscclc/bench"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
)

// checkRules says what does not go with --staged of a collective that is not tuned, or with --rules.
func (f *benchFlags) checkRules(named bool) error {
	switch {
	case f.rules == "" && (f.tune || !named || !f.Staged()):
		return nil
	case f.rules == "" || !named || !f.Staged() || f.tune:
		return cli.Usagef("--staged measures a collective by --rules FILE, or tunes it with --tune")
	case f.judge || f.online > 0 || f.table != "" || f.ctas.Given() || f.threads > 0 || f.tile != "":
		return cli.Usagef("--rules says what runs: it takes no --judge, --online, --table, --ctas, --threads and --tile")
	}
	return nil
}

// readRules reads --rules for the device, if it is given.
func (w *benchWorld) readRules() (err error) {
	if w.benchFlags.rules == "" {
		return nil
	}
	w.measured, err = readMeasured(w.benchFlags.rules, w.site.Name(), true)
	return err
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
	r, ok := w.measured.Rule(w.coll.Kind.String(), w.coll.Ranks, when, bytes)
	if !ok || r.Program == bundle.NCCL {
		return nil, nil
	}
	v := choose.Variant{Program: r.Program, Protocol: r.Protocol, Staged: true, Columns: r.Columns, Threads: r.Threads,
		Tile: r.Tile}
	f, err := w.variant(v, w.call(inplace))
	if err == nil {
		f.Name += v.Width()
	}
	return f, err
}
