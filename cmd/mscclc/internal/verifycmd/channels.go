package verifycmd

import (
	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/passes/channels"
)

// judgeChannels proves a plan of MSCCL++, and notes what its executor would do wrong with it.
func (d *verdict) judgeChannels(s *cli.Source, read codegen.ReadOptions, check verify.Options,
	f *verifyFlags) (*ir.Program, error) {
	_, p, err := mscclpp.Read(s.Name, s, read)
	if err != nil {
		return nil, err
	}
	d.warned = mscclpp.Faults(p)
	return d.proveChannels(p, check, f)
}

// judgeLevel judges an algorithm that says itself which thread block does what, for MSCCL++ if that is the target.
func (d *verdict) judgeLevel(p *ir.ChannelProgram, check verify.Options, f *verifyFlags) (*ir.Program, error) {
	g, err := d.proveChannels(p, check, f)
	if found, rejected := err.(diag.List); rejected && f.Protocol != "" && !f.replay {
		one := diag.New(diag.Parameter, p.Place(-1),
			"the algorithm says itself what waits for what, and is not right with --protocol %s, in place of the file's own: %s",
			f.Protocol, problemCount(found))
		one = one.WithNote(found[0].Span, "the first is: %s", found[0].Text)
		return g, diag.List{one.WithHint("leave --protocol out; --replay lists all, and shows them")}
	}
	if err != nil || !f.explicit || f.Target != "mscclpp" {
		return g, err
	}
	_, d.warned, err = mscclc.PlanOfChannels(p, mscclc.PlanOptions{Check: check})
	return g, err
}

// proveChannels judges a program of channels.
func (d *verdict) proveChannels(p *ir.ChannelProgram, check verify.Options, f *verifyFlags) (*ir.Program, error) {
	var err error
	if check.Nodes, err = f.Nodes.Of(p.Coll.Ranks); err != nil {
		return nil, err
	}
	g, report, found := channels.Check(p, check)
	d.judged = report
	if channels.Turns(p, 1<<62) > 1 {
		d.note = "pipelines are proven for any number of loop iterations"
	}
	return g, found.Err()
}
