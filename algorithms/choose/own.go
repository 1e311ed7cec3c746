package choose

import (
	"fmt"
	"slices"
	"sync"

	"mscclc"
	"mscclc/algorithms"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/lang"
	"mscclc/lang/syntax"
	"mscclc/selection"
)

// An Own is a program file of a user's, to be chosen among beside the catalog.
type Own struct {
	// Name is what variants and tables call the program. It is that of a file, without its folder, so that no program
	// of the catalog has it.
	Name string

	File string // what messages call it

	// Tree is the syntax tree of an algorithm in chunks, which nobody changes, or nil. Options has what it imports by,
	// Lang.Open and Lang.ImportPath, and the limits of its compilation: Lang.Limits, Passes.MaxInsts and Check. The rest
	// is not used.
	Tree    *syntax.File
	Options mscclc.Options

	// Compiled is a proven program that is taken as it is where Tree is nil: for calls out of place, and in place; nil
	// is not for such calls.
	Compiled [2]*either.Program

	// Plan is the execution plan of MSCCL++ that Compiled is of, which cuts a call's buffer into PlanChunks, or nil.
	Plan       *mscclpp.Plan
	PlanChunks int
}

// UserPrograms are the user's programs, among which a choice is made beside the catalog's. Their names differ. A nil
// one is the catalog.
type UserPrograms []Own

// own returns the user's program of a name, or nil.
func (s UserPrograms) own(program string) *Own {
	i := slices.IndexFunc(s, func(o Own) bool { return o.Name == program })
	if i < 0 {
		return nil
	}
	return &s[i]
}

// Has reports whether a program is one of the user's.
func (s UserPrograms) Has(program string) bool { return s.own(program) != nil }

// Compiled reports whether a program is one of the user's that is taken as it is.
func (s UserPrograms) Compiled(program string) bool {
	o := s.own(program)
	return o != nil && o.Tree == nil
}

// plan returns the user's execution plan of a name, or nil.
func (s UserPrograms) plan(program string) *Own {
	if o := s.own(program); o != nil && o.Plan != nil {
		return o
	}
	return nil
}

// compiled returns a user's program that is taken as it is, for calls like c; given says whether the name is of one.
func (s UserPrograms) compiled(program string, c Call) (p *either.Program, given bool, err error) {
	if !s.Compiled(program) {
		return nil, false, nil
	}
	o, place := s.own(program), 0
	if c.Inplace {
		place = 1
	}
	for _, either := range o.Compiled {
		if either != nil {
			if err := c.meets(program, either.Coll); err != nil {
				return nil, true, err
			}
		}
	}
	if p = o.Compiled[place]; p == nil {
		return nil, true, fmt.Errorf("%s is not made for calls %s", program, [2]string{"out of place", "in place"}[place])
	}
	if node := c.nodesOfPlan(); node != nil && o.Plan != nil {
		return p, true, verify.Unported(p, node).Err()
	}
	return p, true, nil
}

// algorithm returns the syntax tree of a program, and how it is compiled for calls like c.
func (s UserPrograms) algorithm(program string, c Call) (tree *syntax.File, opt mscclc.Options, err error) {
	if o := s.own(program); o != nil {
		opt.Lang, opt.Check = c.options(factsOf(o.Tree)), o.Options.Check
		opt.Lang.Open, opt.Lang.ImportPath, opt.Lang.Limits = o.Options.Lang.Open, o.Options.Lang.ImportPath,
			o.Options.Lang.Limits
		opt.Passes.MaxInsts = o.Options.Passes.MaxInsts
		return o.Tree, opt, nil
	}
	name, params, _ := Unshaped(program)
	if tree, err = CatalogTree(name); err != nil {
		return nil, opt, err
	}
	opt.Lang = c.options(factsInCatalog(name))
	for key, n := range params {
		opt.Lang.Params[key] = n
	}
	return tree, opt, nil
}

// trees holds the catalog's files by their names. A choice compiles each many times, and to parse is a fifth of that.
var trees sync.Map

// CatalogTree returns the syntax tree of a program of the catalog, which nobody changes.
func CatalogTree(name string) (*syntax.File, error) {
	if tree, ok := trees.Load(name); ok {
		return tree.(*syntax.File), nil
	}
	text, err := algorithms.Open(name)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(name+".mscl", text)
	if err == nil {
		trees.Store(name, tree)
	}
	return tree, err
}

