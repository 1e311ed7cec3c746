package verifycmd

import (
	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/compiling"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/either"
	"mscclc/ir/verify"
	"mscclc/passes/channels"
)

// judgeChannels proves a plan of MSCCL++, and notes what its executor would do wrong with it.
func (d *verdict) judgeChannels(s *cli.Source, read codegen.ReadOptions, check verify.Options,
	f *verifyFlags) (*either.Program, error) {
	plan, p, err := mscclpp.Read(s.Name, s, read)
	if err != nil {
		return nil, err
	}
	nodes, err := f.Nodes.Of(p.Coll.Ranks)
	if err != nil {
		return nil, err
	}
	d.warned = append(plan.Ignored, mscclpp.Faults(p)...)
	g, err := d.proveChannels(p, check)
	if f.Nodes == "" {
		d.notes(mscclpp.GroupsText(p))
	}
	found, _ := err.(diag.List)
	if err != nil && found == nil {
		return g, err
	}
	return g, append(mscclpp.CheckNodes(p, plan, nodes), found...).Err()
}

// forPlan reports whether algorithms are judged as plans of MSCCL++.
func (f *verifyFlags) forPlan() bool { return f.explicit && f.Target == "mscclpp" }

// judgePlanOf judges the plan that compile makes of p, which an algorithm was compiled to. It returns what the plan
// means.
func (d *verdict) judgePlanOf(s *cli.Source, p *either.Program, flags *compiling.Flags) (*either.Program, error) {
	plan, warned, err := flags.ExecutionPlan(p, 0)
	d.warned = append(d.warned, warned...)
	if err != nil {
		return p, err
	}
	d.notes(flags.PlanNote(s, p, plan))
	g, err := flags.PlanMeaning(p, plan)
	if err != nil {
		return p, err
	}
	g.Sizes = plan.Sizes()
	return g, nil
}

// notes adds a note, unless it is "".
func (d *verdict) notes(text string) {
	switch {
	case text == "":
	case d.note == "":
		d.note = text
	default:
		d.note += "; " + text
	}
}

// judgeLevel judges an algorithm that says itself which thread block does what, for MSCCL++ if that is the target.
func (d *verdict) judgeLevel(p *ir.ChannelProgram, check verify.Options, f *verifyFlags) (*either.Program, error) {
	nodes, err := f.Nodes.Of(p.Coll.Ranks)
	if err != nil {
		return nil, err
	}
	if !f.forPlan() {
		check.Nodes = nodes
	}
	g, err := d.proveChannels(p, check)
	if found, rejected := err.(diag.List); rejected && f.Protocol != "" && !f.replay {
		one := diag.New(diag.Parameter, p.Place(-1),
			"the algorithm says itself what waits for what, and is not right with --protocol %s, in place of the file's own: %s",
			f.Protocol, found.Summary())
		one = one.WithNote(found[0].Span, "the first is: %s", found[0].Text)
		return g, diag.List{one.WithHint("leave --protocol out; --replay lists all, and shows them")}
	}
	if err != nil || !f.forPlan() {
		return g, err
	}
	_, warned, err := mscclc.PlanOfChannels(p,
		mscclc.PlanOptions{Check: check, Options: lower.Options{Nodes: nodes}, Unproven: true})
	d.warned = append(d.warned, warned...)
	return g, err
}

// proveChannels judges a program of channels.
func (d *verdict) proveChannels(p *ir.ChannelProgram, check verify.Options) (*either.Program, error) {
	g, report, found := channels.Check(p, check)
	d.judged = report
	d.warned = append(d.warned, report.Warnings...)
	if channels.Turns(p, 1<<62) > 1 {
		d.notes("pipelines are proven for any number of loop iterations")
	}
	return either.OfOneSided(g), found.Err()
}
