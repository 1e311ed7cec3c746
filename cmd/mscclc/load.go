package main

import (
	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
)

// load makes what arg names runnable, which proves it.
func (a *app) load(arg string, f *runFlags) (*executor.Loaded, *ir.Program, error) {
	p, check, err := a.runnable(arg, f)
	if err != nil {
		return nil, nil, err
	}
	l, err := a.loadProgram(arg, p, check, f)
	return l, p, err
}

// loadProgram makes p, which messages call name, runnable.
func (a *app) loadProgram(name string, p *ir.Program, check verify.Options, f *runFlags) (*executor.Loaded, error) {
	l, err := executor.Load(p, executor.Options{Device: deviceTable[f.device](), Check: check, Unproven: f.unproven,
		TileBytes: tileFor(p, f.size)})
	if err != nil {
		return nil, impossible(err)
	}
	if f.unproven {
		a.Note(name, "the program is not proven")
	}
	if p.ModifiesInput() {
		a.Note(name, "the program overwrites input that is not output")
	}
	return l, nil
}

// runnable compiles or reads what arg names, and says how to prove it.
func (a *app) runnable(arg string, f *runFlags) (*ir.Program, verify.Options, error) {
	s, err := a.Open(arg, &f.Limits)
	if err != nil {
		return nil, f.Limits.Check, err
	}
	defer s.Close()
	return a.runnableOf(s, f)
}

// runnableOf is runnable of what s holds. It may be called again, for --inplace or not: s is read once.
func (a *app) runnableOf(s *cli.Source, f *runFlags) (p *ir.Program, check verify.Options, err error) {
	check = f.Limits.Check
	if s.Kind == codegen.KindSource {
		p, err := a.compileToRun(s, f)
		return p, check, err
	}
	if flag := f.unfit("target", "fused-receives"); flag != "" {
		return nil, check, compiledAlready(s.Name, flag)
	}
	if s.Program == nil && s.Kind == codegen.KindMSCCLPP {
		s.Program, err = runChannels(s, f.Limits.Read, check, f)
	} else if s.Program == nil {
		s.Program, err = readProgram(s, f.Limits.Read)
	}
	if err != nil {
		return nil, check, err
	}
	if p, err = f.called(s, s.Program); err != nil {
		return nil, check, err
	}
	if p.Coll.Kind == ir.Opaque && !f.unproven {
		if _, found := verify.Check(p, check); len(found) > 0 {
			return nil, check, found
		}
		observe(p)
		f.observed = true
	}
	return p, check, nil
}

// called returns p, which s was read as, as the flags have it called: by another
// protocol, or in place or out of place alone, if p is for such calls.
func (c *compiling) called(s *cli.Source, p *ir.Program) (*ir.Program, error) {
	if want := c.inplace.value; want != nil {
		if inplace := *want; inplace != p.Coll.Inplace && (inplace && !p.InPlace || !inplace && !p.OutOfPlace) {
			return nil, diag.List{diag.New(diag.NotInPlace, cli.FileSpan(s.Name),
				"the program is not made for --inplace=%v", inplace)}
		}
		p = p.Called(*want)
		p.InPlace, p.OutOfPlace = *want, !*want
	}
	if c.protocol != "" {
		want, _ := ir.ProtocolByName(c.protocol)
		if p.OneSided != nil && want != p.Protocol {
			return nil, diag.List{diag.New(diag.Parameter, cli.FileSpan(s.Name),
				"the program is one-sided and compiled for %v: --protocol %v cannot change it", p.Protocol, want)}
		}
		p.Protocol = want
	}
	return p, nil
}

func (a *app) compileToRun(s *cli.Source, f *runFlags) (*ir.Program, error) {
	c := f.compiling
	c.unproven, c.bytes = true, f.size // executor.Load proves it
	p, err := a.compileSource(s, &c, nil)
	if err != nil {
		return nil, err
	}
	if c.channels != nil {
		f.turns.of(c.channels, f.size)
	}
	target, err := f.findTarget()
	if err != nil {
		return nil, err
	}
	return p, mscclc.Fits(p, target).Err()
}
