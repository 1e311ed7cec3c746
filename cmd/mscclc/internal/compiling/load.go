package compiling

import (
	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
)

// A Request says what is to be made runnable, and for which calls.
type Request struct {
	Flags
	Size     int64  // of the calls in bytes, or 0
	Turns    Turned // of loops of what was loaded
	Observed bool   // what must hold is what the proof saw, as the file states nothing
}

// Runnable compiles or reads what arg names, and says how to prove it. What r.Lowering makes of it is to run.
func Runnable(a *cli.App, arg string, r *Request) (*either.Program, verify.Options, error) {
	s, err := a.Open(arg, &r.Limits)
	if err != nil {
		return nil, r.Limits.Check, err
	}
	defer s.Close()
	return RunnableOf(a, s, r)
}

// RunnableOf is Runnable of what s holds. It may be called again, for --inplace or not: s is read once.
func RunnableOf(a *cli.App, s *cli.Source, r *Request) (p *either.Program, check verify.Options, err error) {
	check = r.Limits.Check
	if s.Kind == codegen.KindSource {
		if p, err = compileToRun(a, s, r); err == nil {
			err = r.onNodes(&check, p)
		}
		return p, check, err
	}
	if flag := r.UnfitProgram(s.Kind, "target", "fused-receives"); flag != "" {
		return nil, check, CompiledAlready(s.Name, flag)
	}
	if s.Program == nil && s.Kind == codegen.KindMSCCLPP {
		s.Program, err = runChannels(s, r.Limits.Read, check, r)
	} else if s.Program == nil {
		s.Program, err = ReadProgram(s, r.Limits.Read)
	}
	if err != nil {
		return nil, check, err
	}
	if p, err = r.Called(s, s.Program); err != nil {
		return nil, check, err
	}
	if err := r.onNodes(&check, p); err != nil {
		return nil, check, err
	}
	if p.Coll.Kind == ir.Opaque && !r.Unproven {
		if _, found := verify.Check(p, check); len(found) > 0 {
			return nil, check, found
		}
		observe(p)
		r.Observed = true
	}
	return p, check, nil
}

// onNodes has check prove p for the nodes that the flags name. Programs that are lowered keep to the rule for nodes,
// and plans of MSCCL++ have ports between them, which mscclc's executor has within a node.
func (c *Flags) onNodes(check *verify.Options, p *either.Program) (err error) {
	if !c.Lowered() && c.Target != "mscclpp" {
		check.Nodes, err = c.Nodes.Of(p.Coll.Ranks)
	}
	return err
}

// Called returns p, which s was read as, as the flags have it called: by another
// protocol, or in place or out of place alone, if p is for such calls.
func (c *Flags) Called(s *cli.Source, p *either.Program) (*either.Program, error) {
	if want := c.Inplace.Value; want != nil {
		if inplace := *want; inplace != p.Coll.Inplace && (inplace && !p.InPlace || !inplace && !p.OutOfPlace) {
			d := diag.New(diag.NotInPlace, cli.FileSpan(s.Name), "the program is not made for --inplace=%v", inplace)
			return nil, diag.List{d.WithHint("leave --inplace out: its calls are %s",
				[2]string{"out of place", "in place"}[digit(p.Coll.Inplace)])}
		}
		p = p.Called(*want)
		p.InPlace, p.OutOfPlace = *want, !*want
	}
	if c.Protocol != "" {
		want, _ := ir.ProtocolByName(c.Protocol)
		if p.OneSided != nil && want != p.Protocol {
			return nil, diag.List{diag.New(diag.Parameter, cli.FileSpan(s.Name),
				"the program is one-sided and compiled for %v: --protocol %v cannot change it", p.Protocol, want)}
		}
		p.Protocol = want
	}
	return p, nil
}

func compileToRun(a *cli.App, s *cli.Source, r *Request) (*either.Program, error) {
	c := r.Flags
	c.Unproven, c.Unjudged, c.bytes = true, r.Unproven, r.Size // executor.Load proves it
	c.FileNodes()
	if c.Lowered() {
		c.Sided = "two"
	}
	p, err := compileSource(a, s, &c, nil)
	if err != nil {
		return nil, err
	}
	target, err := r.FindTarget()
	if err != nil {
		return nil, err
	}
	if target.Format == codegen.FormatMSCCLPP && c.Channels == nil {
		return c.planToRun(p)
	}
	if c.Channels != nil {
		r.Turns.of(c.Channels, r.Size)
	}
	return p, mscclc.Fits(p, target).Err()
}

// ReadProgram reads the program in s.
func ReadProgram(s *cli.Source, opt codegen.ReadOptions) (*either.Program, error) {
	if s.Kind == codegen.KindMSCCLPP {
		return nil, diag.List{diag.New(diag.Unsupported, cli.FileSpan(s.Name),
			"%s is a plan of MSCCL++, which can be shown and nothing else", diag.Printable(s.Name))}
	}
	if opt.Warn == nil {
		opt.Warn = s.Warn
	}
	return mscclc.ReadProgram(s.Kind, s.Name, s, opt)
}
