package choosing

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"mscclc/algorithms/choose"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/lang/syntax"
	"mscclc/passes/channels"
)

// OwnUsage is how help describes a command's files beside a collective.
const OwnUsage = `FILEs are programs of your own, to be compared with the catalog's. A FILE is an algorithm in chunks
or a program. The parameters ranks (or nodes and gpus) and root of an algorithm are set as the catalog's are. A program
(XML, .mprog, an execution plan of MSCCL++) runs as it is.`

// FilesBeside returns the usage error of files beside what is no collective.
func FilesBeside(command, arg string) error {
	return cli.Usagef("%s takes files beside a collective, and one file alone; %q is no collective: there are %s",
		command, arg, cli.List(cli.CollectiveNames()))
}

// ReadUserPrograms reads the user's programs that are to be chosen among beside the catalog. It refuses those that have
// an epilogue, since their outputs are not a collective's.
func ReadUserPrograms(a *cli.App, args []string, from *cli.Reading) (choose.UserPrograms, error) {
	userPrograms, err := ReadForBundle(a, args, from)
	for i := range userPrograms {
		if o := &userPrograms[i]; finishesRows(o) {
			d := diag.New(diag.Unsupported, cli.FileSpan(o.File),
				"the file has an epilogue, so its outputs are not a collective's, and it is not compared with others")
			return nil, diag.List{d.WithHint("name the file alone, with --row N; mscclc bundle --then LIST makes a " +
				"bundle of such programs")}
		}
	}
	return userPrograms, err
}

// finishesRows reports whether a program has an epilogue. There are no ranks yet to expand an algorithm for, so it
// looks for calls of then in the file.
func finishesRows(o *choose.Own) bool {
	if slices.ContainsFunc(o.Compiled[:], func(p *either.Program) bool { return p != nil && len(p.Then) > 0 }) {
		return true
	}
	if o.Tree == nil {
		return false
	}
	dot := false
	for i := range o.Tree.Tokens {
		text := strings.TrimSpace(o.Tree.Tokens[i].Value)
		switch {
		case dot && text == "then":
			return true
		case text != "" && text[0] != '#':
			dot = text == "."
		}
	}
	return false
}

// ReadForBundle reads the user's programs for a bundle, whose rules may name some that have an epilogue.
func ReadForBundle(a *cli.App, args []string, from *cli.Reading) (choose.UserPrograms, error) {
	var userPrograms choose.UserPrograms
	for _, arg := range args {
		own, err := readOwn(a, arg, from)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(userPrograms, func(o choose.Own) bool { return o.Name == own.Name }) {
			return nil, cli.Usagef("two files are called %s, by which a table could not tell them apart", own.Name)
		}
		userPrograms = append(userPrograms, own)
	}
	return userPrograms, nil
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
		text, err := s.ReadAlgorithm(&from.Limits)
		if err != nil {
			return own, err
		}
		own.Options.Lang = from.Imports(s)
		from.Limits.Apply(&own.Options)
		own.Tree, err = syntax.ParseLimited(s.Name, text, from.Limits.Lang)
		return own, err
	case codegen.KindMSCCLPP:
		err = readPlan(&own, s, from)
		return own, err
	}
	p, err := compiling.ReadProgram(s, from.Limits.Read)
	if err != nil {
		return own, err
	}
	if _, found := verify.Check(p, from.Limits.Check); found.Err() != nil {
		return own, found
	}
	if p.Coll.Kind == ir.Opaque {
		return own, noResult(s)
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

// noResult says that a file is not compared with others, as it states no result.
func noResult(s *cli.Source) error {
	return diag.List{diag.New(diag.Unsupported, cli.FileSpan(s.Name),
		"the file does not say what its collective is, so it is not compared with others")}
}

// readPlan reads an execution plan of MSCCL++, as what it means, and proves it.
func readPlan(own *choose.Own, s *cli.Source, from *cli.Reading) error {
	plan, c, err := mscclpp.Read(s.Name, s, from.Limits.Read)
	switch {
	case err != nil:
		return err
	case c.Coll.Kind == ir.Opaque:
		return noResult(s)
	case channels.Turns(c, 1<<62) > 1:
		d := diag.New(diag.Unsupported, cli.FileSpan(s.Name),
			"the plan has pipelines, whose loop iterations depend on the size, so it is not compared with others")
		return diag.List{d.WithHint("mscclc simulate and bench take it alone, at one size after the other")}
	}
	p, _, found := channels.Check(c, from.Limits.Check)
	if found.Err() != nil {
		return found
	}
	p.Sizes = plan.Sizes()
	p.InPlace, p.OutOfPlace = c.Coll.Inplace, !c.Coll.Inplace
	own.Plan, own.PlanChunks = plan, c.Coll.Divisor()
	place := 0
	if c.Coll.Inplace {
		place = 1
	}
	own.Compiled[place] = either.OfOneSided(p)
	return nil
}

// Unfit says why a user's program is not for the calls that it is to be chosen for, as its own error where it has some.
// Ranks is what has a command choose for %d ranks.
func Unfit(own *choose.Own, why error, ranks string) error {
	var found diag.List
	if errors.As(why, &found) {
		return found
	}
	d := diag.New(diag.Unsupported, cli.FileSpan(own.File), "%v", why)
	var other *choose.RanksError
	if errors.As(why, &other) {
		d = d.WithHint(ranks, other.Ranks)
	}
	return diag.List{d}
}

// RanksOfTopology has a command choose for %d ranks where these are a topology's.
const RanksOfTopology = "ranks are the GPUs of the topology: give one of %[1]d GPUs, as -t h200:gpus=%[1]d"

// algorithmNames returns the files of the catalog, as messages name them.
func algorithmNames() (names []string) {
	for _, kind := range choose.Collectives() {
		for _, name := range cli.AlgorithmsOf(kind.String()) {
			names = append(names, name+".mscl")
		}
	}
	return names
}
