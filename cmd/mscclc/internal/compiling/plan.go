package compiling

import (
	"fmt"

	"mscclc"
	"mscclc/cmd/mscclc/internal/cli"
	"mscclc/cmd/mscclc/internal/sizing"
	"mscclc/codegen/mscclpp"
	"mscclc/codegen/mscclpp/lower"
	"mscclc/ir"
	"mscclc/ir/diag"
)

// ExecutionPlan makes the plan of MSCCL++ of p, which c compiled, and proves it. Unit is how many bytes a loop
// iteration of its pipelines moves, 0 for none.
func (c *Flags) ExecutionPlan(p *ir.Program, unit int64) (*mscclpp.Plan, diag.List, error) {
	opt := mscclc.PlanOptions{Check: c.Limits.Check, Params: c.Settings(),
		Options: lower.Options{Instances: c.instances, Pipeline: unit}}
	if c.Channels != nil {
		return mscclc.PlanOfChannels(c.Channels, opt)
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
		diag.Counted(ops, "operation"), sizing.Text(plan.Sizes()))
}
