package tuned

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"mscclc/bundle"
	"mscclc/bundle/limits"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/devices"
	"mscclc/files"
	"mscclc/ir/diag"
	"mscclc/kernels"
	"mscclc/runtime"
)

// SpecOf returns what the bundle for a machine is made of: the rules of d, which may be nil, then those that are built
// in for its GPUs and no more ranks, and candidates for calls that neither is for.
func SpecOf(machine Machine, d *Document) bundle.Spec {
	device, gpus := machine.Device, machine.GPUs
	spec := bundle.Spec{Device: device, DTypes: bundle.DefaultDTypes, CTAs: bundle.DefaultCTAs,
		Maker: "mscclc " + cli.Version()}
	var tables []*bundle.Measured
	if d != nil {
		tables, spec.Note = append(tables, d.Rules), d.Title()+", then candidates"
	}
	for _, m := range bundle.BuiltIn() {
		if m.Device == device {
			if d != nil {
				tables[0] = extended(d.Rules, m)
			}
			tables, spec.Note = append(tables, m), cmp.Or(spec.Note, "those that are built in, then candidates")
		}
	}
	spec.Note = cmp.Or(spec.Note, "candidates of mscclc, then NCCL's")
	for n := 2; n <= min(gpus, limits.Ranks); n *= 2 {
		spec.Ranks = append(spec.Ranks, n)
	}
	if 2 <= gpus && gpus <= limits.Ranks {
		spec.Ranks = append(spec.Ranks, gpus)
	}
	for i, m := range tables {
		measured := d != nil && i == 0 // perhaps by a job of several machines
		fits := func(r *bundle.MeasuredRule) bool { return measured || r.Ranks <= max(gpus, 2) }
		spec.Ranks = append(spec.Ranks, m.Ranks(fits)...)
	}
	slices.Sort(spec.Ranks)
	spec.Ranks = slices.Compact(spec.Ranks)
	for _, n := range spec.Ranks {
		tables := tables
		if machine.Apart(min(n, gpus)) {
			tables = append(apartRules(tables), bundle.ApartCandidates(n))
		}
		rules, _ := bundle.RulesFor(n, spec.CTAs, tables, true)
		spec.Rules = append(append(spec.Rules, rules...), bundle.RulesOver(n, tables)...)
	}
	return spec
}

// apartRules returns the rules of tables that count where GPUs do not reach each other's memory. Others would stand in
// the way of candidates, and serve no call there. Rules for invariant bits count everywhere.
func apartRules(tables []*bundle.Measured) (list []*bundle.Measured) {
	for _, m := range tables {
		some := *m
		some.Rules = slices.DeleteFunc(slices.Clone(m.Rules), func(r bundle.MeasuredRule) bool {
			return !r.Apart && r.Bits == "" && r.Then == ""
		})
		list = append(list, &some)
	}
	return list
}

// extended returns m with rules that are built in for larger calls than those that were measured.
func extended(m, builtIn *bundle.Measured) *bundle.Measured {
	type group struct {
		collective, nodes, when string
		ranks                   int
		windows                 bool
		bits                    string
	}
	of := func(r *bundle.MeasuredRule) group {
		return group{r.Collective, r.Nodes, r.When, r.Ranks, r.Windows, r.Bits}
	}
	last := map[group]int64{}
	all := &bundle.Measured{Device: m.Device, Rules: slices.Clone(m.Rules)}
	for i := range m.Rules {
		if r := &m.Rules[i]; r.DType == "" {
			last[of(r)] = max(last[of(r)], cmp.Or(r.UpTo, math.MaxInt64))
		}
	}
	for _, r := range builtIn.Rules {
		if up, measured := last[of(&r)]; measured && !r.Candidate && (r.UpTo == 0 || r.UpTo > up) {
			all.Rules = append(all.Rules, r)
		}
	}
	all.Yield()
	return all
}

// Cached returns the file with the bundle of a spec without programs of the user's. The bundle is made once, with
// machine code of the driver's, and kept in the user's cache.
func Cached(a *cli.App, spec bundle.Spec) (string, error) {
	path, err := cachePath(&spec)
	if err != nil {
		return "", err
	}
	if _, err := Open(path); err == nil {
		return path, nil
	}
	return path, build(a, spec, path)
}

// Open reads a bundle that the library takes.
func Open(name string) (*bundle.Bundle, error) {
	in, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := files.ReadAll(name, in, "a bundle", limits.File)
	if err != nil {
		return nil, err
	}
	b, err := bundle.Decode(name, text)
	if err != nil {
		return nil, err
	}
	if why := refused(in, b); why != "" {
		return nil, cli.Unavailable("the library does not take %s: %s", name, why)
	}
	return b, nil
}

// refused says why the library would refuse a bundle that is whole (bundle_open in runtime/src).
func refused(in *os.File, b *bundle.Bundle) string {
	if why := files.Untrusted(in); why != "" {
		return why
	}
	if b.ABI != kernels.Hash() {
		return "it is for the kernels of another version of mscclc; make it anew with mscclc bundle"
	}
	return ""
}

// cachePath returns the name of the file in the user's cache for the bundle of a spec. It depends on all that the
// bundle is made of.
func cachePath(spec *bundle.Spec) (string, error) {
	folder, err := runtime.CacheFolder("bundles")
	if err != nil {
		return "", noCache(err)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return "", err
	}
	id := sha256.Sum256(fmt.Appendf(text, "%d %x", bundle.Version, kernels.Hash()))
	return filepath.Join(folder, fmt.Sprintf("%x.bundle", id[:12])), nil
}

// noCache says that a bundle cannot be kept, and how it can.
func noCache(err error) error {
	d := diag.New(diag.Unavailable, diag.Span{}, "the bundle cannot be kept in the user's cache: %v", err)
	return diag.List{d.WithHint("set MSCCLC_CACHE to a folder of your own with 100 MB of room")}
}

// build makes the bundle of a spec, and writes it to a file at once, so that others never see a part of it.
func build(a *cli.App, spec bundle.Spec, path string) error {
	b, err := bundle.Build(spec)
	if err != nil {
		return err
	}
	if err := devices.Finish(b); err != nil {
		a.Note("", "the driver compiles the kernels each time that a job starts, since it did not do so now: %v", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return noCache(err)
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".bundle")
	if err != nil {
		return noCache(err)
	}
	defer cli.Unfinished(out.Name())()
	defer os.Remove(out.Name())
	_, err = out.Write(bundle.Encode(b))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(out.Name(), path)
	}
	if err != nil {
		return noCache(err)
	}
	return nil
}
