package bundle

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mscclc"
	"mscclc/algorithms/choose"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/selection"
)

// This file takes the user's programs that are compiled already.

// takeOwn proves the user's program o for a bundle. A two-sided program is lowered.
func takeOwn(o *choose.Own, key programKey) (*either.Program, error) {
	i := slices.IndexFunc(o.Compiled[:], func(p *either.Program) bool { return p != nil })
	if i < 0 {
		return nil, diag.List{diag.New(diag.Unsupported, diag.FileSpan(o.File), "%s is no program", o.Name)}
	}
	if key.InLanes != (selection.InLanes{}) {
		return nil, diag.List{diag.New(diag.Unsupported, diag.FileSpan(o.File), "%s is compiled already, and its rule says"+
			" \"lanes\": %d", o.Name, key.Lanes).WithHint("leave out \"lanes\", \"copies\" and \"together\", or name the algorithm itself")}
	}
	given := o.Compiled[i]
	p, err := both(o, given, key)
	if err == nil {
		err = Prove(p, key.direct(), key.node())
	}
	return p, hinted(err, o, hintOf(o, given))
}

// both returns the given program of o as one that is judged for calls in place and out of place, and lowers it if it is
// two-sided.
func both(o *choose.Own, given *either.Program, key programKey) (*either.Program, error) {
	p := given.Copy()
	p.InPlace, p.OutOfPlace = choose.HasInPlace(key.kind) && len(p.Then) == 0, true
	if p.OneSided == nil && p.Protocol != ir.Simple {
		d := diag.New(diag.Unsupported, p.Declaration, "the two-sided program %s is in protocol %v, and bundles take those"+
			" in Simple only", o.Name, p.Protocol)
		if inPlaceOnly(o, given) {
			return nil, diag.List{d.WithHint("make the file anew, in protocol Simple and for calls out of place")}
		}
		lowered := strings.TrimSuffix(o.Name, filepath.Ext(o.Name)) + ".lowered.mprog"
		return nil, diag.List{d.WithHint("mscclc compile %s --sided lowered --protocol Simple -o %s makes a program that a"+
			" rule for Simple may name", diag.Printable(o.File), diag.Printable(lowered))}
	}
	if err := key.meets(p, o.File); err != nil || p.OneSided != nil {
		return p, err
	}
	return mscclc.Lower(p, 0)
}

// inPlaceOnly reports whether the given program of o is for calls in place alone.
func inPlaceOnly(o *choose.Own, given *either.Program) bool {
	return o.Compiled[0] == nil && choose.HasInPlace(given.Coll.Kind)
}

// hintOf says what to do where the given program of o is wrong in calls of a bundle.
func hintOf(o *choose.Own, given *either.Program) string {
	switch {
	case inPlaceOnly(o, given):
		return "the file is for calls in place only, and calls of a bundle may be either: make it for calls out of place," +
			" or name the algorithm itself, which bundle compiles"
	case given.OneSided == nil:
		return "calls of a bundle may be in place or out of place, and the program must be right in both"
	}
	return "name the algorithm itself, which bundle compiles for calls in place and out of place"
}

// hinted returns an error about o with the position of its file, where it has none, and with a hint, where it has none
// or is right in the other placement: then the hint of the proof is not what to do.
func hinted(err error, o *choose.Own, hint string) error {
	var found diag.List
	if !errors.As(err, &found) {
		return err
	}
	for i := range found {
		if found[i].Span == (diag.Span{}) {
			found[i].Span = diag.FileSpan(o.File)
		}
		if found[i].Hint == "" || strings.HasPrefix(found[i].Text, verify.InPlace) {
			found[i].Hint = hint
		}
	}
	return found
}

// meets refuses a program for other calls than a rule is for.
func (k *programKey) meets(p *either.Program, file string) error {
	c := p.Coll
	var needs []string
	if c.Kind != k.kind {
		needs = append(needs, fmt.Sprintf(`"collective":"%v"`, c.Kind))
	}
	if c.Ranks != k.ranks {
		needs = append(needs, fmt.Sprintf(`"ranks":%d`, c.Ranks))
	}
	if c.Root != k.root {
		needs = append(needs, fmt.Sprintf(`"root":%d`, c.Root))
	}
	if then := p.Then.String(); then != k.then {
		return k.otherThen(then, file)
	}
	if p.Protocol != k.Protocol {
		needs = append(needs, fmt.Sprintf(`"protocol":"%v"`, p.Protocol))
	}
	if needs == nil {
		return nil
	}
	d := diag.New(diag.Unsupported, diag.FileSpan(file),
		"%s is %v of %d ranks with root %d in %v, and its rule is for %v of %d ranks with root %d in %v", k.Program, c.Kind,
		c.Ranks, c.Root, p.Protocol, k.kind, k.ranks, k.root, k.Protocol)
	if !slices.Contains(Kinds, c.Kind) {
		return diag.List{d.WithHint("bundles are for %s", strings.Join(KindNames(), ", "))}
	}
	return diag.List{d.WithHint("a rule for this program has %s", strings.Join(needs, ", "))}
}
