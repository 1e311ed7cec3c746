package bundlecmd

import (
	"path/filepath"
	"slices"
	"strings"

	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/ir/diag"
)

// addRules adds the rules for each number of ranks, and notes what nobody measured.
func (f *bundleFlags) addRules(a *cli.App, spec *bundle.Spec) error {
	tables, err := f.tables()
	if err != nil {
		return err
	}
	spec.Note = f.origin(tables)
	if len(tables) == 0 {
		var known []string
		for _, m := range bundle.BuiltIn() {
			known = append(known, m.Device)
		}
		a.Note("", "nobody measured %s; rules are built in for %s. The library takes a bundle only on GPUs of that name",
			diag.Printable(f.device), strings.Join(known, ", "))
	}
	for _, n := range spec.Ranks {
		rules, missing := bundle.RulesFor(n, f.ctas, tables, f.unmeasured)
		spec.Rules = append(spec.Rules, rules...)
		if len(missing) == 0 || f.unmeasured {
			continue
		}
		what := "some or all calls of "
		for i, kind := range missing {
			if i > 0 {
				what += ", "
			}
			what += kind.String()
		}
		if len(missing) == len(bundle.Kinds) && len(rules) == len(missing) {
			what = "all calls"
		}
		a.Note("", "on %d ranks NCCL runs %s, which nobody measured on %s; --unmeasured has rules for them", n, what,
			diag.Printable(f.device))
	}
	for i := range spec.Own {
		name := spec.Own[i].Name
		if !slices.ContainsFunc(spec.Rules, func(r bundle.Rule) bool { return r.Program == name }) {
			a.Note(spec.Own[i].File, "no rule names it, so that the bundle does not have it")
		}
	}
	return nil
}

// origin says where rules come from, for those who read the bundle.
func (f *bundleFlags) origin(tables []*bundle.Measured) string {
	var from []string
	for _, name := range f.rules {
		from = append(from, filepath.Base(name))
	}
	if len(tables) > len(f.rules) {
		from = append(from, "those that are built in")
	}
	if f.unmeasured {
		from = append(from, "unmeasured ones of mscclc")
	}
	return strings.Join(append(from, "NCCL's"), ", then ")
}

// tables returns the measured rules: those of --rules, and then those that are built in. It fails where a file has
// rules of another device.
func (f *bundleFlags) tables() (list []*bundle.Measured, err error) {
	for _, name := range f.rules {
		file, err := cli.OpenOf("--rules", name)
		if err != nil {
			return nil, err
		}
		m, err := bundle.ReadRules(name, file)
		file.Close()
		if err != nil {
			return nil, err
		}
		if m.Device != f.device {
			return nil, cli.Usagef("%s has rules of %q, and --device is %q", diag.Printable(name), m.Device, f.device)
		}
		list = append(list, m)
	}
	for _, m := range bundle.BuiltIn() {
		if m.Device == f.device {
			list = append(list, m)
		}
	}
	return list, nil
}
