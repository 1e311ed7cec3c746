package compiling

import (
	"errors"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// This file is compile of what is compiled already: a program moves to another runtime.

// rewriteFile returns the program in s for target, proven. Its steps stay where they fit the target; else what they do
// is compiled anew.
func (f *compileFlags) rewriteFile(a *cli.App, s *cli.Source, target *codegen.Target) (*either.Program, error) {
	if s.Kind == codegen.KindMSCCLPP {
		return nil, cli.Usagef("%s is a plan of MSCCL++: it is rewritten for no other runtime", diag.Printable(s.Name)).
			Hint("see mscclc verify, lint, run and show")
	}
	fixed := []string{"dump"}
	if target.Format != codegen.FormatMSCCLPP {
		fixed = append(fixed, "nodes")
	}
	if flag := f.UnfitProgram(s.Kind, fixed...); flag != "" {
		return nil, CompiledAlready(s.Name, flag)
	}
	p, err := ReadProgram(s, f.Limits.Read)
	if err == nil {
		p, err = f.Called(s, p)
	}
	if err != nil {
		return nil, err
	}
	if f.sizes != nil {
		p.Sizes = *f.sizes
	}
	if err := codegen.CheckHeader(&p.Header, target).Err(); len(p.Then) > 0 && err != nil {
		return nil, err // no other way to compile it leads anywhere
	}
	f.declared = p.Sizes
	if _, found := verify.Check(p, f.Limits.Check); len(found) > 0 {
		return nil, found
	}
	noteNoResult(a, s.Name, p)
	if target.Format == codegen.FormatMSCCLPP {
		f.FileNodes()
		if p.OneSided == nil {
			return f.recompile(p, target)
		}
		return p, f.withinNodes(p) // which ExecutionPlan makes a plan of, or says why not
	}
	p.Sizes = target.Limits.Sized(p.Sizes)
	lacks := mscclc.Fits(p, target)
	if len(lacks) > 0 && p.OneSided == nil {
		q, err := f.recompile(p, target)
		if err != nil {
			return nil, alsoAnew(lacks, err)
		}
		a.Note(s.Name, "%s: so what its steps do is compiled anew, with other thread blocks and channels", lacks[0].Text)
		p, lacks = q, mscclc.Fits(q, target)
	}
	if target.Format == codegen.FormatXML && !target.Inclusive && p.InPlace && p.OutOfPlace {
		a.Note(s.Name, "a file for %s is for calls in place, or out of place: this one is for calls %s, and --inplace=%v "+
			"writes the other", target.Name, [2]string{"out of place", "in place"}[digit(p.Coll.Inplace)], !p.Coll.Inplace)
	}
	return p, lacks.Err()
}

// withinNodes says why p, a one-sided program, is no plan for ranks of several nodes: nothing compiles it anew, and its
// steps reach other ranks as memory, where between nodes plans have ports.
func (f *compileFlags) withinNodes(p *either.Program) error {
	node, err := f.planNodes(&p.Header)
	if err != nil || node == nil {
		return err
	}
	found := verify.Unported(p, node)
	for i := range found {
		found[i] = found[i].WithHint("compile the algorithm itself with --target mscclpp --nodes N, which makes ports between " +
			"nodes; --nodes 1 says that all ranks share memory")
	}
	return found.Err()
}

// noteNoResult says of a file that states no result what is proven all the same.
func noteNoResult(a *cli.App, name string, p *either.Program) {
	if p.Coll.Kind == ir.Opaque {
		a.Note(name, "the file states no result: it is proven to end without races, and not to compute what is wanted")
	}
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// recompile compiles what the steps of p do anew, for target.
func (f *compileFlags) recompile(p *either.Program, target *codegen.Target) (*either.Program, error) {
	if p.Coll.Kind == ir.Opaque { // what it does is what must hold
		observe(p)
	}
	opt := mscclc.Options{Target: target, Check: f.Limits.Check, Unproven: target.Format == codegen.FormatMSCCLPP,
		FileNodes: f.fileNodes}
	if f.Nodes != "" {
		opt.Nodes = f.Nodes.Of
	}
	f.Limits.Apply(&opt)
	return mscclc.Recompile(p, opt)
}

// alsoAnew says of what a target lacks for a program that it lacks it for what is compiled anew too, or why nothing is.
func alsoAnew(lacks diag.List, err error) diag.List {
	var found diag.List
	if !errors.As(err, &found) {
		return lacks
	}
	for i := range found[:min(len(found), diag.Shown)] {
		if d := &found[i]; d.Text != lacks[0].Text {
			lacks[0] = lacks[0].WithNote(diag.Span{}, "compiled anew: %s", d.Text)
		}
	}
	if len(found) > 0 { // the program's own may name this very command
		lacks[0].Hint = found[0].Hint
	}
	return lacks
}
