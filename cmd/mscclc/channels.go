package main

import (
	"fmt"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/codegen"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/executor"
	"mscclc/ir"
	"mscclc/ir/diag"
	"mscclc/ir/verify"
	"mscclc/passes/channels"
)

// judgeChannels proves a plan of MSCCL++, and notes what its executor would do wrong with it.
func (d *verdict) judgeChannels(s *cli.Source, read codegen.ReadOptions, check verify.Options) (*ir.Program, error) {
	_, p, err := mscclpp.Read(s.Name, s, read)
	if err != nil {
		return nil, err
	}
	d.warned = mscclpp.Faults(p)
	return d.proveChannels(p, check)
}

// judgeLevel judges an algorithm that says itself which thread block does what, for MSCCL++ if that is the target.
func (d *verdict) judgeLevel(p *ir.ChannelProgram, check verify.Options, f *verifyFlags) (*ir.Program, error) {
	g, err := d.proveChannels(p, check)
	if found, rejected := err.(diag.List); rejected && f.protocol != "" && !f.replay {
		one := diag.New(diag.Parameter, p.Place(-1),
			"the algorithm says itself what waits for what, and is not right with --protocol %s, in place of the file's own: %s",
			f.protocol, problemCount(found))
		one = one.WithNote(found[0].Span, "the first is: %s", found[0].Text)
		return g, diag.List{one.WithHint("leave --protocol out; --replay lists all, and shows them")}
	}
	if err != nil || !f.explicit || f.target != "mscclpp" {
		return g, err
	}
	_, d.warned, err = mscclc.PlanOfChannels(p, mscclc.PlanOptions{Check: check})
	return g, err
}

// proveChannels judges a program of channels.
func (d *verdict) proveChannels(p *ir.ChannelProgram, check verify.Options) (*ir.Program, error) {
	g, report, found := channels.Check(p, check)
	d.judged = report
	if channels.Turns(p, 1<<62) > 1 {
		d.note = "pipelines are proven for any number of loop iterations"
	}
	return g, found.Err()
}

// runChannels reads a plan of MSCCL++, and proves it as calls of so many bytes run it; 0 is any.
func runChannels(s *cli.Source, read codegen.ReadOptions, check verify.Options, f *runFlags) (*ir.Program, error) {
	_, p, err := mscclpp.Read(s.Name, s, read)
	if err != nil {
		return nil, err
	}
	f.turns.of(p, f.size)
	if f.unproven {
		return channels.Unroll(p, f.turns.did)
	}
	g, _, found := channels.CheckTurns(p, f.turns.did, check)
	return g, found.Err()
}

// tileFor is how long the tile of a program is to be whose launches have one pass, for calls of so many bytes; 0 is the
// usual.
func tileFor(p *ir.Program, bytes int64) int64 {
	if p.OneSided == nil || !p.OneSided.OnePass || bytes == 0 {
		return 0
	}
	return bytes/int64(max(p.Coll.Divisor(), 1))/executor.DefaultMaxColumns + 256
}

// A turned is how many turns loops do in a run, and how many they ask for.
type turned struct{ did, asked int }

func (t *turned) of(p *ir.ChannelProgram, bytes int64) { t.did, t.asked = mscclc.Turns(p, bytes) }

// Text says so for the line of a run, where there are loops.
func (t turned) Text() string {
	switch {
	case t.asked <= 1:
		return ""
	case t.did < t.asked:
		return fmt.Sprintf("   %d loop iterations, of %d", t.did, t.asked)
	}
	return fmt.Sprintf("   %d loop iterations", t.did)
}

// executionPlan makes the plan of MSCCL++ of p, which c compiled, and proves it. Unit is how many bytes a loop
// iteration of its pipelines moves, 0 for none.
func (c *compiling) executionPlan(p *ir.Program, unit int64) (*mscclpp.Plan, diag.List, error) {
	opt := mscclc.PlanOptions{Check: c.Limits.Check, Params: c.settings(),
		Options: lower.Options{Instances: c.instances, Pipeline: unit}}
	if c.channels != nil {
		return mscclc.PlanOfChannels(c.channels, opt)
	}
	return mscclc.PlanMSCCLPP(p, opt)
}

// planSummary is summary of the plan that p became, which has blocks and operations of its own.
func planSummary(p *ir.Program, plan *mscclpp.Plan) string {
	name, blocks, ops := cli.Title(p), 0, 0
	for r := range plan.GPUs {
		for _, b := range plan.GPUs[r].Blocks {
			blocks, ops = blocks+1, ops+len(b.Ops)
			for i := range b.Ops {
				if l := b.Ops[i].Loop; l != nil {
					ops += len(l.Ops)
				}
			}
		}
	}
	return fmt.Sprintf("%s, %s, %s, %s, %s", name, diag.Counted(p.Coll.Ranks, "rank"), diag.Counted(blocks, "block"),
		diag.Counted(ops, "operation"), sizesText(plan.Sizes()))
}
