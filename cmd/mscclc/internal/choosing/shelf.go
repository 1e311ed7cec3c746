package choosing

import (
	"errors"
	"path/filepath"
	"slices"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/lang/syntax"
)

// OwnUsage is how help describes a command's files beside a collective.
const OwnUsage = `FILEs are programs of your own, to be compared with the catalog's. A FILE is an algorithm in chunks
or a program. The parameters ranks (or nodes and gpus) and root of an algorithm are set as the catalog's are. A program
(XML, .mprog) runs as it is.`

// FilesBeside returns the usage error of files beside what is no collective.
func FilesBeside(command, arg string) error {
	return cli.Usagef("%s takes files beside a collective, and one file alone; %q is no collective: there are %s",
		command, arg, cli.List(cli.CollectiveNames()))
}

// ReadShelf reads the user's programs that are to be chosen among beside the catalog.
func ReadShelf(a *cli.App, args []string, from *cli.Reading) (choose.Shelf, error) {
	var shelf choose.Shelf
	for _, arg := range args {
		own, err := readOwn(a, arg, from)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(shelf, func(o choose.Own) bool { return o.Name == own.Name }) {
			return nil, cli.Usagef("two files are called %s, by which a table could not tell them apart", own.Name)
		}
		shelf = append(shelf, own)
	}
	return shelf, nil
}

// readOwn reads one.
func readOwn(a *cli.App, arg string, from *cli.Reading) (own choose.Own, err error) {
	s, err := a.Open(arg, &from.Limits)
	if err != nil {
		return own, err
	}
	defer s.Close()
	own = choose.Own{Name: filepath.Base(s.Name), File: s.Name}
	if slices.Contains(algorithmNames(), own.File) {
		return own, cli.Usagef("%s is of the catalog, which is chosen among anyway", arg)
	}
	switch s.Kind {
	case codegen.KindSource:
		if own.Text, err = s.ReadAlgorithm(&from.Limits); err != nil {
			return own, err
		}
		own.Options.Lang = from.Imports(s)
		from.Limits.Apply(&own.Options)
		_, err = syntax.ParseLimited(s.Name, own.Text, from.Limits.Lang)
		return own, err
	case codegen.KindMSCCLPP:
		d := diag.New(diag.Unsupported, cli.FileSpan(s.Name), "an execution plan of MSCCL++ is not compared with the catalog")
		return own, diag.List{d.WithHint("mscclc bench takes it alone")}
	}
	p, err := compiling.ReadProgram(s, from.Limits.Read)
	if err != nil {
		return own, err
	}
	if _, found := verify.Check(p, from.Limits.Check); found.Err() != nil {
		return own, found
	}
	if p.Coll.Kind == ir.Opaque {
		return own, diag.List{diag.New(diag.Unsupported, cli.FileSpan(s.Name),
			"the file does not say what its collective is, so it is not compared with others")}
	}
	for i, inplace := range []bool{false, true} {
		if inplace == p.Coll.Inplace || inplace && p.InPlace || !inplace && p.OutOfPlace {
			q := p.Called(inplace)
			q.InPlace, q.OutOfPlace = inplace, !inplace
			own.Compiled[i] = q
		}
	}
	return own, nil
}

// Unfit says why a user's program is not for the calls that it is to be chosen for, as its own error where it has some.
func Unfit(own *choose.Own, why error) error {
	var found diag.List
	if errors.As(why, &found) {
		return found
	}
	return diag.List{diag.New(diag.Unsupported, cli.FileSpan(own.File), "%v", why)}
}

// algorithmNames returns the files of the catalog, as messages name them.
func algorithmNames() (names []string) {
	for _, kind := range choose.Collectives() {
		for _, name := range cli.AlgorithmsOf(kind.String()) {
			names = append(names, name+".mscl")
		}
	}
	return names
}