// expand says which chunk goes where by a program in calls like c.
func (s UserPrograms) expand(program string, c Call) (*ir.ChunkDAG, error) {
	return s.expandUpTo(program, c, 0)
}

// expandUpTo is expand, where a program of the catalog has at most a given number of operations; 0 is the usual limit.
func (s UserPrograms) expandUpTo(program string, c Call, ops int64) (*ir.ChunkDAG, error) {
	tree, opt, err := s.algorithm(program, c)
	if err != nil {
		return nil, err
	}
	if ops > 0 && s.own(program) == nil {
		opt.Lang.Limits.Ops = ops
	}
	chunks, err := lang.Expand(tree, opt.Lang)
	if err != nil {
		return nil, err
	}
	return chunks, c.meets(program, chunks.Coll)
}

// shape returns the shape of a program in calls like c; that of one which is taken as it is is empty.
func (s UserPrograms) shape(program string, c Call) (Shape, error) {
	if _, given, err := s.compiled(program, c); given {
		return Shape{}, err
	}
	chunks, err := s.expand(program, c)
	if err != nil {
		return Shape{}, err
	}
	return ShapeOf(chunks), nil
}

// compile compiles v for calls like c, and proves it.
func (s UserPrograms) compile(v selection.Choice, c Call) (*either.Program, error) {
	if p, given, err := s.compiled(v.Program, c); given {
		return p, err
	}
	if v.Placement != selection.AsCalled {
		return s.staged(v, c)
	}
	return s.compileAs(v, c, mscclc.Options{})
}

// compileAs compiles v for calls like c, with what as says of the one-sided passes and of the proof.
func (s UserPrograms) compileAs(v selection.Choice, c Call, as mscclc.Options) (*either.Program, error) {
	tree, opt, err := s.algorithm(v.Program, c)
	if err != nil {
		return nil, err
	}
	opt.OneSided, opt.Lowered, opt.Core, opt.Unproven = v.Sided == selection.OneSided,
		v.Sided == selection.Lowered, as.Core, as.Unproven
	v.Into(&opt.Core)
	opt.Nodes = c.nodeOf()
	opt.Lang.Protocol, opt.Lang.Via = &v.Protocol, v.Via
	p, err := mscclc.CompileFile(tree, opt)
	if err != nil {
		return nil, err
	}
	unseat(p, v.Program)
	return p, c.meets(v.Program, p.Coll)
}

// Own returns the forms of the user's programs: of an algorithm those that the catalog's have, and of a compiled
// program the one that it is.
func (s UserPrograms) Own() (list []selection.Choice) {
	for i := range s {
		o := &s[i]
		if o.Tree != nil {
			list = append(list, forms(o.Name, factsOf(o.Tree))...)
			continue
		}
		for _, p := range o.Compiled {
			if p != nil {
				v := selection.Choice{Program: o.Name, Protocol: p.Protocol}
				if p.OneSided == nil {
					v.Sided = selection.TwoSided
				}
				list = append(list, v)
				break
			}
		}
	}
	return list
}

// forms returns the forms of an algorithm, two-sided ones only where it has no hints that these cannot follow.
func forms(program string, is facts) (list []selection.Choice) {
	for _, sided := range [2]selection.Sided{selection.OneSided, selection.TwoSided} {
		if sided == selection.TwoSided && is.hinted {
			continue // without its hints it is another file's program
		}
		for p := range ir.NumProtocols {
			list = append(list, selection.Choice{Program: program, Sided: sided, Protocol: p})
		}
	}
	return list
}

// Collective returns the collective of a user's program in calls like c, with all that it requires.
func (o *Own) Collective(c Call) (*ir.Collective, error) {
	userPrograms := UserPrograms{*o}
	if p, given, err := userPrograms.compiled(o.Name, c); err != nil {
		return nil, err
	} else if given {
		return p.Coll, nil
	}
	chunks, err := userPrograms.expand(o.Name, c)
	if err != nil {
		return nil, err
	}
	return chunks.Coll, nil
}

// Unfit says why a user's program is for no call like c, or nil.
func (o *Own) Unfit(c Call) error {
	_, err := UserPrograms{*o}.shape(o.Name, c)
	return err
}
