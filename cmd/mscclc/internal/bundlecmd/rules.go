package bundlecmd

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/bundle"
	"mscclc/cmd/mscclc/internal/choosing"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/executor/data"
	"mscclc/ir/diag"
)

// addRules adds the rules for each number of ranks, and notes what nobody measured. The first of spec.Own, as many as
// named, are those that rules should name.
func (f *bundleFlags) addRules(a *cli.App, spec *bundle.Spec, named int) error {
	if slices.Contains(f.rules, noRules) {
		return f.unmeasured(spec, named)
	}
	tables, err := f.tables()
	if err != nil {
		return err
	}
	if err := f.checkThen(spec); err != nil {
		return err
	}
	spec.Note = f.origin(tables)
	choosing.NoteShort(a, f.device)
	if len(tables) == 0 && f.device != hostDevice {
		var known []string
		for _, m := range bundle.BuiltIn() {
			known = append(known, m.Device)
		}
		a.Note("", "nobody measured %s; rules are built in for %s. The library takes a bundle only on GPUs of that name",
			diag.Printable(f.device), strings.Join(known, ", "))
	}
	for _, n := range spec.Ranks {
		rules, missing := bundle.RulesFor(n, f.ctas, tables, f.candidates)
		over := bundle.RulesOver(n, tables)
		rules = append(append(rules, over...), f.rows(n)...)
		spec.Rules = append(spec.Rules, rules...)
		noteTypes(a, rules, spec.DTypes)
		if len(missing) == 0 || f.candidates {
			continue
		}
		what := "some or all calls of "
		for i, kind := range missing {
			if i > 0 {
				what += ", "
			}
			what += kind.String()
		}
		if len(missing) == len(bundle.Kinds) && len(rules)-len(over) == len(missing) {
			what = "all calls"
		}
		where := bundle.RanksText(n, "")
		if len(over) > 0 {
			where += " of one node"
		}
		a.Note("", "on %s NCCL runs %s, which nobody measured on %s; --candidates has the library learn", where, what,
			diag.Printable(f.device))
	}
	for i, name := range f.rules {
		if others := ranks(tables[i].Ranks(nil)); len(others) > 0 && !slices.ContainsFunc(spec.Ranks, others.has) {
			a.Note(name, "it has rules for %v ranks, and none for those of --ranks (%v)", others, ranks(spec.Ranks))
		}
	}
	for i := range named {
		noteUnused(a, spec, &spec.Own[i], tables)
	}
	return nil
}

// hostDevice is the name of the CPU as a device (docs/c.md), for which nobody measures rules.
const hostDevice = "CPU"

// noRules is the word in place of a file of --rules that leaves out all measured rules.
const noRules = "none"

// unmeasured is addRules for a bundle without measured rules: it has the programs of --program, and candidates if they
// are asked for. named is as there.
func (f *bundleFlags) unmeasured(spec *bundle.Spec, named int) error {
	switch {
	case len(f.rules) > 1:
		return cli.Usagef("--rules " + noRules + " leaves out all measured rules, and another --rules has some")
	case named > 0:
		return cli.Usagef("without rules nothing names the program of a FILE").Hint("--program NAME=FILE gives it a name")
	case len(spec.Named) == 0 && !f.candidates && len(f.then) == 0:
		return cli.Usagef("without rules a bundle needs programs with names, programs that finish rows, or candidates").
			Hint("--program NAME=FILE adds a program, and --candidates has the library learn")
	}
	if err := f.checkThen(spec); err != nil {
		return err
	}
	for _, n := range spec.Ranks {
		spec.Rules = append(spec.Rules, f.rows(n)...)
	}
	spec.Note = "programs with names alone"
	if len(f.then) > 0 {
		spec.Note = "programs that finish rows, and no measured rules"
	}
	if f.candidates {
		spec.Note = "candidates of mscclc, and no measured rules"
		for _, n := range spec.Ranks {
			rules, _ := bundle.RulesFor(n, f.ctas, nil, true)
			spec.Rules = append(spec.Rules, rules...)
		}
	}
	return nil
}

// noteUnused notes why a program of the user's is not in the bundle, if it is not.
func noteUnused(a *cli.App, spec *bundle.Spec, o *choose.Own, tables []*bundle.Measured) {
	if slices.ContainsFunc(spec.Rules, func(r bundle.Rule) bool { return r.Program == o.Name }) {
		return
	}
	var named ranks
	for _, m := range tables {
		named = append(named, m.Ranks(func(r *bundle.MeasuredRule) bool { return r.Program == o.Name })...)
	}
	slices.Sort(named)
	named = slices.Compact(named)
	why := "no rule names it"
	if slices.ContainsFunc(spec.Ranks, named.has) {
		why = "another file of --rules has rules that count before those that name it"
	} else if len(named) > 0 {
		why = fmt.Sprintf("the rules that name it are for %v ranks, and --ranks is %v", named, ranks(spec.Ranks))
	}
	a.Note(o.File, "%s, so that the bundle does not have it", why)
}

// ranks are numbers of ranks, in order.
type ranks []int

func (l ranks) has(n int) bool { return slices.Contains(l, n) }

func (l ranks) String() string {
	var words []string
	for _, n := range l {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ", ")
}

// noteTypes notes rules for types that the bundle has no kernel for.
func noteTypes(a *cli.App, rules []bundle.Rule, types []data.DType) {
	seen := map[diag.Span]bool{}
	for i := range rules {
		if r := &rules[i]; !r.Served(types) && !seen[r.Span] {
			seen[r.Span] = true
			what := "NCCL runs calls of %v"
			if r.Invariant {
				what = "sums of %v are errors"
			}
			a.Note(r.Span.Pos.String(), what+": --dtype names no type whose kernel could run them", data.DType(r.DType))
		}
	}
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
	if f.candidates {
		from = append(from, "candidates of mscclc")
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
