package benchcmd

import (
	"errors"
	"strconv"

	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// This file compiles a file that is to be measured.

// A compiled is what is measured: the collective and, of a file, its programs for calls out of place and in place.
type compiled struct {
	given    [2]*either.Program
	twoSided [2]*either.Program // those, before they were lowered
	coll     *ir.Collective
	multiple int64
	algo     string
}

// read compiles or reads what arg names. --root is a parameter of an algorithm that has one. What has no root takes any
// --root, as nccl-tests does.
func (w *benchWorld) read(arg string, a *cli.App) (verify.Options, error) {
	s, err := a.Open(arg, &w.Limits)
	if err != nil {
		return verify.Options{}, err
	}
	defer s.Close()
	given := w.OneGiven("root")
	if given != "" && w.HasParameter(s, "root") {
		return w.readRoots(s, a)
	}
	check, err := w.compile(s, a, "")
	switch {
	case err != nil || given == "":
		return check, err
	case !w.coll.Kind.Rooted():
		w.ignoreRoot()
	case w.allRoots || w.root != w.coll.Root:
		w.compiled = compiled{}
		return w.compile(s, a, "root="+strconv.Itoa(w.root)) // which is refused
	}
	return check, nil
}

// ignoreRoot takes back --root, and keeps it for a note unless it is 0.
func (w *benchWorld) ignoreRoot() {
	if w.root != 0 || w.allRoots {
		w.rootless = w.OneGiven("root") + " " + w.rootText
	}
	w.root, w.allRoots = 0, false
}

// programs returns the file's programs, of all roots that are measured. Some are nil.
func (w *benchWorld) programs() []*either.Program {
	if w.roots == nil {
		return w.given[:]
	}
	var list []*either.Program
	for i := range w.roots {
		list = append(list, w.roots[i].given[:]...)
	}
	return list
}

// readRoots compiles an algorithm that has a parameter root for that of --root, or for each.
func (w *benchWorld) readRoots(s *cli.Source, a *cli.App) (check verify.Options, err error) {
	if !w.allRoots {
		return w.compile(s, a, "root="+strconv.Itoa(w.root))
	}
	for root := 0; root == 0 || root < w.coll.Ranks; root++ {
		w.compiled = compiled{}
		if check, err = w.compile(s, a, "root="+strconv.Itoa(root)); err != nil {
			return check, err
		}
		w.roots = append(w.roots, w.compiled)
	}
	w.compiled = w.roots[0]
	return check, nil
}

// compile compiles or reads what s has, with a setting of --root or "", for calls out of place and in place, as far as
// it is for them.
func (w *benchWorld) compile(s *cli.Source, a *cli.App, root string) (check verify.Options, err error) {
	var why error
	for i, inplace := range [2]bool{false, true} {
		if want := w.Inplace.Value; want != nil && *want != inplace {
			continue
		}
		r := &compiling.Request{Flags: w.Flags}
		r.Inplace.Value, r.RootSetting = &inplace, root
		p, o, err := compiling.RunnableOf(a, s, r)
		if err == nil {
			w.twoSided[i] = p
			p, err = r.Lower(p)
		}
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
		if errors.As(err, &usage) {
			return check, err
		}
		if why == nil || notMade(why) { // another reason than a place that nobody asked for counts
			why = err
		}
	}
	if w.coll == nil {
		return check, why
	}
	return check, nil
}

// notMade reports whether err says no more than that a program is not for calls in place, or out of place.
func notMade(err error) bool {
	var found diag.List
	return errors.As(err, &found) && len(found) == 1 && found[0].Code == diag.NotInPlace
}
